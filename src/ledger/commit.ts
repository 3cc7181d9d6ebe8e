import type { AuditEntry } from "../domain/audit/audit-link.ts";
import type { RowWrite, Trade, Transfer } from "../engine/draft.ts";
import { COMMITS_TO_DISK } from "../postgres/commit-setting.ts";
import type { TableCodec } from "./codec.ts";
import { fundingDayRows, hourRows, traderDayRows } from "./rollups.ts";
import { CODECS, TABLES } from "./tables.ts";

/** The end of the log, as each commit expects and replaces it: number, hash and time of the last entry, and the fencing epoch. */
export interface Head {
  seq: bigint;
  hash: string;
  epoch: bigint;
  ts: number;
}

export function sameHead(a: Head, b: Head): boolean {
  return a.seq === b.seq && a.hash === b.hash && a.epoch === b.epoch;
}

/** One commit: all changes of a batch of commands, on top of exactly `expected`. */
export interface Batch {
  expected: Head;
  next: Head;
  /** The commit must happen before this instant of the database's clock. */
  before: number | null;
  writes: readonly RowWrite[];
  transfers: (Transfer & { seq: bigint; leg: number })[];
  trades: (Trade & { seq: bigint })[];
  audit: AuditEntry[];
}

/**
 * The single statement of a batch. The swap of the head row gates everything else: each writer selects from its one
 * row, so a lost swap writes nothing. A version that differs from the database's leaves its row unwritten. So these
 * rows are counted, and the last select divides by zero to fail the statement if one is missing. Any other row is
 * written or fails the statement by itself: a shorter array is filled with nulls, which the columns refuse.
 * Returns one row: whether the head was swapped, and the database's clock.
 */
export function commitStatement(batch: Batch): { text: string; parameters: (string | null)[] } {
  const rows = collect(batch);
  const { expected, next } = batch;
  const gate = [next.seq, next.hash, next.ts, expected.seq, expected.hash, expected.epoch, batch.before, next.epoch];
  const parameters = gate.map((value) => (value === null ? null : String(value)));
  // A fixed order keeps the number of distinct statements small.
  const written = STATEMENT_ORDER.filter((codec) => rows.has(codec));
  let count = 0;
  for (const codec of written) {
    const own = rows.get(codec) ?? [];
    parameters.push(...codec.encode(own));
    if (codec.isGuarded) count += own.length;
  }
  parameters.push(String(count));
  return { text: statementOf(written), parameters };
}

const STATEMENT_ORDER: readonly TableCodec<unknown>[] = Object.values(TABLES);

/** Each combination of tables is a separate statement, created once, and prepared once on each connection. */
const statements = new Map<string, string>();

function statementOf(written: readonly TableCodec<unknown>[]): string {
  const combination = written.map(({ name }) => name).join(" ");
  const known = statements.get(combination);
  if (known !== undefined) return known;
  const text = writeStatement(written);
  statements.set(combination, text);
  return text;
}

/** The gate's parameters, which precede those of the tables. */
const GATE = 8;

function writeStatement(written: readonly TableCodec<unknown>[]): string {
  let parameters = GATE;
  const writers = written.map((codec) => {
    const text = writer(codec, parameters);
    parameters += codec.columns.length;
    return text;
  });
  const counts = written.filter(({ isGuarded }) => isGuarded).map(({ name }) => `(select count(*) from ${name}_w)`);
  return `with swap as (
  update head set seq = $1::bigint, hash = $2, ts = $3::bigint, epoch = $8::bigint
   where id = 1 and seq = $4::bigint and hash = $5 and epoch = $6::bigint
     and ($7::bigint is null or extract(epoch from clock_timestamp()) * 1000 < $7::bigint)
     and ${COMMITS_TO_DISK}
  returning 1)${writers.map((each) => `,\n${each}`).join("")}
select (select count(*) from swap)::int4 as swapped,
       (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
       1 / case when (select count(*) from swap) = 0 or ${["0", ...counts].join(" + ")} = $${parameters + 1}::bigint then 1 else 0 end as complete`;
}

/** Arrays are unnested side by side in the target list: in a `from` clause each `unnest` would store its rows separately. */
function writer({ name, columns, onConflict, isGuarded }: TableCodec<unknown>, offset: number): string {
  const cells = columns.map(({ type }, index) => {
    const parameter = `$${offset + index + 1}`;
    return `unnest(${type === "line" ? `string_to_array(${parameter}, e'\\n')` : `${parameter}::${type}[]`})`;
  });
  return `${name}_w as (
  insert into ${name} (${columns.map((column) => column.name).join(", ")})
  select ${cells.join(", ")} from swap
  ${onConflict === undefined ? "" : `on conflict ${onConflict}`} ${isGuarded ? "returning 1" : ""})`;
}

/** Rows by table, for tables that have any. */
function collect(batch: Batch): Map<TableCodec<unknown>, unknown[]> {
  const rows = new Map<TableCodec<unknown>, unknown[]>();
  const add = <Row>(codec: TableCodec<Row>, row: Row) => {
    const list = rows.get(codec);
    if (list) list.push(row);
    else rows.set(codec, [row]);
  };
  for (const entry of batch.audit) add(TABLES.audit, entry);
  for (const transfer of batch.transfers) add(TABLES.transfer, transfer);
  for (const trade of batch.trades) {
    // A sale's shares, which return to the pool, are a negative number of shares moved to the trader.
    add(TABLES.trade, trade.releasedMicro === null ? trade : { ...trade, sharesMicro: -trade.sharesMicro });
    const { seq, marketId, hedgeRef } = trade;
    if (hedgeRef) add(TABLES.hedge, { seq, marketId, ...hedgeRef });
  }
  for (const row of hourRows(batch.trades)) add(TABLES.hour, row);
  for (const row of traderDayRows(batch.trades)) add(TABLES.traderDay, row);
  for (const row of fundingDayRows(batch.transfers, batch.next.ts)) add(TABLES.fundingDay, row);
  for (const { table, row } of batch.writes) {
    const codec: TableCodec<unknown> | undefined = CODECS[table];
    if (codec) add(codec, row);
  }
  return rows;
}
