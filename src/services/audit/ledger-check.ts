import type { AuditKey } from "../../domain/audit/seal.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import type { Pool } from "../../postgres/pool.ts";
import type { ExplainedCheck } from "../../queries/reconcile/checks.ts";
import { LedgerRecomputation } from "../../queries/reconcile/reconcile.ts";
import { backendOf, cancelStatement } from "../../queries/server.ts";
import { shareReads } from "../read-batch.ts";
import { FULL_EVERY_MS, PASS_RARER, REST_PER_WORK, WHOLE_UP_TO } from "./chain-check.ts";

/** Ledgers with so many entries are recomputed from the first one on by each question: it takes less than half a second. */
const WHOLE_EACH_TIME = 10_000n;

export interface LedgerCheckOptions {
  /** For long reads, each of one moment. */
  checks: Pick<Pool, "snapshot">;
  /** Ends a comparison once the server stops. */
  pool: Pick<Pool, "read">;
  keys: readonly AuditKey[];
  comparedEachTime?: bigint | undefined;
  wholeEachTime?: bigint | undefined;
  /** Whether this process is the one that compares everything regularly; always unless given. */
  isMine?: (() => boolean) | undefined;
}

/** What a reconciliation has found. */
export interface LedgerFinding {
  checks: readonly ExplainedCheck[];
  /** The state that was last compared whole; milliseconds by the database's clock. */
  verifiedAt: number;
  /** The last entry of that state. */
  seq: bigint;
}

/**
 * Knows whether the ledger adds up: recomputes the log, and compares the tables with it. Small ledgers are compared by each
 * question. Of a large one the background recomputes new entries and compares every row all ten minutes, and a question
 * answers with what that found.
 */
export class LedgerCheck {
  readonly #checks: LedgerCheckOptions["checks"];
  readonly #pool: LedgerCheckOptions["pool"];
  readonly #recomputation: LedgerRecomputation;
  readonly #comparedEachTime: bigint;
  readonly #wholeEachTime: bigint;
  /** The last comparison, by this process's monotonic clock. */
  #last: (LedgerFinding & { endedAt: number; tookMs: number }) | undefined;
  /** All questions that come while a comparison is under way share the next one. */
  readonly #compare = shareReads(String, (full: boolean) => this.#compareNow(full));
  /** The sessions in which comparisons run. */
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

  /** What the last comparison of this process found, if the ledger did not add up. */
  get problem(): LedgerFinding | undefined {
    return this.#last && !holds(this.#last) ? this.#last : undefined;
  }

  /** When the whole was last compared by this process. */
  get verifiedAt(): number | undefined {
    return this.#last?.verifiedAt;
  }

  /** @param full recomputes the log from the first entry on and compares everything */
  async reconcile({ full = false }: { full?: boolean } = {}): Promise<LedgerFinding> {
    const last = this.#last;
    if (!full && last && last.seq > this.#comparedEachTime && holds(last)) return last;
    return this.#compare(full);
  }

  /** Compares everything, and finds the places too. */
  async explain(): Promise<readonly ExplainedCheck[]> {
    return (await this.#compare(true)).checks;
  }

  /** As `reconcile`. @returns the checks that do not hold */
  async failing(): Promise<readonly ExplainedCheck[]> {
    return (await this.reconcile()).checks.filter(({ differenceMicro }) => differenceMicro !== 0n);
  }

  /** One round of the background: a comparison when one is due. */
  async round(signal?: AbortSignal): Promise<void> {
    const last = this.#last;
    const everyMs = Math.max(FULL_EVERY_MS, (last?.tookMs ?? 0) * REST_PER_WORK) * (this.#isMine() ? 1 : PASS_RARER);
    // Of what did not add up the end is looked for at once.
    if (!last || !holds(last) || performance.now() - last.endedAt >= everyMs) await this.#compareNow(false, signal);
  }

  /** Ends a comparison that is under way, which may take long, rather than wait for it. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    for (const comparing of this.#comparing)
      await this.#pool.read((sql) => cancelStatement(sql, comparing)).catch(() => {});
  }

  async #compareNow(full: boolean, signal?: AbortSignal): Promise<LedgerFinding> {
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
