import { payloadOf } from "../../domain/audit/audit-link.ts";
import { type ChainBreak, GENESIS, type SealedLines, walkChain } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { findAuditEntry, readSealedLines } from "../../queries/audit.ts";
import { readLog } from "../../queries/evidence.ts";
import {
  findEndOfApply,
  pageAccounts,
  pageMarkets,
  pageMoved,
  pagePositions,
  pageTradedMarkets,
  pageTradedPositions,
  pageTrades,
  pageWithdrawals,
} from "../../queries/reconcile/replayed.ts";
import { OF_APPLY } from "../../replay/applies.ts";
import {
  accountFigures,
  compareRows,
  type Difference,
  type FiguredRow,
  type Figures,
  marketFigures,
  statedBalances,
  statedMarkets,
  statedPositions,
  statedTrade,
  statedVolumes,
  statedWithdrawals,
  tradeFigures,
  withdrawalFigures,
} from "../../replay/differences.ts";
import { LoggedRows } from "../../replay/logged-rows.ts";
import { type Rebuilt, rebuiltOf } from "../../replay/rebuilt.ts";
import { loggedEntry, takeCapital, takeEntry } from "../../replay/take-entry.ts";
import { glance } from "../../services/audit/audit-verifier.ts";

/** A tenant as its log alone states it after an entry, and where its tables say otherwise. */
export interface RebuiltState extends Rebuilt {
  /** The entry, and its hash. */
  to: number;
  hash: string;
  /** The last entry of the log. */
  head: number;
  /** Whether the chain holds up to the entry and the tables agree. */
  ok: boolean;
  differences: Difference[];
}

export interface RebuildOptions {
  /** The entry to stop after; the last one unless given. */
  to?: number | undefined;
  /** Every key that has sealed entries. */
  keys: readonly AuditKey[];
  onProgress?: (entries: number, of: number) => void;
}

/** Entries read at a time. The next page is read while this one is verified and taken over. */
const PAGE = 1000;

/**
 * Rebuilds the state after an entry, verifying every link on the way, and compares it with the tables: with what their
 * journals add up to by then and, at the end of the log, with the rows that stand for the present. Holds a row for each
 * user, position and market, however long the log is. A chain that breaks is a difference of the table `audit`; what
 * was rebuilt ends before it, and is compared with nothing.
 *
 * @param sql of a snapshot: the log and the tables are of one moment, whatever is written meanwhile
 * @returns the break besides, where the chain does not hold
 * @throws Fault NOT_FOUND for an entry that the log does not have
 */
export async function rebuildState(
  sql: ReadSql,
  { to, keys, onProgress }: RebuildOptions,
): Promise<{ state: RebuiltState; broken: ChainBreak | undefined }> {
  const log = await readLog(sql);
  const head = log.head ?? { ...log.last, ts: "" };
  const last = to === undefined ? head.seq : BigInt(to);
  if (last > head.seq || (to !== undefined && last < 1n))
    throw new Fault("NOT_FOUND", `The log has no entry ${last}: its last one is ${head.seq}`);
  const isHead = last === head.seq;
  // Within an apply its capital is there already, which only its last entry states.
  const capitalTo = isHead ? last : await findEndOfApply(sql, last, OF_APPLY);
  const [entry, end] = isHead ? [head, head] : [await findAuditEntry(sql, last), await findAuditEntry(sql, capitalTo)];
  const rows = new LoggedRows();
  const taking = new Taking(rows, last);
  const inTrades: Difference[] = [];
  const walked = await walkChain(taking.pagesOf(sql), {
    keys,
    head: { seq: capitalTo, hash: end?.hash ?? "" },
    onPage: async (seq) => {
      taking.takeUpTo(seq);
      inTrades.push(...(await taking.differingTrades(sql)));
      onProgress?.(Number(seq), Number(last));
    },
  });
  taking.takeUpTo(walked.end.seq);
  const broken = walked.broken ?? (isHead ? glance(log) : undefined);
  // After its last entry a state lasts until now; after any other one, until the next.
  const now = isHead && !broken ? log.readAt : taking.at;
  const rebuilt = rebuiltOf(rows, now);
  const differences = broken
    ? [differenceOf(broken)]
    : [...(await differencesOf(sql, rows, { to: last, capitalTo, now, hasPresent: isHead })), ...inTrades];
  const { seq, hash } = entry && walked.end.seq > last ? { seq: last, hash: entry.hash } : walked.end;
  const state = {
    to: Number(seq),
    head: Number(head.seq),
    hash,
    ok: differences.length === 0,
    ...rebuilt,
    differences,
  };
  return { state, broken };
}

/** Takes entries over once they are verified; of those after the last one wanted, the capital alone. */
class Taking {
  readonly #rows: LoggedRows;
  readonly #last: bigint;
  /** Trades of the entries taken that are not compared yet. */
  #trades = new Map<string, Figures>();
  #compared = GENESIS.seq;
  #page: readonly SealedLines[] = [];
  #taken = GENESIS.seq;
  /** When the last entry was written, milliseconds since 1970. */
  at = 0;

  constructor(rows: LoggedRows, last: bigint) {
    this.#rows = rows;
    this.#last = last;
  }

  /** All entries, of which the page that was given last can be taken. */
  async *pagesOf(sql: ReadSql): AsyncGenerator<readonly SealedLines[]> {
    const readAfter = (seq: bigint) => {
      const page = readSealedLines(sql, seq + 1n, PAGE);
      page.catch(() => {});
      return page;
    };
    let next = readAfter(0n);
    for (let seq = BigInt(PAGE); ; seq += BigInt(PAGE)) {
      this.#page = await next;
      if (this.#page.length === 0) return;
      next = readAfter(seq);
      yield this.#page;
    }
  }

  /** Compares the rows of the trades that were taken since with their entries. */
  async differingTrades(sql: ReadSql): Promise<Difference[]> {
    const [stated, from] = [this.#trades, this.#compared + 1n];
    this.#trades = new Map();
    this.#compared = this.#taken < this.#last ? this.#taken : this.#last;
    return compareRows("trade", stated, mapped(pageTrades(sql, from, this.#compared), tradeFigures));
  }

  takeUpTo(seq: bigint): void {
    for (; this.#taken < seq; this.#taken += 1n) {
      const [, , ts = "", type = "", , ...payload] =
        this.#page[Number(this.#taken % BigInt(PAGE))]?.lines.split("\n") ?? [];
      this.at = Date.parse(ts);
      const entry = loggedEntry({ type, ts, payload: payloadOf({ payloadText: payload.join("\n") }) });
      if (entry && this.#taken < this.#last) {
        takeEntry(this.#rows, entry);
        if (entry.type === "trade.executed") this.#trades.set(...statedTrade(entry));
      } else if (entry?.type === "config.applied") takeCapital(this.#rows, entry.payload);
    }
  }
}

function differenceOf({ seq, problem, stored, computed }: ChainBreak): Difference {
  const [log, table] = [computed ?? problem, stored ?? null];
  return { what: "audit", id: String(seq), field: computed === undefined ? "entry" : "hash", log, table };
}

interface Compared {
  to: bigint;
  capitalTo: bigint;
  now: number;
  /** Whether the rows that stand for the present are of the same moment. */
  hasPresent: boolean;
}

async function differencesOf(
  sql: ReadSql,
  rows: LoggedRows,
  { to, capitalTo, now, hasPresent }: Compared,
): Promise<Difference[]> {
  const inJournals = [
    await compareRows("transfer", statedBalances(rows), mapped(pageMoved(sql, { to, capitalTo }), accountFigures)),
    await compareRows("trade", statedPositions(rows), mapped(pageTradedPositions(sql, to), positionRow)),
    await compareRows("trade", statedVolumes(rows), mapped(pageTradedMarkets(sql, to), volumeRow)),
  ];
  if (!hasPresent) return inJournals.flat();
  const inRows = [
    await compareRows("account", statedBalances(rows), mapped(pageAccounts(sql), accountFigures)),
    await compareRows("position", statedPositions(rows), mapped(pagePositions(sql), positionRow)),
    await compareRows(
      "market",
      statedMarkets(rows, now),
      mapped(pageMarkets(sql), (row): FiguredRow => [row.id, marketFigures(row, row, now)]),
    ),
    await compareRows("withdrawal", statedWithdrawals(rows), mapped(pageWithdrawals(sql), withdrawalFigures)),
  ];
  return [...inRows, ...inJournals].flat();
}

type RowsOf<Pages> = Pages extends AsyncIterable<readonly (infer Each)[]> ? Each : never;

const positionRow = (row: RowsOf<ReturnType<typeof pagePositions>>): FiguredRow => [
  `${row.traderId} ${row.marketId} ${row.side}`,
  { shares: row.sharesMicro, costUsd: row.costMicro },
];
const volumeRow = ({ id, volumeMicro, yesPricePpm }: RowsOf<ReturnType<typeof pageTradedMarkets>>): FiguredRow => [
  id,
  { volume: volumeMicro, yesPrice: yesPricePpm / 1e6 },
];

async function* mapped<Row>(
  pages: AsyncIterable<readonly Row[]>,
  figuresOf: (row: Row) => FiguredRow,
): AsyncGenerator<FiguredRow[]> {
  for await (const page of pages) yield page.map(figuresOf);
}
