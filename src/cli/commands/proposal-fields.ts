import { approversOf } from "../../client/inbox/approvers.ts";
import { objectionsTo } from "../../client/inbox/objections.ts";
import { proposedWork, type Subjects, subjectsOf } from "../../client/inbox/proposed.ts";
import { payoutCautions } from "../../client/payout-cautions.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { MINUTE_MS } from "../../domain/time/units.ts";
import { describeChanges } from "../config/policy.ts";
import { readCorrection } from "../market/correction-preview.ts";
import { readPreview } from "../market/settlement-preview.ts";
import { plain, time, usd } from "../output/cells.ts";
import { proposalFields, type ToldProposal } from "../output/proposal-view.ts";
import type { Field } from "../output/table.ts";

type Proposal = WireResult<"getProposal">;

/** What a person must know who decides about a proposal, read when it is shown. */
export interface Told {
  /** What it would do, in words. */
  work: string;
  view: ToldProposal;
}

/**
 * Reads all that a proposal rests on: what it would move, who objects, and why it was rejected.
 * @param recorded whether the request and the result are shown as they are on record
 */
export async function tellProposal(proposal: Proposal, api: Api, { recorded }: { recorded: boolean }): Promise<Told> {
  const [subjects, approvers, objections, rejection] = await Promise.all([
    subjectsOf([proposal], api),
    approversOf(proposal.approvals, api),
    objectionsTo(proposal, api),
    rejectionOf(proposal, api),
  ]);
  const subject = [...subjectFields(proposal, subjects), ...(await movedBy(proposal, subjects, api))];
  const work = proposedWork(proposal, subjects);
  return {
    work,
    view: {
      kind: "record",
      told: true,
      fields: () =>
        proposalFields(proposal, {
          work,
          subject,
          approvers,
          said: [...objections.map((text): Field => ["objection", text]), ...rejection],
          recorded,
        }),
    },
  };
}

/** The user and the amount, or the key. A market's fields are those of its preview. */
function subjectFields({ kind, marketId, request }: Proposal, { questions, withdrawals }: Subjects): Field[] {
  const { id, amount, name, operation: _, ...rest } = request;
  switch (kind) {
    case "withdraw": {
      const withdrawal = withdrawals.get(String(id));
      if (!withdrawal) return [["withdrawal", String(id)]];
      return [
        ["withdrawal", String(id)],
        ["user", withdrawal.userId],
        ["amount", `${usd(withdrawal.amount)} USD`],
      ];
    }
    case "credit":
      return [
        ["user", String(id)],
        ["amount", `${usd(Number(amount))} USD`],
      ];
    case "key":
      return [["key", plain(name)], ...Object.entries(rest).map(([field, value]): Field => [field, plain(value)])];
    case "loosen":
      return [];
    default:
      return [
        ["market", marketId ?? undefined],
        ["question", questions.get(marketId ?? "")],
      ];
  }
}

/** What a waiting proposal would pay or change as things stand; an execution may be refused, which is told too. */
async function movedBy(proposal: Proposal, { withdrawals }: Subjects, api: Api): Promise<Field[]> {
  const { status, kind, marketId, outcome, request } = proposal;
  if (status !== "pending") return [];
  try {
    const withdrawal = withdrawals.get(String(request.id));
    if (kind === "withdraw" && withdrawal)
      return (await payoutCautions(await api.getUser({ id: withdrawal.userId }), api)).map((text) => ["caution", text]);
    if (kind === "loosen") {
      const { operation: _, policyTtlMs, ...patch } = request;
      const changes = describeChanges(await api.getPolicy({}), patch).map((line): Field => ["changes", line.trim()]);
      return typeof policyTtlMs === "number" ? [...changes, ["for", `${policyTtlMs / MINUTE_MS} min`]] : changes;
    }
    if (marketId === null || outcome === null) return [];
    const ref = { id: marketId, outcome };
    const fields =
      kind === "correct" ? fieldsOf(await readCorrection(ref, api)) : fieldsOf(await readPreview(ref, api));
    const { maxTreasuryUsd: limit } = request;
    return [
      ...fields.filter(([name]) => name !== "market" && name !== "question" && name !== "status"),
      ...(typeof limit === "number" ? [["treasury may add", `at most ${usd(limit)} USD`] as const] : []),
    ];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [["as things stand", `it would be refused: ${error.message}`]];
  }
}

const fieldsOf = <Preview>({
  preview,
  view,
}: {
  preview: Preview;
  view: { kind: string; fields?: (preview: Preview) => readonly Field[] };
}): readonly Field[] => view.fields?.(preview) ?? [];

/** Who rejected it, and why: the proposal itself has the proposer's reason. */
async function rejectionOf({ proposalId, status, decidedBy, decidedAt }: Proposal, api: Api): Promise<Field[]> {
  if (status !== "rejected" || decidedAt === null) return [];
  const near = (distanceMs: number) => new Date(Date.parse(decidedAt) + distanceMs).toISOString();
  const times = { since: near(-MINUTE_MS), until: near(MINUTE_MS) };
  const { entries } = await api.listAudit({ type: "proposal.rejected", ...times, limit: 200 });
  const reason = entries.find(({ payload }) => payload.proposalId === proposalId)?.payload.reason;
  const why = typeof reason === "string" ? `: ${reason}` : "";
  return [["rejected", `by ${decidedBy} at ${time(decidedAt, { seconds: true })}${why}`]];
}
