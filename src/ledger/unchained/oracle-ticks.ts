import { type AuditKey, isSealedRow, sealRow } from "../../domain/audit/seal.ts";
import { textArray } from "../../postgres/arrays.ts";
import { commitsLocally, commitsToDisk } from "../../postgres/commit-setting.ts";
import type { Sql } from "../../postgres/connect.ts";
import { nullable, rowReader, text, whole } from "../codec.ts";

/** Records that a sweep has run. The time never moves back, whichever process wrote last. */
export async function recordSweep(sql: Sql, now: number): Promise<void> {
  await sql`
    update oracle_sweep
       set swept_at = greatest(swept_at, ${String(now)}::bigint)
     where id = 1 and ${commitsLocally(sql)}`;
}

/** A row of `oracle_tick`: a price from a source. */
export const toTick = rowReader({
  source: text(),
  symbol: text(),
  observedAt: whole(),
  price: text(),
  conf: nullable(text()),
  receivedAt: whole(),
  confirmedAt: whole(),
  seal: text(),
  confirmedSeal: text(),
});
type StoredTick = ReturnType<typeof toTick>;
export type TickRow = Omit<StoredTick, "seal" | "confirmedSeal">;

const observed = ({ source, symbol, observedAt, price, conf, receivedAt }: TickRow) =>
  [source, symbol, observedAt, price, conf, receivedAt] as const;
const confirmed = ({ source, symbol, observedAt, confirmedAt }: TickRow) =>
  [source, symbol, observedAt, confirmedAt] as const;

/** Whether the tenant's servers wrote this price and its time of confirmation. Any other price decides nothing. */
export function isSealedTick(tick: StoredTick, keys: readonly AuditKey[]): boolean {
  return (
    isSealedRow(keys, "oracle_tick", observed(tick), tick.seal) &&
    isSealedRow(keys, "oracle_tick.confirmed", confirmed(tick), tick.confirmedSeal)
  );
}

/**
 * Stores prices from sources. If an observation exists, only its time of confirmation changes: a later revised price is
 * the same observation, and its first price counts.
 * @param key the key that seals the rows
 */
export async function recordTicks(sql: Sql, ticks: readonly TickRow[], key: AuditKey): Promise<void> {
  if (ticks.length === 0) return;
  const column = (of: (tick: TickRow) => string | number) => textArray(ticks.map((tick) => String(of(tick))));
  await sql`
    insert into oracle_tick (source, symbol, observed_at, price, conf, received_at, confirmed_at, seal, confirmed_seal)
    select source, symbol, observed_at, price, nullif(conf, ''), received_at, confirmed_at, seal, confirmed_seal
      from unnest(
        ${column((tick) => tick.source)}::text[],
        ${column((tick) => tick.symbol)}::text[],
        ${column((tick) => tick.observedAt)}::bigint[],
        ${column((tick) => tick.price)}::text[],
        ${column((tick) => tick.conf ?? "")}::text[],
        ${column((tick) => tick.receivedAt)}::bigint[],
        ${column((tick) => tick.confirmedAt)}::bigint[],
        ${column((tick) => sealRow(key, "oracle_tick", observed(tick)))}::text[],
        ${column((tick) => sealRow(key, "oracle_tick.confirmed", confirmed(tick)))}::text[]
      ) as tick (source, symbol, observed_at, price, conf, received_at, confirmed_at, seal, confirmed_seal)
     where ${commitsToDisk(sql)}
     -- Two processes take the rows in one order, so neither waits for the other in a circle.
     order by source, symbol, observed_at
    on conflict (source, symbol, observed_at)
       do update set confirmed_at = excluded.confirmed_at, confirmed_seal = excluded.confirmed_seal
     where oracle_tick.confirmed_at < excluded.confirmed_at`;
}

/** Deletes ticks that were received before an instant. */
export async function pruneTicks(sql: Sql, before: number): Promise<void> {
  await sql`delete from oracle_tick where received_at < ${String(before)}::bigint and ${commitsLocally(sql)}`;
}
