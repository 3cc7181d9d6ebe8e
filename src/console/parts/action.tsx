import type { ComponentChildren } from "preact";
import { useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Api } from "../../contract/operations.ts";
import type { OperationScope } from "../../domain/access/scopes.ts";
import { isPassing } from "../api.ts";
import { type Desk, useDesk } from "../desk.ts";
import { useLive } from "../live/use-live.ts";
import { nextStep, OUTDATED, Refused } from "../refused.ts";
import { mayUse } from "../session.ts";
import { Dialog } from "./dialog.tsx";
import { type About, entryAbout, Newest } from "./entries.tsx";
import { type Field, Fields, isComplete, type Values } from "./fields.tsx";
import { RowContext } from "./row.ts";
import { Terminal } from "./terminal.tsx";
import { Sentence } from "./time.tsx";
import { useChanged } from "./use-changed.ts";
import { usePaused } from "./use-paused.ts";

/** A change that a person confirms after seeing what it would do. */
export interface ActionOf<Shown> {
  /** The button's text, and the first word of the dialog's name. */
  label: string;
  /** What it is about, such as the market's question. */
  thing: string;
  scope: OperationScope;
  /** What the person chooses beside the reason. */
  fields?: readonly Field[];
  /** What a person must know before filling in anything. */
  before?: ComponentChildren;
  /** Reads what would happen, once every field is given. */
  preview?(api: Api, values: Values): Promise<Shown>;
  /** Whether the tag of what the preview read is the condition of the change, as of the policy's. */
  isTagged?: true;
  /** After how many seconds it ends by itself; undefined for a lasting one. */
  endsAfterSec?(values: Values): number | undefined;
  /** Says what happens. @param shown undefined until the preview is read */
  explain(shown: Shown | undefined, values: Values): ComponentChildren;
  /**
   * Makes the change, bound to what was shown.
   * @param reason also travels as `Audit-Reason`
   */
  run(api: Api, shown: Shown | undefined, values: Values, reason: string): Promise<unknown>;
  /** @param tag names the version that was shown, as the change states it */
  line(values: Values, reason: string, shown: Shown | undefined, tag?: string | null): string;
  /** The notice afterwards. */
  done(result: unknown): string;
  /** Leads to what was made. */
  link?(result: unknown): ComponentChildren;
  /** Why it is not possible now, such as "The market is settled". */
  unfit?: string | undefined;
  /** Finds the entries about the thing, so that an open dialog can say who changed it. */
  about?: About;
}

/** The button of an action, disabled with the reason where it is not allowed, and its dialog. */
export function Action<Shown>({ of }: { of: ActionOf<Shown> }) {
  const { session, ask } = useDesk();
  const [isOpen, setOpen] = useState(false);
  const { isGone, letGo } = useContext(RowContext);
  const latest = useRef({ of, path: "" });
  latest.current.of = of;
  const close = (): void => {
    latest.current.path = "";
    setOpen(false);
    ask(undefined);
  };
  useLayoutEffect(() => {
    if (isOpen) ask(<ActionDialog of={of} isGone={isGone} letGo={letGo} onClose={close} />);
  });
  useLayoutEffect(() => {
    return () => {
      const { of: last, path } = latest.current;
      // The dialog outlives its row: what was typed stays, and it says what happened. Only another page closes it.
      if (path !== "")
        ask(path === location.pathname && <ActionDialog of={last} isGone letGo={letGo} onClose={close} />);
    };
  }, []);
  const why = useId();
  const button = useRef<HTMLButtonElement>(null);
  const unfit = isGone ? "It no longer waits here: leave the rows to see what does." : of.unfit;
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
        onClick={() => {
          if (reason !== undefined) return;
          latest.current.path = location.pathname;
          setOpen(true);
        }}
      >
        {of.label}
      </button>
      {reason && (
        <span id={why} class="hidden">
          {reason}
        </span>
      )}
    </>
  );
}

interface DialogProps<Shown> {
  of: ActionOf<Shown>;
  /** Whether what it was opened from is no longer listed. */
  isGone: boolean;
  letGo(): void;
  onClose(): void;
}

function ActionDialog<Shown>({ of, isGone, letGo, onClose }: DialogProps<Shown>) {
  const desk = useDesk();
  const { session, tell } = desk;
  const [values, setValues] = useState<Values>({});
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  /** After a lost answer everything stays as it was sent, so that another attempt is the same change. */
  const [mayBeMade, setMayBeMade] = useState(false);
  const isClosed = useRef(false);
  useEffect(() => {
    return () => {
      isClosed.current = true;
    };
  }, []);
  const [isLost, setLost] = useState(desk.changes.isLost);
  useEffect(() => desk.changes.listen(() => setLost(desk.changes.isLost)), [desk]);
  const alert = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => alert.current?.focus(), [problem]);
  const fields = of.fields ?? [];
  const isGiven = isComplete(fields, values);
  const preview = usePreview(desk, of, values, isGiven);
  const steady = useRef(preview);
  if (!isSending && !mayBeMade) steady.current = preview;
  const { key, shown, tag, isReading, isStale, failure } = steady.current;
  const explained = useRef<HTMLDivElement>(null);
  const changed = useChanged(explained, shown === undefined ? "" : key);
  const over = isSending ? undefined : (of.unfit ?? (isGone ? "It is no longer listed: it was decided." : undefined));
  // One key for one change: another attempt at the same change gets the first one's answer.
  const idempotencyKey = useMemo(() => crypto.randomUUID(), [JSON.stringify([values, shown]), reason]);
  const isKnown = isGiven && reason.trim() !== "" && !isReading && failure === undefined && (!over || mayBeMade);
  const isReady = isKnown && !isLost && !isSending;

  const confirm = async (): Promise<void> => {
    setSending(true);
    setProblem(undefined);
    let answered = new Headers();
    const onHeaders = (headers: Headers): void => {
      answered = headers;
    };
    const given = reason.trim();
    try {
      const policyTtlSec = of.endsAfterSec?.(values);
      const bound = { ...(tag && { ifMatch: tag }), policyTtlSec };
      const api = desk.apiFor({ reason: given, idempotencyKey, onHeaders, ...bound });
      const result = await of.run(api, shown, values, given);
      const isRecorded = answered.has("audit-seq") || answered.has("idempotent-replayed");
      const text = of.done(result) + (isRecorded ? "" : " It was so already: nothing was recorded.");
      const seq = await entryAbout(result, answered, [session.actor, given], api);
      tell({ text, link: of.link?.(result), seq, result });
      desk.changes.tell();
      onClose();
      // Once the button has the focus back.
      setTimeout(letGo);
    } catch (error) {
      const code = error instanceof Refused ? error.code : "";
      if (OUTDATED.includes(code)) preview.renew();
      const text = error instanceof Error ? error.message : "Unexpected failure";
      setMayBeMade(code === "UNREACHABLE");
      if (isClosed.current) tell({ text: `Not done: ${text}.` });
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
          if (isReady && changed !== "now") void confirm();
        }}
        onKeyDown={(event) => {
          // Only a person who means it confirms: Enter alone ends a field in many forms.
          if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
          event.preventDefault();
          if (event.ctrlKey || event.metaKey) event.currentTarget.requestSubmit();
        }}
      >
        {of.before}
        <Fields
          of={fields}
          values={values}
          onChange={(next) => {
            setMayBeMade(false);
            setValues(next);
          }}
        />
        <div
          ref={explained}
          class="explained"
          aria-live="polite"
          aria-busy={isReading}
          data-stale={isStale ? "true" : undefined}
        >
          {failure !== undefined && <p class="problem">{failure}</p>}
          {failure === undefined && (!over || mayBeMade) && of.explain(shown, values)}
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
        <Terminal line={of.line(values, reason.trim(), shown, tag)} />
        {problem && (
          <p ref={alert} class="problem" role="alert" tabIndex={-1}>
            <Sentence of={problem} />
          </p>
        )}
        {isLost && <p class="soft">Connection lost. Confirm once it is back.</p>}
        <p class="ways">
          {/* While it sends, it keeps the focus, which a disabled button loses. */}
          <button
            type="submit"
            class="main"
            disabled={!isReady && !isSending}
            aria-disabled={isSending || changed === "now" ? true : undefined}
          >
            Confirm
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
        <p role="status" class="soft told">
          {over ?? (changed && "The figures changed: check them before you confirm.")}
          {(over || failure) && of.about && <Newest about={of.about} />}
        </p>
      </form>
    </Dialog>
  );
}

interface Preview<Shown> {
  /** Differs for other values, and each time it is renewed. */
  key: string;
  shown: Shown | undefined;
  /** The tag of what was read, which the change states as its condition. */
  tag: string | null | undefined;
  isReading: boolean;
  isStale: boolean;
  failure: ComponentChildren;
  renew(): void;
}

/**
 * What the action would do with the given values, read once they stay, and again after each change of the tenant. What
 * was read for other values counts for nothing.
 */
function usePreview<Shown>(desk: Desk, of: ActionOf<Shown>, values: Values, isGiven: boolean): Preview<Shown> {
  const [turn, setTurn] = useState(0);
  const { preview, fields = [], isTagged } = of;
  const asked = fields.filter(({ isWords }) => !isWords).map(({ name }) => [name, values[name]] as const);
  const given = preview && isGiven ? JSON.stringify(Object.fromEntries(asked)) : "";
  const paused = usePaused(given);
  const key = paused && `${turn} ${paused}`;
  const { value, refused, isStale } = useLive(async (_, options) => {
    let tag: string | null = null;
    const onHeaders = (headers: Headers): void => {
      if (isTagged) tag = headers.get("etag") ?? tag;
    };
    const api = desk.apiFor({ ...options, onHeaders });
    return { shown: key === "" ? undefined : await preview?.(api, JSON.parse(paused)), tag };
  }, key);
  const isOther = given !== paused;
  const failure = isOther || (value && isPassing(refused)) ? undefined : refused?.message;
  return {
    key,
    shown: isOther || failure !== undefined ? undefined : value?.shown,
    tag: value?.tag,
    isReading: isOther || (key !== "" && value === undefined && refused === undefined),
    isStale,
    failure: failure && <Sentence of={failure} />,
    renew: () => setTurn((before) => before + 1),
  };
}
