import { payloadOf } from "../../domain/audit/audit-link.ts";
import { usdFromMicro } from "../../domain/money.ts";
import { instantText } from "../../domain/time/timestamp.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { loggedEntry } from "../../replay/logged-rows.ts";
import { type Recomputation, TRADES_PER_DIGEST, tradeLine } from "../../replay/recomputation.ts";
import type { Comparison } from "./checks.ts";

/** The columns of a trade's line; the last four belong to its tag. */
const COLUMNS = [
  ...["entry", "id", "marketId", "userId", "side", "amountUsd", "feeUsd", "shares", "costUsd", "yesPrice", "ts"],
  ...["symbol", "direction", "notional", "externalRef", "taggedMarketId"],
];
const AMOUNTS = new Set(["amountUsd", "feeUsd", "shares", "costUsd"]);
const TRADE_COLUMNS = 11;

/** The most differing ranges that are compared row by row, to name the first places. */
const MOST_RANGES = 20;

/**
 * Compares the rows of trades and their tags with the entries, by a digest for each range. A range whose digest differs
 * is compared row by row.
 * @param to the last recomputed entry
 */
export async function compareTrades(
  sql: ReadSql,
  recomputation: Recomputation,
  { to, into }: { to: bigint; into: Comparison },
): Promise<void> {
  const stated = new Map(recomputation.tradeDigests());
  const rows = await sql<{ range: string; digest: string }[]>`
    select (seq / ${String(TRADES_PER_DIGEST)}::bigint)::text as range,
           encode(sha256(convert_to(string_agg(line, E'\\n' order by seq), 'UTF8')), 'hex') as digest
      from (${lines(sql, upTo(sql, to))}) each
     group by 1`;
  const differing: bigint[] = [];
  for (const { range, digest } of rows) {
    if (stated.get(BigInt(range)) !== digest) differing.push(BigInt(range));
    stated.delete(BigInt(range));
  }
  for (const range of [...differing, ...stated.keys()].slice(0, MOST_RANGES)) await compareRange(sql, range, to, into);
  const alone = await sql<{ seq: string }[]>`
    select seq::text from hedge h
     where seq <= ${String(to)}::bigint and not exists (select from trade where trade.seq = h.seq)
     limit ${MOST_RANGES}`;
  for (const { seq } of alone)
    into.differ({ check: "hedges", what: "hedge", id: `entry ${seq}`, field: "row", log: null, table: "a tag" });
}

const upTo = (sql: ReadSql, to: bigint) => sql`t.seq <= ${String(to)}::bigint`;

/** The rows in the form in which `tradeLine` writes their entries. */
function lines(sql: ReadSql, condition: ReturnType<typeof upTo>) {
  return sql`
    select t.seq,
           t.seq || E'\\t' || t.id || E'\\t' || t.market_id || E'\\t' || t.trader_id || E'\\t' || t.side || E'\\t' ||
             t.amount_micro || E'\\t' || t.fee_micro || E'\\t' || t.shares_micro || E'\\t' ||
             coalesce(t.released_micro::text, '') || E'\\t' || t.yes_price_ppm || E'\\t' || t.ts ||
             coalesce(E'\\t' || h.symbol || E'\\t' || h.direction || E'\\t' || h.notional_minor || E'\\t' || h.external_ref
               || case when h.market_id = t.market_id then '' else E'\\t' || h.market_id end, '') as line
      from trade t
      left join hedge h on h.seq = t.seq
     where ${condition}`;
}

async function compareRange(sql: ReadSql, range: bigint, to: bigint, into: Comparison): Promise<void> {
  const [from, end] = [range * TRADES_PER_DIGEST, (range + 1n) * TRADES_PER_DIGEST - 1n];
  const last = end < to ? end : to;
  const between = (column: string) =>
    sql`${sql.unsafe(column)} between ${String(from)}::bigint and ${String(last)}::bigint`;
  const held = await sql<{ seq: string; line: string }[]>`${lines(sql, between("t.seq"))}`;
  const entries = await sql<{ seq: string; type: string; ts: string; actor: string; payload: string }[]>`
    select seq::text, type, ts, actor, payload from audit where ${between("seq")} and type = 'trade.executed'`;
  const stated = new Map<string, string>();
  for (const { seq, type, ts, actor, payload } of entries) {
    const entry = loggedEntry({ type, ts, actor, payload: payloadOf({ payloadText: payload }) });
    if (entry?.type === "trade.executed") stated.set(seq, tradeLine(BigInt(seq), entry));
  }
  for (const { seq, line } of held) {
    differ(stated.get(String(seq)), line, into);
    stated.delete(String(seq));
  }
  for (const line of stated.values()) differ(line, undefined, into);
}

function differ(log: string | undefined, table: string | undefined, into: Comparison): void {
  if (log === table) return;
  const [stated, held] = [log?.split("\t"), table?.split("\t")];
  const id = (stated ?? held)?.[1] ?? "";
  if (!stated || !held) {
    const [inLog, inTable] = [stated ? "a row" : null, held ? "a row" : null];
    into.differ({ check: "trades", what: "trade", id, field: "row", log: inLog, table: inTable });
    return;
  }
  for (const [index, field] of COLUMNS.entries()) {
    const [one, other] = [stated[index], held[index]];
    if (one === other) continue;
    const check = index < TRADE_COLUMNS ? "trades" : "hedges";
    const micro = AMOUNTS.has(field) ? { log: BigInt(one || 0), table: BigInt(other || 0) } : undefined;
    const shown = (text: string | undefined) => (text === undefined || text === "" ? null : show(field, text));
    into.differ({ check, what: "trade", id, field, log: shown(one), table: shown(other), micro });
  }
}

function show(field: string, text: string): string | number {
  if (AMOUNTS.has(field)) return usdFromMicro(BigInt(text));
  if (field === "yesPrice") return Number(text) / 1e6;
  return field === "ts" ? instantText(Number(text)) : text;
}
