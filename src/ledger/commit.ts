import type { AuditEntry } from "../domain/audit/audit-link.ts";
import type { RowWrite, Trade, Transfer } from "../engine/draft.ts";
import type { Table, Tables } from "../engine/rows.ts";
import { arrayLiteral, type Cell, quoted } from "../postgres/arrays.ts";
import { DELIVERY_COLUMNS, deliveryCells } from "./inbound-deliveries.ts";
import { KEY_COLUMNS, keyCells } from "./key-row.ts";
import { fundingDayRows, hourRows, traderDayRows } from "./rollups.ts";
import { WATCH_COLUMNS, watchCells } from "./watches.ts";

/** The order of commits: seq and hash of the last audit entry, the fencing epoch, and the time of the last entry. */
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
 * A table of the statement: its columns with their types, and what to do when the row exists. A `line` is a text that is
 * never null, never empty and holds no control character: such columns travel as lines, with nothing to escape.
 */
interface Target {
  name: string;
  columns: [name: string, type: string][];
  /** Columns of the primary key, for rows that change. Absent for journals, where a second insert is an error. */
  key?: string[];
  /** Replaces the version guard. */
  onConflict?: string;
}

const target = (name: string, columns: string, options: Pick<Target, "key" | "onConflict"> = {}): Target => ({
  name,
  columns: columns.split(", ").map((column) => column.split(" ") as [string, string]),
  ...options,
});

const TARGETS = {
  audit: target("audit", "seq bigint, type line, actor line, payload line, ts line, key_id line, hash line"),
  transfer: target("transfer", "seq bigint, leg integer, debit line, credit line, amount_micro bigint"),
  trade: target(
    "trade",
    "seq bigint, id line, market_id line, trader_id line, side line, amount_micro bigint, fee_micro bigint, shares_micro bigint, released_micro bigint, yes_price_ppm integer, ts bigint",
  ),
  hedge: target(
    "hedge",
    "seq bigint, market_id text, symbol text, direction text, notional_minor bigint, external_ref text",
  ),
  // Deltas are safe here: the swap of the head makes this statement the only writer.
  hour: target(
    "market_hour",
    "market_id line, hour bigint, volume_micro bigint, yes_price_ppm integer, fee_micro bigint",
    {
      onConflict:
        "(market_id, hour) do update set volume_micro = market_hour.volume_micro + excluded.volume_micro, yes_price_ppm = excluded.yes_price_ppm, fee_micro = market_hour.fee_micro + excluded.fee_micro",
    },
  ),
  traderDay: target(
    "trader_day",
    "day bigint, trader_id line, market_id line, volume_micro bigint, trades integer, realized_micro bigint",
    {
      onConflict:
        "(day, trader_id, market_id) do update set volume_micro = trader_day.volume_micro + excluded.volume_micro, trades = trader_day.trades + excluded.trades, realized_micro = trader_day.realized_micro + excluded.realized_micro",
    },
  ),
  fundingDay: target("funding_day", "day bigint, provider text, inflow_micro bigint, outflow_micro bigint", {
    onConflict:
      "(day, provider) do update set inflow_micro = funding_day.inflow_micro + excluded.inflow_micro, outflow_micro = funding_day.outflow_micro + excluded.outflow_micro",
  }),
  tenant: target(
    "tenant",
    "id smallint, policy text, overrides text, policy_updated_at bigint, kyc_required boolean, liquidity_micro bigint, capital_micro bigint, document text, version bigint",
    { key: ["id"] },
  ),
  account: target("account", "id line, balance_micro bigint, version bigint", { key: ["id"] }),
  market: target(
    "market",
    "id text, question text, category text, kind text, p0_ppm integer, fund_micro bigint, close_at bigint, resolution_ref text, meta text, created_at bigint, file_key text, house_yes_micro bigint, house_no_micro bigint, terms text",
  ),
  book: target(
    "book",
    "market_id text, status text, yes_micro bigint, no_micro bigint, volume_micro bigint, outcome text, settled_at bigint, closing_recorded boolean, version bigint",
    { key: ["market_id"] },
  ),
  watch: target("oracle_watch", WATCH_COLUMNS, { key: ["market_id"] }),
  trader: target(
    "trader",
    "id text, kyc text, restricted boolean, jurisdiction text, kyc_at bigint, suitability_score smallint, suitability_at bigint, created_at bigint, version bigint",
    { key: ["id"] },
  ),
  position: target(
    "position",
    "trader_id line, market_id line, side line, shares_micro bigint, cost_micro bigint, version bigint",
    { key: ["trader_id", "market_id", "side"] },
  ),
  apiKey: target("api_key", KEY_COLUMNS, { key: ["hash"] }),
  assessment: target("assessment", "id text, trader_id text, answers text, score smallint, submitted_at bigint"),
  withdrawal: target(
    "withdrawal",
    "id text, trader_id text, amount_micro bigint, status text, created_at bigint, decided_at bigint, version bigint",
    { key: ["id"] },
  ),
  inboundDelivery: target("inbound_delivery", DELIVERY_COLUMNS),
  receipt: target("receipt", "provider text, reference text, amount_micro bigint, user_id text"),
  payment: target(
    "payment",
    "provider text, reference text, user_id text, credited_micro bigint, received_micro bigint, refunds_micro bigint, refund_total_micro bigint, refunds_failed_micro bigint, disputed_micro bigint, disputes_won_micro bigint, taken_back_micro bigint, version bigint",
    { key: ["provider", "reference"] },
  ),
  storedAnswer: target(
    "stored_answer",
    "caller text, key text, request_hash text, status smallint, body text, created_at bigint",
    // Only an expired answer is still there when a new one is stored.
    {
      onConflict:
        "(caller, key) do update set request_hash = excluded.request_hash, status = excluded.status, body = excluded.body, created_at = excluded.created_at",
    },
  ),
} satisfies Record<string, Target>;
type TargetName = keyof typeof TARGETS;

/** Cells in the order of the target's columns. Tables that live in memory only are absent. */
const CELLS: { [T in Table]?: (row: Tables[T]) => Cell[] } = {
  tenant: (t) => [
    1,
    JSON.stringify(t.policy),
    JSON.stringify(t.overrides),
    t.policyUpdatedAt,
    t.kycRequired,
    t.liquidityMicro,
    t.capitalMicro,
    t.document,
    t.version + 1,
  ],
  account: (a) => [a.id, a.balanceMicro, a.version + 1],
  market: (m) => [
    m.id,
    m.question,
    m.category,
    m.kind,
    m.p0Ppm,
    m.fundMicro,
    m.closeAt,
    m.resolutionRef,
    m.meta,
    m.createdAt,
    m.fileKey,
    m.houseYesMicro,
    m.houseNoMicro,
    m.terms,
  ],
  book: (b) => [
    b.marketId,
    b.status,
    b.yesMicro,
    b.noMicro,
    b.volumeMicro,
    b.outcome,
    b.settledAt,
    b.closingRecorded,
    b.version + 1,
  ],
  watch: watchCells,
  trader: (t) => [
    t.id,
    t.kyc,
    t.restricted,
    t.jurisdiction,
    t.kycAt,
    t.suitabilityScore,
    t.suitabilityAt,
    t.createdAt,
    t.version + 1,
  ],
  position: (p) => [p.traderId, p.marketId, p.side, p.sharesMicro, p.costMicro, p.version + 1],
  apiKey: keyCells,
  assessment: (a) => [a.id, a.traderId, a.answers, a.score, a.submittedAt],
  withdrawal: (w) => [w.id, w.traderId, w.amountMicro, w.status, w.createdAt, w.decidedAt, w.version + 1],
  inboundDelivery: deliveryCells,
  receipt: (r) => [r.provider, r.reference, r.amountMicro, r.userId],
  payment: (p) => [
    p.provider,
    p.reference,
    p.userId,
    p.creditedMicro,
    p.receivedMicro,
    p.refundsMicro,
    p.refundTotalMicro,
    p.refundsFailedMicro,
    p.disputedMicro,
    p.disputesWonMicro,
    p.takenBackMicro,
    p.version + 1,
  ],
  storedAnswer: (a) => [a.caller, a.key, a.requestHash, a.status, a.body, a.createdAt],
};

/**
 * The one statement of a batch. The swap of the head row gates everything else: an `exists` on it compiles to a
 * one-time filter, so a lost swap writes nothing. The last select fails the whole statement, by dividing by zero, when
 * fewer rows were written than the batch holds: then memory and database had parted.
 * Returns one row: whether the head was swapped, and the database's clock.
 */
export function commitStatement(batch: Batch): { text: string; parameters: (string | null)[] } {
  const rows = collect(batch);
  const { expected, next } = batch;
  const gate = [next.seq, next.hash, next.ts, expected.seq, expected.hash, expected.epoch, batch.before, next.epoch];
  const parameters = gate.map((value) => (value === null ? null : String(value)));
  const writers: string[] = [];
  const counts: string[] = [];
  let count = 0;
  for (const [name, cells] of rows) {
    writers.push(writer(TARGETS[name], parameters.length));
    counts.push(`(select count(*) from ${TARGETS[name].name}_w)`);
    TARGETS[name].columns.forEach(([, type], column) => {
      const values = cells.map((row) => row[column] as Cell);
      parameters.push(type === "line" ? values.join("\n") : arrayLiteral(values, type === "text" ? quoted : String));
    });
    count += cells.length;
  }
  parameters.push(String(count));
  const text = `with swap as (
  update head set seq = $1::bigint, hash = $2, ts = $3::bigint, epoch = $8::bigint
   where id = 1 and seq = $4::bigint and hash = $5 and epoch = $6::bigint
     and ($7::bigint is null or extract(epoch from clock_timestamp()) * 1000 < $7::bigint)
  returning 1)${writers.map((each) => `,\n${each}`).join("")}
select (select count(*) from swap)::int4 as swapped,
       (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
       1 / case when (select count(*) from swap) = 0 or ${counts.join(" + ")} = $${parameters.length}::bigint then 1 else 0 end as complete`;
  return { text, parameters };
}

function writer(target: Target, offset: number): string {
  const names = target.columns.map(([name]) => name);
  const arrays = target.columns.map(([, type], index) => {
    const parameter = `$${offset + index + 1}`;
    return type === "line" ? `string_to_array(${parameter}, e'\\n')` : `${parameter}::${type}[]`;
  });
  const conflict = target.onConflict ?? (target.key ? versionGuard(target.name, names, target.key) : undefined);
  return `${target.name}_w as (
  insert into ${target.name} (${names.join(", ")})
  select * from unnest(${arrays.join(", ")}) where exists (select 1 from swap)
  ${conflict === undefined ? "" : `on conflict ${conflict}`} returning 1)`;
}

/** A row that was read at version n is replaced by version n + 1 and by nothing else. */
function versionGuard(table: string, columns: string[], key: string[]): string {
  const set = columns.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`);
  return `(${key.join(", ")}) do update set ${set.join(", ")} where ${table}.version = excluded.version - 1`;
}

/** Rows by target, only targets that have any: each combination is a statement of its own, prepared once. */
function collect(batch: Batch): Map<TargetName, Cell[][]> {
  const rows = new Map<TargetName, Cell[][]>();
  const add = (name: TargetName, cells: Cell[]) => {
    const list = rows.get(name);
    if (list) list.push(cells);
    else rows.set(name, [cells]);
  };
  for (const e of batch.audit) add("audit", [e.seq, e.type, e.actor, e.payloadText, e.ts, e.keyId, e.hash]);
  for (const t of batch.transfers) add("transfer", [t.seq, t.leg, t.debit, t.credit, t.amountMicro]);
  for (const t of batch.trades) {
    // What a sell gives back to the pool stands as a negative number of shares moved to the trader.
    const shares = t.releasedMicro === null ? t.sharesMicro : -t.sharesMicro;
    const terms = [t.seq, t.id, t.marketId, t.traderId, t.side, t.amountMicro, t.feeMicro];
    add("trade", [...terms, shares, t.releasedMicro, t.yesPricePpm, t.ts]);
    const h = t.hedgeRef;
    if (h) add("hedge", [t.seq, t.marketId, h.symbol, h.direction, h.notional, h.externalRef]);
  }
  for (const cells of hourRows(batch.trades)) add("hour", cells);
  for (const cells of traderDayRows(batch.trades)) add("traderDay", cells);
  for (const cells of fundingDayRows(batch.transfers, batch.next.ts)) add("fundingDay", cells);
  for (const { table, row } of batch.writes) {
    const cells = CELLS[table] as ((row: unknown) => Cell[]) | undefined;
    if (cells) add(table as TargetName, cells(row));
  }
  // A fixed order keeps the number of distinct statements small.
  return new Map([...rows].sort(([a], [b]) => (a < b ? -1 : 1)));
}
