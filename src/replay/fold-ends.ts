import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { afterTrade, NOTHING_HELD, type Traded } from "../domain/market/holding.ts";
import { outcomeOf } from "../domain/market/outcome.ts";
import { correctionOf, endingOf, endRow, movesOfEnd } from "../engine/ends/ending.ts";
import { portfolioAfter } from "../engine/fill.ts";
import { type Position, positionKey } from "../engine/rows.ts";
import type { LoggedRows } from "./logged-rows.ts";

/** Follows the fees within a position's cost. To be called before the position takes the trade. */
export function foldFee(
  rows: LoggedRows,
  { traderId, marketId, side, sharesMicro }: Pick<Position, "traderId" | "marketId" | "side" | "sharesMicro">,
  traded: Pick<Traded, "isSale" | "sharesMicro" | "feeMicro">,
): void {
  const key = positionKey(traderId, marketId, side);
  const { feeMicro } = rows.get("positionFee", key) ?? NOTHING_HELD;
  const after = afterTrade({ sharesMicro, costMicro: 0n, feeMicro }, { ...traded, amountMicro: 0n });
  rows.put("positionFee", key, { feeMicro: after.feeMicro });
}

/** Each position is paid what the outcome gives it, and the house takes the rest. */
export function applyEnd(
  rows: LoggedRows,
  { marketId, ...payload }: AuditPayloads["market.settled" | "market.voided"],
  at: number,
): void {
  const ending = endingOf(rows, marketId);
  if (!ending) return;
  const outcome = "outcome" in payload ? outcomeOf(payload.outcome) : "void";
  const reason = "outcome" in payload ? null : payload.reason;
  for (const { debit, credit, amountMicro } of movesOfEnd(ending, outcome)) rows.move(debit, credit, amountMicro);
  for (const { traderId, costMicro } of ending.holders)
    rows.put("portfolio", traderId, portfolioAfter(rows.get("portfolio", traderId), -costMicro));
  rows.put("marketState", marketId, { ...ending.marketState, status: "settled", outcome, settledAt: at });
  if (outcome !== "yes" && outcome !== "no")
    rows.put("marketEnd", marketId, { ...endRow(ending, outcome), reason, corrections: [], version: 0 });
  const watch = rows.get("watch", marketId);
  if (watch) rows.put("watch", marketId, { ...watch, settled: true });
}

/** Users give back or get the difference of both outcomes, as the house does. */
export function applyCorrection(rows: LoggedRows, payload: AuditPayloads["market.corrected"], at: number): void {
  const { marketId, reason } = payload;
  const ending = endingOf(rows, marketId);
  if (!ending) return;
  const end = rows.get("marketEnd", marketId) ?? { reason: null, corrections: [], version: 0 };
  const [from, to] = [outcomeOf(payload.from), outcomeOf(payload.outcome)];
  const { moves } = correctionOf(ending, { from, to }, (account) => rows.balance(account));
  for (const { debit, credit, amountMicro } of moves) rows.move(debit, credit, amountMicro);
  rows.put("marketState", marketId, { ...ending.marketState, outcome: to });
  const corrections = [...end.corrections, { from, to, at, reason }];
  rows.put("marketEnd", marketId, { ...end, ...endRow(ending, to), corrections });
}
