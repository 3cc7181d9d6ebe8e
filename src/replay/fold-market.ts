import { escrowOf, TREASURY } from "../domain/accounts.ts";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { openPool } from "../domain/market/market.ts";
import { NO_HOUR } from "../domain/market/running-sums.ts";
import { decodeTerms } from "../domain/market/terms.ts";
import { microFromDecimal } from "../domain/money.ts";
import { newWatch } from "../engine/oracle.ts";
import type { Market } from "../engine/rows.ts";
import type { LoggedRows } from "./logged-rows.ts";

/** A new market. Its fund moves from the treasury into its escrow. */
export function applyMarket(rows: LoggedRows, payload: AuditPayloads["market.created"], at: number): void {
  const { marketId: id, question, category, kind, closeAt, resolutionRef, key = null, terms } = payload;
  const [fundMicro, p0Ppm] = [microFromDecimal(payload.liquidity), Math.round(Number(payload.p0) * 1e6)];
  const pool = openPool({ kind, fundMicro, p0Ppm });
  const market: Market = {
    ...{ id, question, category, kind, p0Ppm, fundMicro, closeAt: Date.parse(closeAt), resolutionRef },
    ...{ meta: canonicalJson(payload.meta), createdAt: at, fileKey: key },
    terms: terms === undefined ? null : canonicalJson(terms),
    resolution: (payload.resolution as Market["resolution"] | undefined) ?? null,
    ...{ houseYesMicro: fundMicro - pool.yesMicro, houseNoMicro: fundMicro - pool.noMicro },
  };
  rows.put("market", id, market);
  if (key !== null) rows.put("marketKey", key, market);
  rows.put("marketState", id, {
    ...{ marketId: id, ...pool, status: "open", volumeMicro: 0n, outcome: null, settledAt: null },
    ...{ closingRecorded: false, ...NO_HOUR, version: 0 },
  });
  if (market.terms !== null) rows.put("watch", id, newWatch(id, decodeTerms(market.terms).instant, true));
  rows.move(TREASURY, escrowOf(id), fundMicro);
}

/** A text after the market's earlier ones. */
export function applyClarification(rows: LoggedRows, payload: AuditPayloads["market.clarified"], at: number): void {
  const { marketId, id, text } = payload;
  const earlier = rows.get("clarifications", marketId) ?? [];
  const row = { marketId, position: earlier.length + 1, id, text, at };
  rows.put("clarification", id, row);
  rows.put("clarifications", marketId, [...earlier, row]);
}
