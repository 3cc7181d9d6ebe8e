import type { ComponentChildren } from "preact";
import { useContext, useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Api } from "../../contract/operations.ts";
import type { OperationScope } from "../../domain/access/scopes.ts";
import { isProposal } from "../../domain/policy/proposal.ts";
import { type Desk, useDesk } from "../desk.ts";
import { Refused } from "../refused.ts";
import { mayUse } from "../session.ts";
import { Dialog } from "./dialog.tsx";
import { type Field, Fields, isComplete, type Values } from "./fields.tsx";
import { RowContext } from "./row.ts";
import { Terminal } from "./terminal.tsx";

/** A change that a person confirms after seeing what it would do. */
export interface ActionOf<Shown> {
  /** The button's text, and the first word of the dialog's name. */
  label: string;
  /** What it is about, such as the market's question. */
  thing: string;
  scope: OperationScope;
  /** What the person chooses beside the reason. */
  fields?: readonly Field[];
  /** Reads what would happen, once every field is given. */
  preview?(api: Api, values: Values): Promise<Shown>;
  /** Says what happens. @param shown undefined until the preview is read */
  explain(shown: Shown | undefined, values: Values): ComponentChildren;
  /**
   * Makes the change, bound to what was shown.
   * @param reason also travels as `Audit-Reason`
   */
  run(api: Api, shown: Shown | undefined, values: Values, reason: string): Promise<unknown>;
  line(values: Values, reason: string, shown: Shown | undefined): string;
  /** The notice afterwards. */
  done(result: unknown): string;
  /** Why it is not possible now, such as "The market is settled". */
  unfit?: string | undefined;
}

/** The button of an action, disabled with the reason where it is not allowed, and its dialog. */
export function Action<Shown>({ of }: { of: ActionOf<Shown> }) {
  const { session } = useDesk();
  const [isOpen, setOpen] = useState(false);
  const why = useId();
  const button = useRef<HTMLButtonElement>(null);
  const unfit = useContext(RowContext).isGone ? "It no longer waits here: leave the rows to see what does." : of.unfit;
  const reason = mayUse(session, of.scope) ? unfit : `Your key lacks the scope ${of.scope}.`;
  return (
    <>
      <button
        ref={button}
        type="button"
        // A browser takes the focus from what becomes disabled. While a person is on the button, it only says so.
        disabled={reason !== undefined && document.activeElement !== button.current}
        aria-disabled={reason !== undefined ? true : undefined}
        aria-describedby={reason && why}
        title={reason}
        onClick={() => reason === undefined && setOpen(true)}
      >
        {of.label}
      </button>
      {reason && (
        <span id={why} class="hidden">
          {reason}
        </span>
      )}
      {isOpen && <ActionDialog of={of} onClose={() => setOpen(false)} />}
    </>
  );
}

/** After these, what was shown no longer holds: it is read again, and the person is asked again. */
const OUTDATED: readonly string[] = ["EXPECTATION_NOT_MET", "PRECONDITION_FAILED", "REFUSED"];

function nextStep(code: string): string | undefined {
  if (OUTDATED.includes(code)) return "The figures are read again: check them and confirm again.";
  // In another dialog the same change would be another one.
  return code === "UNREACHABLE" ? "The change may have been made. Confirm again here: it is made once." : undefined;
}

function ActionDialog<Shown>({ of, onClose }: { of: ActionOf<Shown>; onClose(): void }) {
  const desk = useDesk();
  const { session, tell } = desk;
  const { letGo } = useContext(RowContext);
  const [values, setValues] = useState<Values>({});
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const isGone = useRef(false);
  useEffect(() => {
    return () => {
      isGone.current = true;
    };
  }, []);
  const fields = of.fields ?? [];
  const isGiven = isComplete(fields, values);
  const { shown, tag, isReading, failure, renew } = usePreview(desk, of, values, isGiven);
  // One key for one change: another attempt at the same change gets the first one's answer.
  const idempotencyKey = useMemo(() => crypto.randomUUID(), [JSON.stringify(values), reason, shown]);
  const isReady = isGiven && reason.trim() !== "" && !isSending && !isReading && failure === undefined;

  const confirm = async (): Promise<void> => {
    setSending(true);
    setProblem(undefined);
    let seq: string | null = null;
    const onHeaders = (headers: Headers): void => {
      seq = headers.get("audit-seq");
    };
    const given = reason.trim();
    try {
      const api = desk.apiFor({ reason: given, idempotencyKey, onHeaders, ...(tag && { ifMatch: tag }) });
      const result = await of.run(api, shown, values, given);
      const { status } = Object(result) as { status?: string };
      tell({ text: of.done(result), seq, isProposed: isProposal(Object(result)) && status === "pending" });
      desk.changes.tell();
      onClose();
      // Once the button has the focus back.
      setTimeout(letGo);
    } catch (error) {
      const code = error instanceof Refused ? error.code : "";
      if (OUTDATED.includes(code)) renew();
      const text = error instanceof Error ? error.message : "Unexpected failure";
      // A row that another person's change took away has taken its dialog along.
      if (isGone.current) tell({ text: `Not done: ${text}.` });
      setProblem([text, nextStep(code)].filter(Boolean).join(". "));
    } finally {
      setSending(false);
    }
  };

  return (
    <Dialog name={`${of.label}: ${of.thing}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void confirm();
        }}
      >
        <Fields of={fields} values={values} onChange={setValues} />
        <div class="explained" aria-live="polite" aria-busy={isReading}>
          {failure === undefined ? of.explain(shown, values) : <p class="problem">{failure}</p>}
        </div>
        <label class="field">
          Reason
          <input
            type="text"
            required
            maxLength={500}
            value={reason}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
        </label>
        <p class="soft">Signed in as {session.actor}</p>
        <Terminal line={of.line(values, reason.trim(), shown)} />
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <p class="ways">
          <button type="submit" class="main" disabled={!isReady}>
            Confirm
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}

interface Preview<Shown> {
  shown: Shown | undefined;
  /** The tag of what was read, which the change states as its condition. */
  tag: string | null | undefined;
  isReading: boolean;
  failure: string | undefined;
  renew(): void;
}

/** What the action would do with the given values. */
function usePreview<Shown>(desk: Desk, of: ActionOf<Shown>, values: Values, isGiven: boolean): Preview<Shown> {
  const [turn, setTurn] = useState(0);
  const [read, setRead] = useState<{ of: string; shown?: Shown; tag?: string | null; failure?: string }>({ of: "" });
  const latest = useRef(of);
  latest.current = of;
  const wanted = of.preview && isGiven ? `${turn} ${JSON.stringify(values)}` : "";
  useEffect(() => {
    if (wanted === "") return;
    let isOver = false;
    let tag: string | null = null;
    const onHeaders = (headers: Headers): void => {
      tag = headers.get("etag") ?? tag;
    };
    latest.current.preview?.(desk.apiFor({ onHeaders }), values).then(
      (shown) => !isOver && setRead({ of: wanted, shown, tag }),
      (error: unknown) =>
        !isOver && setRead({ of: wanted, failure: error instanceof Error ? error.message : "Unexpected failure" }),
    );
    return () => {
      isOver = true;
    };
  }, [wanted]);
  const isCurrent = wanted !== "" && read.of === wanted;
  return {
    shown: isCurrent ? read.shown : undefined,
    tag: isCurrent ? read.tag : undefined,
    isReading: wanted !== "" && !isCurrent,
    failure: isCurrent ? read.failure : undefined,
    renew: () => setTurn((before) => before + 1),
  };
}
