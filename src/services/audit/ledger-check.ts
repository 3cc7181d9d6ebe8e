import type { AuditKey } from "../../domain/audit/seal.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import type { Pool } from "../../postgres/pool.ts";
import type { ExplainedCheck } from "../../queries/reconcile/checks.ts";
import { LedgerRecomputation } from "../../queries/reconcile/reconcile.ts";
import { backendOf, cancelStatement } from "../../queries/server.ts";
import { shareReads } from "../read-batch.ts";
import { FULL_EVERY_MS, PASS_RARER, REST_PER_WORK, WHOLE_UP_TO } from "./chain-check.ts";

/** Ledgers with up to this many entries are recomputed completely by each question, in less than half a second. */
const WHOLE_EACH_TIME = 10_000n;

export interface LedgerCheckOptions {
  /** For long reads, each from one snapshot. */
  checks: Pick<Pool, "snapshot">;
  /** Cancels a running comparison when the server stops. */
  pool: Pick<Pool, "read">;
  keys: readonly AuditKey[];
  comparedEachTime?: bigint | undefined;
  wholeEachTime?: bigint | undefined;
  /** Whether this process regularly compares everything; always by default. */
  isMine?: (() => boolean) | undefined;
}

/** The result of a reconciliation. */
export interface LedgerFinding {
  checks: readonly ExplainedCheck[];
  /** The state at the last comparison of every row; milliseconds by the database's clock. */
  verifiedAt: number;
  /** The last entry of that state. */
  seq: bigint;
}

/**
 * Reconciles the ledger: recomputes the log and compares the tables with it. Each question compares a small ledger
 * completely. For a large one, the background recomputes new entries and compares every row every ten minutes, and a
 * question returns the latest result.
 */
export class LedgerCheck {
  readonly #checks: LedgerCheckOptions["checks"];
  readonly #pool: LedgerCheckOptions["pool"];
  readonly #recomputation: LedgerRecomputation;
  readonly #comparedEachTime: bigint;
  readonly #wholeEachTime: bigint;
  /** The last comparison, by this process's monotonic clock. */
  #last: (LedgerFinding & { endedAt: number; tookMs: number }) | undefined;
  /** The first comparison, until it has ended. */
  #first: Promise<LedgerFinding> | undefined;
  /** Questions that arrive during a comparison share the next comparison. */
  readonly #compare = shareReads(String, (full: boolean) => this.#compareNow(full));
  /** The database sessions of running comparisons. */
  readonly #comparing = new Set<number>();
  readonly #isMine: () => boolean;
  readonly #stopped = new AbortController();

  constructor({ checks, pool, keys, comparedEachTime, wholeEachTime, isMine }: LedgerCheckOptions) {
    this.#checks = checks;
    this.#pool = pool;
    this.#recomputation = new LedgerRecomputation(keys);
    this.#comparedEachTime = comparedEachTime ?? WHOLE_UP_TO;
    this.#isMine = isMine ?? (() => true);
    this.#wholeEachTime = wholeEachTime ?? WHOLE_EACH_TIME;
  }

  /** The last comparison's result, if the ledger did not reconcile. */
  get problem(): LedgerFinding | undefined {
    return this.#last && !holds(this.#last) ? this.#last : undefined;
  }

  /** When this process last compared everything. */
  get verifiedAt(): number | undefined {
    return this.#last?.verifiedAt;
  }

  /** @param full recompute the log from the first entry and compare everything */
  async reconcile({ full = false }: { full?: boolean } = {}): Promise<LedgerFinding> {
    const last = this.#last;
    if (!full && last && last.seq > this.#comparedEachTime && holds(last)) return last;
    const first = full ? undefined : await this.#first?.catch(() => undefined);
    // Of a large ledger, what the first comparison finds counts for everyone who asks meanwhile.
    if (first && first.seq > this.#comparedEachTime) return first;
    return this.#compare(full);
  }

  /** Like `reconcile`. @returns every check, with the differing places */
  async explain(): Promise<readonly ExplainedCheck[]> {
    return (await this.reconcile()).checks;
  }

  /** Like `reconcile`. @returns the failed checks */
  async failing(): Promise<readonly ExplainedCheck[]> {
    return (await this.explain()).filter(({ differenceMicro }) => differenceMicro !== 0n);
  }

  /** One background round: a comparison if one is due. */
  async round(signal?: AbortSignal): Promise<void> {
    const last = this.#last;
    const everyMs = Math.max(FULL_EVERY_MS, (last?.tookMs ?? 0) * REST_PER_WORK) * (this.#isMine() ? 1 : PASS_RARER);
    // After a difference, the next round compares again, to see whether it is gone.
    if (!last || !holds(last) || performance.now() - last.endedAt >= everyMs) await this.#compareNow(false, signal);
  }

  /** Cancels a running comparison instead of waiting for it. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const comparing of this.#comparing)
      await this.#pool.read((sql) => cancelStatement(sql, comparing)).catch(() => {});
  }

  #compareNow(full: boolean, signal?: AbortSignal): Promise<LedgerFinding> {
    const comparison = this.#compareAll(full, signal);
    if (!this.#last && !this.#first) {
      const over = () => {
        this.#first = undefined;
      };
      this.#first = comparison;
      comparison.then(over, over);
    }
    return comparison;
  }

  async #compareAll(full: boolean, signal?: AbortSignal): Promise<LedgerFinding> {
    const startedAt = performance.now();
    const isSmall = (this.#last?.seq ?? 0n) <= this.#wholeEachTime;
    const snapshot = <T>(query: (sql: ReadSql) => PromiseLike<T>) =>
      this.#checks.snapshot(async (sql) => {
        const backend = await backendOf(sql);
        this.#stopped.signal.throwIfAborted();
        this.#comparing.add(backend);
        return Promise.resolve(query(sql)).finally(() => this.#comparing.delete(backend));
      });
    const { checks, log } = await this.#recomputation.compare(snapshot, {
      full: full || isSmall,
      onPage: () => signal?.throwIfAborted(),
    });
    const endedAt = performance.now();
    const finding = { checks, verifiedAt: log.readAt, seq: (log.head ?? log.last).seq };
    this.#last = { ...finding, endedAt, tookMs: endedAt - startedAt };
    return finding;
  }
}

function holds({ checks }: Pick<LedgerFinding, "checks">): boolean {
  return checks.every(({ differenceMicro }) => differenceMicro === 0n);
}
