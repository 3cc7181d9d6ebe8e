import type { WireResult } from "../../contract/operations.ts";
import { orDash, outcomeText, time, usd } from "../output/cells.ts";

type Settled = WireResult<"getPortfolio">["settlements"][number];

/** Such as `yes won, paid 12.00` or `void, paid back 20.00: It was never played`, with each later change of the outcome. */
export function settledWords({ outcome, payout, reason, corrections }: Settled): string {
  const end = `${outcomeText(outcome)}${outcome === "yes" || outcome === "no" ? " won" : ""}`;
  const paid = `paid ${outcome === "void" ? "back " : ""}${usd(payout)}`;
  const changes = corrections.map(({ from, to, at, reason: why }) => {
    const when = time(at, { seconds: true });
    return `; corrected from ${outcomeText(from)} to ${outcomeText(to)} at ${when}: ${why}`;
  });
  const why = reason === null || changes.length > 0 ? "" : `: ${reason}`;
  return `${end}, ${paid}${why}${changes.join("")}`;
}

/** What a line of the statement is about, such as a trade, or a market and how it ended. */
export function subjectOf(line: WireResult<"listStatement">["items"][number]): string {
  const { tradeId, withdrawalId, marketId, reference, from, outcome, reason, owed } = line;
  const id = orDash(tradeId ?? withdrawalId ?? marketId ?? reference);
  const change = from === undefined ? "" : `from ${outcomeText(from)} to `;
  const debt = owed === undefined ? "" : owed > 0 ? `, ${usd(owed)} owed more` : `, ${usd(-owed)} of the debt repaid`;
  const end = outcome === undefined ? "" : `, ${change}${outcomeText(outcome)}`;
  return `${id}${end}${debt}${reason === undefined ? "" : `: ${reason}`}`;
}
