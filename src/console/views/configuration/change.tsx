import type { WireInput, WireResult } from "../../../contract/operations.ts";
import type { Json } from "../../../domain/audit/audit-link.ts";
import { rulesIn } from "../../../domain/policy/approvals.ts";
import { isSimple, rowOf } from "../../../domain/policy/fields.ts";
import { isProposal } from "../../../domain/policy/proposal.ts";
import { isPolicyField, loosensPolicy } from "../../../domain/policy/values.ts";
import { parseDuration } from "../../../domain/time/time-grammar.ts";
import { DAY_MS, SECOND_MS } from "../../../domain/time/units.ts";
import { useDesk } from "../../desk.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import type { Field, Values } from "../../parts/fields.tsx";
import { Refused } from "../../refused.ts";
import { option, pmctl } from "../../terminal-line.ts";
import type { ComparedField } from "./compared.ts";
import { loosenedIn, type Planned, PlannedChanges, readPlanned } from "./planned.tsx";
import { Value } from "./value.tsx";

type Patch = WireInput<"updatePolicy">;

interface Shown extends Planned {
  /** How many actors must agree before it holds. */
  actorsNeeded: number;
}

/** Changes a limit of the policy that is one number or one choice; nothing for other fields. */
export function ChangeAction({ of: { field, live, until } }: { of: ComparedField }) {
  const { tenant } = useDesk().session;
  const name = field.startsWith("policy.") ? field.slice("policy.".length) : "";
  if (!isPolicyField(name)) return null;
  const row = rowOf(name);
  if (!isSimple(row) || row.kind === "address") return null;
  const isFlag = row.kind === "flag";
  const value = ({ value: text = "" }: Values): Json => (isFlag ? text === "true" : Number(text));
  const patchOf = (values: Values) => ({ [name]: value(values) }) as Patch;
  const change: ActionOf<Shown> = {
    label: "Change",
    thing: field,
    scope: "config",
    fields: [isFlag ? CHOICE : { ...NUMBER, hint: row.help }, END],
    isTagged: true,
    endsAfterSec,
    preview: async (api, values) => {
      endsAfterSec(values);
      const policy = await api.getPolicy({});
      const config = await api.getConfig({});
      const patch = patchOf(values);
      const { loosen } = rulesIn(config.document).approvals;
      const waits = loosen && [policy, config.policy].some((each) => loosensPolicy(each, patch));
      return {
        ...(await readPlanned(api, patch, { ...config, policy })),
        actorsNeeded: waits ? loosen.approvals : 1,
      };
    },
    explain: (shown, { end }) => (
      <>
        {isFlag && <p>{row.help}</p>}
        {shown ? (
          <PlannedChanges of={shown} empty="That is the live value." />
        ) : (
          <p>
            It is <Value of={live} />. State the new value: its effect is shown here.
          </p>
        )}
        {until && <p>The temporary value ends with the change.</p>}
        {shown && end?.trim() && <p>It ends by itself after {end.trim()}. Then the lasting value holds again.</p>}
        {shown && shown.actorsNeeded > 1 && (
          <p>Becomes a proposal: {shown.actorsNeeded} actors must agree before it holds.</p>
        )}
      </>
    ),
    run: (api, _shown, values) => api.updatePolicy(patchOf(values)),
    line: (values, reason, shown, tag) =>
      pmctl(
        ...[tenant, "policy", "set", `${name}=${values.value ? value(values) : ""}`],
        ...option("ttl", values.end?.trim()),
        ...(loosenedIn(shown?.items ?? []).length > 0 ? ["--accept-loosening"] : []),
        ...option("expect-version", tag?.replaceAll('"', "")),
        ...option("reason", reason),
      ),
    done: (result) =>
      isProposal(result as object)
        ? `Proposed as ${(result as { proposalId: string }).proposalId}: another person must approve the change of ${field}.`
        : `${field} is ${(result as WireResult<"updatePolicy">)[name as keyof Patch]}.`,
  };
  return <Action of={change} />;
}

const NUMBER: Field = { name: "value", label: "New value", kind: "number" };
const END: Field = {
  ...{ name: "end", label: "Ends after", kind: "text", isOptional: true },
  hint: "A time such as 90s, 2h or 7d, at most 30d. Empty: it stays",
};

/** @throws Refused for what is no time, or a longer one than the server takes */
function endsAfterSec({ end = "" }: Values): number | undefined {
  if (end.trim() === "") return undefined;
  const spanMs = parseDuration(end.trim());
  if (spanMs !== undefined && spanMs <= 30 * DAY_MS) return spanMs / SECOND_MS;
  throw new Refused("BAD_REQUEST", "Ends after is a time such as 90s, 2h or 7d: at most 30d.");
}

const CHOICE: Field = {
  ...NUMBER,
  kind: "choice",
  options: [
    ["true", "Yes"],
    ["false", "No"],
  ],
};
