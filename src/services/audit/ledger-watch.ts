import { setTimeout as delay } from "node:timers/promises";
import {
  isSealedCheckpoint,
  type LedgerCheckpoint,
  type LedgerMark,
  type SealedCheckpoint,
  sealCheckpoint,
} from "../../domain/audit/ledger-checkpoint.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { invariant } from "../../domain/fault.ts";
import { type CheckpointReading, readCheckpoint, storeCheckpoint } from "../../ledger/unchained/ledger-checkpoint.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import type { Pool } from "../../postgres/pool.ts";
import {
  type Check,
  type ExplainedCheck,
  explainLedger,
  NOTHING_OFF,
  reconcileLedger,
} from "../../queries/reconcile/reconcile.ts";
import { reconcileSince } from "../../queries/reconcile/reconcile-since.ts";
import { cancelStatement } from "../../queries/server.ts";
import { batchReads } from "../read-batch.ts";

/** Ledgers with so many entries are compared whole by each question: it takes less than half a second. */
const WHOLE_UP_TO = 100_000n;
/** After so many new entries the checkpoint moves up, so that questions read few. */
const ADVANCE_AFTER = 10_000n;
/** The background looks at this pace whether something is due. */
const LOOK_MS = 5000;
/** After this long everything is compared again, in the background. */
const FULL_EVERY_MS = 10 * 60_000;
/** While another server compares everything, this one does so as many times as seldom. */
const RARER = 6;
/** The background rests nine times as long as its work took, so it takes a tenth of one core. */
const REST_PER_WORK = 9;

const LEDGER = "ledger";

export interface LedgerWatchOptions {
  tenantId: string;
  /** For long reads, each of one moment. */
  checks: Pick<Pool, "snapshot">;
  /** Stores the checkpoint, and ends a comparison once the server stops. */
  pool: Pick<Pool, "read" | "note">;
  /** The current audit key first. */
  keys: readonly [AuditKey, ...AuditKey[]];
  wholeUpTo?: bigint | undefined;
  advanceAfter?: bigint | undefined;
  /** Called for a stored checkpoint that no listed audit key sealed: once for each. */
  onForged?: (() => void) | undefined;
  /** Called when a checkpoint could not be read or stored, which makes later questions slower and no answer wrong. */
  onError?: ((error: unknown) => void) | undefined;
  /** Waits, or returns early when the signal aborts. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** What a reconciliation has found. */
export interface LedgerFinding<C extends Check = Check> {
  checks: readonly C[];
  /** The state that was last compared whole, from the first row on; milliseconds by the database's clock. */
  verifiedAt: number;
}

export interface LedgerWatchEvents {
  /** Called when a comparison of the background finds that the ledger does not add up, once until it does again. */
  onProblem: (found: LedgerFinding) => void;
  /** Called for the first of consecutive failures only. */
  onError: (error: unknown) => void;
  /** Whether this process is the one that compares everything regularly; always unless given. */
  isMine?: (() => boolean) | undefined;
}

/**
 * Knows whether the ledger adds up. Small ledgers are compared whole by each question. Of a large one the background
 * compares the whole every ten minutes and seals what it came to; a question then compares the rows since, and all
 * balances. What such a question finds wrong, and everything where no seal holds, is compared whole at once.
 */
export class LedgerWatch {
  readonly #options: LedgerWatchOptions;
  readonly #wholeUpTo: bigint;
  readonly #advanceAfter: bigint;
  readonly #sleep: NonNullable<LedgerWatchOptions["sleep"]>;
  // All questions that come while a comparison is under way share the next one.
  readonly #recent = batchReads(async () => new Map([[LEDGER, await this.#compareRecent()]]));
  readonly #whole = batchReads(async () => new Map([[LEDGER, await this.#compareAll(reconcileLedger)]]));
  readonly #explained = batchReads(async () => new Map([[LEDGER, await this.#compareAll(explainLedger)]]));
  /** The last full comparison of this process, by its monotonic clock. */
  #full: (LedgerFinding & { startedAt: number; tookMs: number }) | undefined;
  /** The last forged checkpoint that was told of. */
  #forged: string | undefined;
  /** Of another process's comparison, as far as this one has read of it. */
  #storedAt: number | undefined;
  /** The sessions in which everything is being compared. */
  readonly #comparing = new Set<number>();
  #isMine: () => boolean = () => true;
  #running: { abort: AbortController; ended: Promise<unknown> } | undefined;

  constructor(options: LedgerWatchOptions) {
    this.#options = options;
    this.#wholeUpTo = options.wholeUpTo ?? WHOLE_UP_TO;
    this.#advanceAfter = options.advanceAfter ?? ADVANCE_AFTER;
    this.#sleep = options.sleep ?? rest;
  }

  /** What the last full comparison of this process found, if the ledger did not add up. */
  get problem(): LedgerFinding | undefined {
    return this.#full && !holds(this.#full) ? this.#full : undefined;
  }

  /** When the whole was last compared, as far as this process knows. */
  get verifiedAt(): number | undefined {
    return latest(this.#full?.verifiedAt, this.#storedAt);
  }

  /** @param full compares everything, whatever is sealed */
  async reconcile({ full = false }: { full?: boolean } = {}): Promise<LedgerFinding> {
    const found = (full ? undefined : await this.#recent(LEDGER)) ?? (await this.#whole(LEDGER));
    invariant(found, "a comparison that ended has found something or nothing");
    return found;
  }

  /** Compares everything, and finds the places too. */
  async explain(): Promise<readonly ExplainedCheck[]> {
    const found = await this.#explained(LEDGER);
    invariant(found, "an explanation that ended has found something or nothing");
    return found.checks;
  }

  /** Compares as `reconcile` does, and finds the places of what is off. @returns the checks that do not hold */
  async failing(): Promise<readonly ExplainedCheck[]> {
    if (await this.#recent(LEDGER)) return [];
    return (await this.explain()).filter(({ differenceMicro }) => differenceMicro !== 0n);
  }

  /** One round of the background: a full comparison when one is due, or one of many new entries. */
  async round(): Promise<void> {
    const { isDue, isFar } = await this.#options.checks.snapshot(async (sql) => {
      const reading = await readCheckpoint(sql, this.#options.onError);
      const usable = this.#usable(reading);
      return { isDue: this.#isDue(reading, usable), isFar: usable !== undefined && this.#isFar(reading, usable) };
    });
    if (isDue || isFar) await this.reconcile({ full: isDue });
  }

  /** Compares in the background until stopped. */
  start({ onProblem, onError, isMine }: LedgerWatchEvents): void {
    this.#isMine = isMine ?? this.#isMine;
    const abort = new AbortController();
    const { signal } = abort;
    const repeat = async () => {
      let failing = false;
      let told = false;
      let pauseMs = LOOK_MS;
      for (;;) {
        await this.#sleep(pauseMs, signal);
        if (signal.aborted) return;
        const startedAt = performance.now();
        try {
          await this.round();
          failing = false;
          if (this.problem && !told) onProblem(this.problem);
          told = this.problem !== undefined;
        } catch (error) {
          if (!failing && !signal.aborted) onError(error);
          failing = true;
        }
        pauseMs = Math.max(LOOK_MS, (performance.now() - startedAt) * REST_PER_WORK);
      }
    };
    this.#running = { abort, ended: repeat() };
  }

  /** Ends a comparison that is under way, which may take long, rather than wait for it. */
  async stop(): Promise<void> {
    this.#running?.abort.abort();
    for (const comparing of this.#running ? this.#comparing : [])
      await this.#options.pool.read((sql) => cancelStatement(sql, comparing)).catch(() => {});
    await this.#running?.ended;
  }

  /**
   * Rows since the checkpoint and all balances. Undefined where no checkpoint speaks for the rest, or these do not agree.
   * The checkpoint moves up when many entries followed it, so that the next question reads few.
   */
  async #compareRecent(): Promise<LedgerFinding | undefined> {
    const found = await this.#options.checks.snapshot(async (sql) => {
      const reading = await readCheckpoint(sql, this.#options.onError);
      const usable = reading.head.seq > this.#wholeUpTo ? this.#usable(reading) : undefined;
      if (!usable || !(await this.#agrees(sql, usable))) return undefined;
      const moved = this.#isFar(reading, usable) ? await reconcileSince(sql, reading.head) : undefined;
      return { reading, usable, digest: moved?.digest };
    });
    if (!found) return undefined;
    const { reading, usable, digest } = found;
    if (digest !== undefined) await this.#store({ ...usable, ...reading.head, digest }, reading);
    return { checks: NOTHING_OFF, verifiedAt: usable.verifiedAt };
  }

  #isFar({ head }: CheckpointReading, usable: LedgerCheckpoint): boolean {
    return head.seq - usable.seq >= this.#advanceAfter;
  }

  async #agrees(sql: ReadSql, stored: LedgerCheckpoint): Promise<boolean> {
    const { agrees, digest } = await reconcileSince(sql, stored);
    return agrees && digest === stored.digest;
  }

  /** Everything, from the first row on. A large ledger's checkpoint says what came of it, to all processes. */
  async #compareAll<C extends Check>(compare: (sql: ReadSql) => Promise<C[]>): Promise<LedgerFinding<C>> {
    const startedAt = performance.now();
    const { reading, checks, digest } = await this.#options.checks.snapshot(async (sql) => {
      const reading = await readCheckpoint(sql, this.#options.onError);
      this.#running?.abort.signal.throwIfAborted();
      this.#comparing.add(reading.backend);
      const checks = await compare(sql).finally(() => this.#comparing.delete(reading.backend));
      const isKept = reading.head.seq > this.#wholeUpTo && holds({ checks });
      return { reading, checks, digest: isKept ? (await reconcileSince(sql, reading.head)).digest : "" };
    });
    const found = { checks, verifiedAt: reading.readAt };
    // An explanation may run beside another comparison: what began later knows more.
    if (startedAt >= (this.#full?.startedAt ?? 0))
      this.#full = { ...found, startedAt, tookMs: performance.now() - startedAt };
    if (reading.head.seq > this.#wholeUpTo)
      await this.#store({ ...reading.head, verifiedAt: reading.readAt, ok: holds(found), digest }, reading);
    return found;
  }

  /** The stored checkpoint, if an answer may rest on it. */
  #usable({ stored, isOfThisLog, isRefuted }: CheckpointReading): LedgerCheckpoint | undefined {
    if (!stored || !this.#isGenuine(stored)) return undefined;
    this.#storedAt = stored.verifiedAt;
    // What this process has found itself is not undone by an older checkpoint, which anybody can put back.
    const isOutvoted = this.problem !== undefined && stored.verifiedAt <= this.problem.verifiedAt;
    return stored.ok && isOfThisLog && !isRefuted && !isOutvoted ? stored : undefined;
  }

  #isGenuine(stored: SealedCheckpoint): boolean {
    const { tenantId, keys, onForged } = this.#options;
    if (isSealedCheckpoint(tenantId, stored, keys)) return true;
    if (this.#forged !== stored.mac) onForged?.();
    this.#forged = stored.mac;
    return false;
  }

  #isDue({ head, readAt }: CheckpointReading, usable: LedgerCheckpoint | undefined): boolean {
    const isLarge = head.seq > this.#wholeUpTo;
    // Of what did not add up the end is looked for at once.
    if (this.problem || (isLarge && !usable)) return true;
    const verifiedAt = latest(this.#full?.verifiedAt, isLarge ? usable?.verifiedAt : undefined);
    const everyMs = Math.max(FULL_EVERY_MS, (this.#full?.tookMs ?? 0) * REST_PER_WORK);
    return verifiedAt === undefined || readAt - verifiedAt >= everyMs * (this.#isMine() ? 1 : RARER);
  }

  async #store(checkpoint: LedgerCheckpoint & LedgerMark, { stored }: CheckpointReading): Promise<void> {
    const { tenantId, keys, pool, onError } = this.#options;
    const { verifiedAt, ok, seq, hash, ts, digest } = checkpoint;
    const sealed = sealCheckpoint(tenantId, { verifiedAt, ok, seq, hash, ts, digest }, keys[0]);
    await pool
      .note((sql) => storeCheckpoint(sql, sealed, stored?.mac ?? ""))
      .catch((error: unknown) => onError?.(error));
  }
}

function holds({ checks }: Pick<LedgerFinding, "checks">): boolean {
  return checks.every(({ differenceMicro }) => differenceMicro === 0n);
}

function latest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Ends early, and without an error, when the signal aborts. Does not keep the process alive. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
