import type { WireInput, WireResult } from "../../../contract/operations.ts";
import { canonicalJson, isSame, type Json } from "../../../domain/audit/audit-link.ts";
import { counted } from "../../../domain/text.ts";
import { useDesk } from "../../desk.ts";
import { useAnswer } from "../../live/use-answer.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { EntryLink } from "../../parts/links.tsx";
import { Table } from "../../parts/table.tsx";
import { Sentence, Time } from "../../parts/time.tsx";
import { Refused } from "../../refused.ts";
import type { Session } from "../../session.ts";
import { option, pmctl } from "../../terminal-line.ts";
import { loosenedIn, PlannedChanges } from "./planned.tsx";
import { Value } from "./value.tsx";

type Rollback = WireResult<"previewRollback">;
type Applied = WireResult<"listApplies">["items"][number];

/** Every apply with who, when, why and from which commit; what each one changed on request; and the way back to it. */
export function Applies({ of, isFrozen }: { of: readonly Applied[]; isFrozen: boolean }) {
  const { session } = useDesk();
  const unfit = isFrozen ? "The configuration is frozen: lift the freeze first." : undefined;
  return (
    <Table
      name="Applies"
      rows={of}
      id={({ seq }) => String(seq)}
      empty="Nothing was applied yet. Run pmctl apply in the directory of the tenant's files."
      columns={[
        { title: "Entry", cell: ({ seq }) => <EntryLink seq={seq} /> },
        { title: "When", cell: ({ ts }) => <Time at={ts} /> },
        { title: "Who", cell: ({ actor }) => <bdi>{actor}</bdi> },
        { title: "Reason", cell: ({ reason }) => <bdi dir="auto">{reason ?? "—"}</bdi> },
        { title: "Commit", cell: ({ gitCommit }) => <bdi>{gitCommit?.slice(0, 12) ?? "—"}</bdi> },
        { title: "Changes", cell: (apply) => <Changes of={apply} /> },
        { title: "Decide", cell: (apply) => <Action of={{ ...rollingBack(session, apply), unfit }} /> },
      ]}
    />
  );
}

function Changes({ of: { seq, changes } }: { of: Applied }) {
  const { found, isAsking, problem, ask } = useAnswer((api) => api.getApply({ seq }));
  const { policy, markets, keys, settings } = changes;
  const words = [
    policy > 0 && counted(policy, "limit"),
    markets > 0 && counted(markets, "market"),
    keys > 0 && counted(keys, "key"),
    settings > 0 && counted(settings, "setting"),
  ].filter(Boolean);
  if (words.length === 0) return <>none</>;
  if (!found)
    return (
      <>
        {words.join(", ")}{" "}
        <button type="button" disabled={isAsking} onClick={ask}>
          Show
        </button>
        {problem && <span role="alert">{problem}</span>}
      </>
    );
  return (
    <ul>
      {found.changes.map(({ field, before, after }) => (
        <li key={field}>
          <bdi>{field}</bdi>: <Value of={before} /> → <Value of={after} />
        </li>
      ))}
    </ul>
  );
}

/** Whether a rollback needs no other actor than this one any more. */
const isAgreed = ({ agreed, actorsNeeded }: Rollback, actor: string): boolean =>
  new Set([...agreed, actor]).size >= actorsNeeded;

const inputOf = ({ input }: Rollback) => input as WireInput<"applyConfig">;

const rollingBack = ({ tenant, actor }: Session, { seq, ts }: Applied): ActionOf<Rollback> => ({
  label: "Roll back",
  thing: `to the apply of ${ts.slice(0, 16).replace("T", " ")}Z`,
  scope: "config",
  preview: async (api) => {
    const [plan, { document }] = await Promise.all([api.previewRollback({ seq }), api.getConfig({})]);
    if (plan.items.length === 0 && isSame(inputOf(plan).document as Json, document as Json))
      throw new Refused("REFUSED", "Nothing would change: everything is as that apply stated it.");
    return plan;
  },
  explain: (shown) => (shown ? <Plan of={shown} /> : <p>Reading what would change …</p>),
  run: (api, shown) => {
    if (!shown) throw new Error("The changes are not read yet");
    const input = inputOf(shown);
    return isAgreed(shown, actor) ? api.applyConfig(input) : api.approvePlan(input);
  },
  line: (_values, reason, shown) =>
    pmctl(
      tenant,
      "rollback",
      "--to",
      seq,
      ...(shown && !isAgreed(shown, actor) ? ["--approve"] : []),
      ...["--on-drift", "overwrite"],
      ...(loosenedIn(shown?.items ?? []).length > 0 ? ["--accept-loosening"] : []),
      ...option("expect-version", shown && inputOf(shown).ifVersion),
      ...option("reason", reason),
    ),
  done: (result) => {
    const { changed, approvals } = result as WireResult<"applyConfig"> & Partial<WireResult<"approvePlan">>;
    if (approvals) return `You agree to go back to the apply ${seq}. Another actor must, too.`;
    return changed ? `Went back to the apply ${seq}.` : "Nothing differed from that apply.";
  },
});

/** What the terminal shows of the plan, except for the rules of the tenant file. */
function Plan({ of: plan }: { of: Rollback }) {
  const { items, settings, kept, overrides, warnings, actorsNeeded, agreed } = plan;
  const lines = [
    ...items.flatMap(({ field, by }) =>
      by ? [`${field} was changed live by ${by.actor}, entry ${by.seq}${by.reason ? `: ${by.reason}` : ""}`] : [],
    ),
    ...(actorsNeeded > 1
      ? [`${counted(actorsNeeded, "actor")} must agree. So far: ${agreed.join(", ") || "none"}.`]
      : []),
    ...(settings.length > 0 ? [`Servers take from the files when they start: ${settings.join(", ")}.`] : []),
    ...(kept.length > 0 ? [`Not brought back: ${kept.join(", ")}.`] : []),
    ...overrides.map(
      ({ field, value, until }) => `${field} is ${canonicalJson(value)} until ${until}, by an override.`,
    ),
    ...warnings.map((warning) => `Warning: ${warning}`),
  ];
  return (
    <>
      <PlannedChanges of={plan} empty="No live value differs from that apply." />
      {lines.map((line) => (
        <p key={line} dir="auto">
          <Sentence of={line} />
        </p>
      ))}
      <p class="soft">Keys, capital and the terms of markets stay. Only pmctl checks the rules of the tenant file.</p>
    </>
  );
}
