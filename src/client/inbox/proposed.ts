import type { Api, WireResult } from "../../contract/operations.ts";
import { outcomeFlag } from "../../domain/market/outcome.ts";
import { isolated } from "../../domain/text.ts";
import { everyPage, PAGE } from "../pages.ts";

type Proposal = WireResult<"getProposal">;
type Withdrawal = Pick<WireResult<"approveWithdrawal">, "userId" | "amount">;

/** What proposals are about, by the ids that they name. */
export interface Subjects {
  /** The questions of markets. */
  questions: ReadonlyMap<string, string>;
  withdrawals: ReadonlyMap<string, Withdrawal>;
  /** What proposed ends of markets would pay in all, in dollars, by proposal. */
  totals?: ReadonlyMap<string, number>;
}

export const NONE: Subjects = { questions: new Map(), withdrawals: new Map() };

/** Reads what proposals are about: a person who decides knows a question, a user and an amount, and no id. */
export async function subjectsOf(proposals: readonly Proposal[], api: Api): Promise<Subjects> {
  const markets = [...new Set(proposals.flatMap(({ marketId }) => marketId ?? []))];
  const questions = new Map<string, string>();
  for (let start = 0; start < markets.length; start += PAGE) {
    const refs = markets.slice(start, start + PAGE).join(",");
    for (const { ref, matches } of await api.findIds({ kind: "market", refs })) {
      const question = matches.find(({ id }) => id === ref)?.label;
      if (question !== undefined) questions.set(ref, question);
    }
  }
  return { questions, withdrawals: await withdrawalsOf(proposals, api) };
}

/** The withdrawals that proposals would pay out, or have paid out. */
async function withdrawalsOf(proposals: readonly Proposal[], api: Api): Promise<Map<string, Withdrawal>> {
  const found = new Map<string, Withdrawal>();
  const some = proposals.filter(({ kind }) => kind === "withdraw");
  if (some.some(({ status }) => status !== "executed")) {
    const pending = await everyPage((page) => api.listWithdrawals({ status: "pending", ...page }));
    for (const each of pending) found.set(each.withdrawalId, each);
  }
  for (const { request, result } of some)
    if (result !== null) found.set(String(request.id), result as unknown as Withdrawal);
  return found;
}

/** Such as `settle "Will it rain?" as yes` or `withdraw $950 of ann`; an id where what it names is not known. */
export function proposedWork(
  { kind, marketId, outcome, request }: Proposal,
  { questions, withdrawals }: Subjects = NONE,
): string {
  const { id, name, amount, operation } = request;
  if (kind === "loosen") return "loosen the policy";
  if (kind === "key") return operation === "rotateKey" ? `give the key ${name} a new value` : `issue the key ${name}`;
  if (kind === "credit") return `credit $${amount} to ${isolated(String(id))}`;
  if (kind === "withdraw") {
    const withdrawal = withdrawals.get(String(id));
    return withdrawal ? `withdraw $${withdrawal.amount} of ${isolated(withdrawal.userId)}` : `withdraw ${id}`;
  }
  const question = questions.get(marketId ?? "");
  const which = question === undefined ? marketId : `"${isolated(question)}"`;
  const end = outcome === null || kind === "void" ? "" : ` ${kind === "correct" ? "to" : "as"} ${outcomeFlag(outcome)}`;
  return `${kind} ${which}${end}`;
}

/** Reads what proposed ends of markets would pay in all. */
export async function totalsOf(proposals: readonly Proposal[], api: Api): Promise<Map<string, number>> {
  const totals = new Map<string, number>();
  for (const { proposalId, kind, marketId: id, outcome } of proposals) {
    if (id === null || outcome === null || kind === "correct") continue;
    const isVoid = outcome === "void";
    // The preview of a void reads every trade of the holders, and its total is in the others.
    const end = await api
      .previewSettlement({ id, outcome: isVoid ? "yes" : outcomeFlag(outcome) })
      .catch(unlessSettled);
    if (end) totals.set(proposalId, isVoid ? end.costUsd : end.totalUsd);
  }
  return totals;
}

/** A proposal may be decided while it is read. */
function unlessSettled(error: unknown): undefined {
  if (Object(error).code !== "MARKET_SETTLED") throw error;
}

/** The money that a proposal would move, as far as it is known. */
export function proposedUsd(
  { proposalId, request }: Proposal,
  { withdrawals, totals }: Subjects = NONE,
): number | null {
  const amount = request.amount ?? withdrawals.get(String(request.id))?.amount ?? totals?.get(proposalId);
  return typeof amount === "number" ? amount : null;
}
