import type { AuditEntry } from "../domain/audit/audit-link.ts";
import type { RowWrite, Trade, Transfer } from "../engine/draft.ts";
import type { TableCodec, Verb } from "./codec.ts";
import { fundingDayRows, hourRows, traderDayRows } from "./rollups.ts";
import { CODECS, TABLES } from "./tables.ts";

/** Where the log ends, as each commit expects and replaces it: number, hash and time of the last entry, and the fencing epoch. */
export interface Head {
  seq: bigint;
  hash: string;
  epoch: bigint;
  ts: number;
}

export function sameHead(a: Head, b: Head): boolean {
  return a.seq === b.seq && a.hash === b.hash && a.epoch === b.epoch;
}

/** One commit: everything that a batch of commands wants to have happened, on top of exactly `expected`. */
export interface Batch {
  expected: Head;
  next: Head;
  /** No commit at or after this instant of the database's clock. */
  before: number | null;
  writes: readonly RowWrite[];
  transfers: (Transfer & { seq: bigint; leg: number })[];
  trades: (Trade & { seq: bigint })[];
  audit: AuditEntry[];
}

/**
 * The one statement of a batch. The swap of the head row gates everything else: each part selects from its one row, so
 * a lost swap writes nothing. A row that is not at the version that memory read is not updated, so updated rows are
 * counted, and the last select fails the whole statement, by dividing by zero, when one is missing. An inserted row fails
 * it by itself: by its key when it exists, and what a shorter array lacks is null, in columns that refuse it.
 * Returns one row: whether the head was swapped, and the database's clock.
 */
export function commitStatement(batch: Batch): { text: string; parameters: (string | null)[] } {
  const { expected, next } = batch;
  const gate = [next.seq, next.hash, next.ts, expected.seq, expected.hash, expected.epoch, batch.before, next.epoch];
  const parameters = gate.map((value) => (value === null ? null : String(value)));
  const parts = partsOf(collect(batch));
  let updated = 0;
  for (const { codec, verb, rows } of parts) {
    parameters.push(...codec.encode(rows));
    if (verb === "update") updated += rows.length;
  }
  parameters.push(String(updated));
  return { text: statementOf(parts), parameters };
}

/** What the statement does to rows of one table. */
interface Part {
  codec: TableCodec<unknown>;
  verb: Verb;
  rows: readonly unknown[];
}

const STATEMENT_ORDER: readonly TableCodec<unknown>[] = Object.values(TABLES);
const VERBS: readonly Verb[] = ["update", "insert"];

/** In one order, which keeps the number of distinct statements small. */
function partsOf(rowsByTable: ReadonlyMap<TableCodec<unknown>, readonly unknown[]>): Part[] {
  const parts: Part[] = [];
  for (const codec of STATEMENT_ORDER) {
    const own = rowsByTable.get(codec);
    if (own === undefined) continue;
    const byVerb = Object.groupBy(own, (row) => codec.verbOf(row));
    for (const verb of VERBS) {
      const rows = byVerb[verb];
      if (rows !== undefined) parts.push({ codec, verb, rows });
    }
  }
  return parts;
}

/** Each combination of parts is a statement of its own, written once, and prepared once on each connection. */
const statements = new Map<string, string>();

function statementOf(parts: readonly Part[]): string {
  const combination = parts.map(nameOf).join(" ");
  const known = statements.get(combination);
  if (known !== undefined) return known;
  const text = writeStatement(parts);
  statements.set(combination, text);
  return text;
}

const nameOf = ({ codec, verb }: Part) => `${codec.name}_${verb}`;

/** Parameters of the gate, before those of the tables. */
const GATE = 8;

function writeStatement(parts: readonly Part[]): string {
  let parameters = GATE;
  const writers = parts.map((part) => {
    const { codec, verb } = part;
    const cells = codec.columns.map(({ type }) => cellsOf(type, ++parameters));
    return `${nameOf(part)} as (${verb === "insert" ? insertOf(codec, cells) : updateOf(codec, cells)})`;
  });
  const counts = parts.filter(({ verb }) => verb === "update").map((part) => `(select count(*) from ${nameOf(part)})`);
  return `with swap as (
  update head set seq = $1::bigint, hash = $2, ts = $3::bigint, epoch = $8::bigint
   where id = 1 and seq = $4::bigint and hash = $5 and epoch = $6::bigint
     and ($7::bigint is null or extract(epoch from clock_timestamp()) * 1000 < $7::bigint)
  returning 1)${writers.map((each) => `,\n${each}`).join("")}
select (select count(*) from swap)::int4 as swapped,
       (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
       1 / case when (select count(*) from swap) = 0 or ${["0", ...counts].join(" + ")} = $${parameters + 1}::bigint then 1 else 0 end as complete`;
}

/** Arrays are unnested in the target list, side by side: in a `from` clause each would keep its rows in a store of its own. */
function cellsOf(type: TableCodec<unknown>["columns"][number]["type"], parameter: number): string {
  return `unnest(${type === "line" ? `string_to_array($${parameter}, e'\\n')` : `$${parameter}::${type}[]`})`;
}

function insertOf({ name, columns, onConflict }: TableCodec<unknown>, cells: readonly string[]): string {
  return `
  insert into ${name} (${columns.map((column) => column.name).join(", ")})
  select ${cells.join(", ")} from swap
  ${onConflict === undefined ? "" : `on conflict ${onConflict}`}`;
}

/**
 * Half the work of an insert that turns into an update by its conflict: that one looks the row up twice, and logs its lock
 * besides. A row that a line break has added to the arrays has no version, and divides by zero: left out, it would leave
 * the others with each other's values.
 */
function updateOf({ name, columns, key }: TableCodec<unknown>, cells: readonly string[]): string {
  const names = columns.map((column) => column.name);
  const changed = names.filter((column) => !key.includes(column));
  return `
  update ${name} set ${changed.map((column) => `${column} = given.${column}`).join(", ")}
    from (select ${cells.map((cell, index) => `${cell} as ${names[index]}`).join(", ")} from swap) given
   where ${key.map((column) => `${name}.${column} = given.${column}`).join(" and ")} and ${name}.version = given.version - 1
     and 1 / case when given.version is null then 0 else 1 end = 1
  returning 1`;
}

/** Rows by table, only tables that have any. */
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
    // What a sell gives back to the pool stands as a negative number of shares moved to the trader.
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
