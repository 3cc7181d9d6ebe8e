import { type ChainPoint, payloadOf } from "../../domain/audit/audit-link.ts";
import { type ChainBreak, GENESIS, type SealedLines, walkChain } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { upToHead } from "../../ledger/on-record.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { applyEntry } from "../../replay/fold.ts";
import { LoggedRows, loggedEntry } from "../../replay/logged-rows.ts";
import { type Packed, pack, unpack } from "../../replay/packed.ts";
import { OF_APPLY, Recomputation } from "../../replay/recomputation.ts";
import { readSealedLines } from "../audit.ts";
import { findEndOfApply, type LogReading, problemOf, readLog } from "../evidence.ts";
import { Comparison, type Difference, type ExplainedCheck } from "./checks.ts";
import { compareRows, compareStanding, compareTransfers } from "./compare.ts";
import { compareSums } from "./sums.ts";
import { compareTrades } from "./trades.ts";

/** The result of recomputing a log and comparing the tables with it. */
export interface Reconciled {
  checks: ExplainedCheck[];
  differences: readonly Difference[];
  /** The last recomputed entry. Nothing is compared if the chain breaks before the requested one. */
  end: ChainPoint;
  /** The end of the log. */
  log: LogReading;
  /** The break of the chain. */
  broken: ChainBreak | undefined;
}

export interface ReconcileOptions {
  /** All keys that have sealed entries. */
  keys: readonly AuditKey[];
  /** The entry to stop after (default: the last one). Only the head has present rows to compare. */
  to?: bigint | undefined;
  /** Awaited after each page, so that it can slow the work down. */
  onPage?: ((seq: bigint) => void | Promise<void>) | undefined;
}

const MAX_SEQ = 2n ** 63n - 1n;

/** Entries per read. The next page is read while this one is verified and recomputed. */
const PAGE = 1000;

/**
 * Recomputes the entries after those of `recomputation`, verifying every seal, and compares the tables with the result.
 * A problem of an entry is a difference of the table `audit`.
 * @param sql of a snapshot, so that the log and the tables are of one moment
 */
export async function recomputeLedger(
  sql: ReadSql,
  recomputation: Recomputation,
  { keys, to, onPage }: ReconcileOptions,
): Promise<Reconciled> {
  const log = await readLog(sql);
  const head = log.head ?? log.last;
  const last = to ?? head.seq;
  const isHead = last === head.seq;
  // Within an apply the capital is already in the tables, but only the last entry states it.
  const capitalTo = isHead ? last : await findEndOfApply(sql, last, OF_APPLY);
  const end = isHead
    ? head
    : { seq: capitalTo, hash: (await readLog(sql, [{ seq: capitalTo }])).hashes.get(capitalTo) ?? "" };
  const pages = new Pages(sql, recomputation, last);
  const walked = await walkChain(pages.read(), {
    ...{ keys, from: recomputation.end, head: end },
    onPage: async (seq) => {
      pages.takeUpTo(seq);
      await onPage?.(seq);
    },
  });
  pages.takeUpTo(walked.end.seq);
  const into = new Comparison();
  const broken = walked.broken ?? (isHead ? problemOf(log) : undefined);
  if (broken) {
    const { seq, problem, stored, computed } = broken;
    const [field, id] = [computed === undefined ? "entry" : "hash", String(seq)];
    into.differ({ check: "record", what: "audit", id, field, log: computed ?? problem, table: stored ?? null });
  }
  if (!walked.broken) {
    for (const { seq, about, what, recorded, recomputed } of recomputation.findings)
      into.differ({
        ...{ check: "record", what: "audit", id: String(seq), field: `${about}: ${what}` },
        ...{ log: recomputed, table: recorded },
      });
    // At the head, rows with a higher number count too.
    const upTo = isHead ? { to: MAX_SEQ, capitalTo: MAX_SEQ } : { to: last, capitalTo };
    await compareTransfers(sql, recomputation.rows, { ...upTo, into });
    await compareTrades(sql, recomputation, { to: upTo.to, into });
    if (isHead) {
      await compareRows(sql, recomputation.rows, into);
      await compareSums(sql, into);
    }
  }
  return { checks: into.checks, differences: into.differences, end: recomputation.end, log, broken };
}

/** Recomputes the whole log from its first entry on: every check. */
export async function reconcileLedger(sql: ReadSql, keys: readonly AuditKey[]): Promise<ExplainedCheck[]> {
  return (await recomputeLedger(sql, new Recomputation(), { keys })).checks;
}

/** Pages of the log. The last page counts as far as it was verified. */
class Pages {
  readonly #sql: ReadSql;
  readonly #recomputation: Recomputation;
  readonly #last: bigint;
  #page: readonly SealedLines[] = [];
  #from: bigint;

  /** @param last the last requested entry; of later entries only the capital counts */
  constructor(sql: ReadSql, recomputation: Recomputation, last: bigint) {
    this.#sql = sql;
    this.#recomputation = recomputation;
    this.#last = last;
    this.#from = recomputation.end.seq + 1n;
  }

  async *read(): AsyncGenerator<readonly SealedLines[]> {
    const readFrom = (seq: bigint) => {
      const page = readSealedLines(this.#sql, seq, PAGE);
      page.catch(() => {});
      return page;
    };
    let next = readFrom(this.#from);
    for (let from = this.#from; ; from += BigInt(PAGE)) {
      const page = await next;
      if (page.length === 0) return;
      [this.#page, this.#from] = [page, from];
      next = readFrom(from + BigInt(PAGE));
      yield page;
    }
  }

  takeUpTo(seq: bigint): void {
    const wanted = seq < this.#last ? seq : this.#last;
    const taken = Number(wanted - this.#from + 1n);
    this.#recomputation.take(this.#page.slice(0, Math.max(taken, 0)));
    if (seq > this.#last)
      this.#recomputation.takeCapital(this.#page.slice(Math.max(taken, 0), Number(seq - this.#from + 1n)));
    // The rest of the page must not be read again.
    [this.#page, this.#from] = [this.#page.slice(Number(seq - this.#from + 1n)), seq + 1n];
  }
}

/**
 * A recomputation that a process keeps: each comparison continues where the previous one ended, or starts again if the
 * log is now another one. Comparisons take turns. Between them the recomputation is packed, because it has every
 * position of the tenant, and minutes pass without a comparison.
 */
export class LedgerRecomputation {
  readonly #keys: readonly AuditKey[];
  #packed: Packed = [];
  #end = GENESIS;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(keys: readonly AuditKey[]) {
    this.#keys = keys;
  }

  /**
   * @param snapshot runs a query at one moment of the database
   * @param full recomputes from the first entry on
   */
  compare(
    snapshot: <T>(query: (sql: ReadSql) => PromiseLike<T>) => Promise<T>,
    { full = false, onPage }: { full?: boolean | undefined; onPage?: ReconcileOptions["onPage"] } = {},
  ): Promise<Reconciled> {
    let recomputation: Recomputation | undefined;
    const compared = this.#turn.then(() =>
      snapshot(async (sql) => {
        const end = this.#end;
        const { head, hashes } = await readLog(sql, [end]);
        const goesOn =
          end.seq === 0n || (head !== undefined && head.seq >= end.seq && hashes.get(end.seq) === end.hash);
        recomputation = full || !goesOn ? new Recomputation() : await unpack(this.#packed);
        return recomputeLedger(sql, recomputation, { keys: this.#keys, onPage });
      }),
    );
    const keep = () => recomputation && this.#keep(recomputation);
    // An interrupted comparison has recomputed a part of the log, too: the next one continues there. If packing failed,
    // it would continue from the previous packed one, which stays valid.
    this.#turn = compared.then(keep, keep).catch(() => {});
    return compared;
  }

  async #keep(recomputation: Recomputation): Promise<void> {
    this.#packed = await pack(recomputation);
    this.#end = recomputation.end;
  }
}

/**
 * Compares the rights of users and keys, and the configuration, with the entries about them. Skips the trades, however
 * many there are, and the seals, which the walk of the chain verifies.
 */
export async function reconcileStanding(sql: ReadSql): Promise<{ name: string; place: string }[]> {
  const rows = new LoggedRows();
  const entries = await sql<{ seq: string; type: string; ts: string; actor: string; payload: string }[]>`
    select seq, type, ts, actor, payload
      from audit
     where type in ('config.applied', 'policy.updated', 'key.created', 'key.revoked',
                    'kyc.updated', 'user.restricted', 'suitability.submitted')
       and type <> 'trade.executed'
       and ${upToHead(sql)}
     order by seq`;
  const into = new Comparison();
  for (const { seq, type, ts, actor, payload } of entries)
    try {
      const entry = loggedEntry({ type, ts, actor, payload: payloadOf({ payloadText: payload }) });
      if (entry) applyEntry(rows, entry);
    } catch {
      // No key sealed an entry that cannot be read.
      into.differ({ check: "record", what: "audit", id: `entry ${seq}`, field: "payload", log: null, table: payload });
    }
  await compareStanding(sql, rows, into);
  return into.checks
    .filter(({ name }) => name !== "users")
    .flatMap(({ name, places }) => places.map(({ place }) => ({ name, place })));
}
