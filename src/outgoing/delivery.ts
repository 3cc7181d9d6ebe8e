import { createHash } from "node:crypto";
import type { OutgoingRules } from "../domain/access/networks.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import { DAY_MS } from "../domain/time/units.ts";
import { forgetDeliveries, oldestPending, registerReceiver } from "../ledger/unchained/webhook-queue.ts";
import { readClock } from "../postgres/database-time.ts";
import type { Pool } from "../postgres/pool.ts";
import type { AuditTail } from "../services/audit/audit-tail.ts";
import { type Repeated, repeat, sleepUntilAborted } from "../services/background/repeat.ts";
import { OutgoingHttp } from "./guarded-fetch.ts";
import { type DeliveryResult, type QueueContext, type Receiver, ReceiverQueue } from "./receiver-queue.ts";

export interface DeliveryOptions {
  /** Separate connections: a failing receiver must not delay the reads of requests. */
  pool: Pool;
  isSealed: IsSealed;
  receivers: readonly Receiver[];
  /** The addresses that receivers may use. */
  network?: OutgoingRules | undefined;
  /** Wakes the worker after each commit; without it the worker polls every second. */
  tail?: Pick<AuditTail, "follow">;
  /** Milliseconds since the epoch; by default the database's clock. */
  clock?: () => Promise<number>;
  /** From 0 to 1. */
  random?: () => number;
  timeoutMs?: number;
  anchorOf?: QueueContext["anchorOf"];
  /** Whether this process delivers now; always by default. A waiting process still registers its receivers. */
  isMine?: () => boolean;
  onResult?: (receiver: string, result: DeliveryResult) => void;
  /** Called for the first of consecutive failures: while the database is away every round fails alike. */
  onError?: (error: unknown) => void;
}

/** A receiver's queue, and its rounds once the worker has started. */
interface Line {
  receiver: Receiver;
  queue: ReceiverQueue;
  registered: boolean;
  rounds?: Repeated;
}

/** A receiver has this long to answer. */
const TIMEOUT_MS = 10_000;
const POLL_MS = 1000;
const HOUSEKEEPING_MS = 5000;
/** How long attempts may continue after the worker was stopped. */
const GRACE_MS = 2000;
const KEEP_DELIVERED_MS = 7 * DAY_MS;
/** Longer than all retries of a delivery. */
const KEEP_MS = 30 * DAY_MS;
const FORGET_LIMIT = 1000;

/**
 * Sends events to receivers. The audit log is the outbox: after a crash, the next process finds committed events there.
 * Any number of processes may run a worker for the same tenant; one of them makes each attempt.
 */
export class DeliveryWorker {
  readonly #options: DeliveryOptions;
  readonly #outgoing: OutgoingHttp;
  readonly #clock: () => Promise<number>;
  readonly #lines: readonly Line[];
  #oldest: ReadonlyMap<string, number> = new Map();
  #housekeeping: Repeated | undefined;
  /** Undefined until the log is followed, and again after a failure. */
  #following: Promise<{ stop: () => void }> | undefined;
  #stopped = false;
  #failing = false;

  constructor(options: DeliveryOptions) {
    const {
      pool,
      isSealed,
      receivers,
      random = Math.random,
      timeoutMs = TIMEOUT_MS,
      anchorOf,
      onResult = () => {},
    } = options;
    this.#options = options;
    this.#outgoing = new OutgoingHttp(options.network);
    this.#clock = options.clock ?? (() => pool.read(readClock));
    const context = {
      pool,
      isSealed,
      outgoing: this.#outgoing,
      clock: this.#clock,
      random,
      timeoutMs,
      anchorOf,
      onResult,
    };
    this.#lines = receivers.map((receiver) => ({
      receiver,
      queue: new ReceiverQueue(receiver, context),
      registered: false,
    }));
  }

  /** Works until stopped. Once this resolves, receivers get every event from then on. */
  async start(): Promise<void> {
    if (this.#lines.length === 0) {
      // Deliveries of receivers that are no longer in the tenant file are still deleted.
      await this.#attempt(() => this.#tidy());
      return;
    }
    await Promise.all(this.#lines.map((line) => this.#attempt(() => this.#register(line))));
    await this.#attempt(() => this.#follow());
    const onError = (error: unknown) => this.#report(error);
    for (const line of this.#lines)
      line.rounds = repeat((signal) => this.#round(line, signal), { pauseMs: POLL_MS, onError });
    this.#housekeeping = repeat(() => this.#tidy(), { pauseMs: HOUSEKEEPING_MS, onError });
  }

  /** Makes all due deliveries, for callers that choose the time. */
  async tick(): Promise<void> {
    await Promise.all(
      this.#lines.map(async (line) => {
        await this.#register(line);
        for (let more = true; more; ) {
          more = await line.queue.round(() => {});
          await line.queue.idle();
        }
      }),
    );
    await this.#tidy();
  }

  /**
   * When each receiver's oldest undelivered event was created, milliseconds since the epoch; refreshed every few
   * seconds.
   */
  get oldest(): ReadonlyMap<string, number> {
    return this.#oldest;
  }

  /** Waits briefly for attempts in progress, then aborts them: they count as failed and are repeated. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#following?.then(({ stop }) => stop()).catch(() => undefined);
    const loops = [this.#housekeeping, ...this.#lines.map(({ rounds }) => rounds)];
    const ended = Promise.all(loops.map((loop) => loop?.stop())).then(() =>
      Promise.all(this.#lines.map(({ queue }) => queue.idle())),
    );
    const grace = new AbortController();
    await Promise.race([ended, sleepUntilAborted(GRACE_MS, grace.signal)]);
    grace.abort();
    await this.#outgoing.close();
    await ended;
  }

  async #round(line: Line, signal: AbortSignal): Promise<void> {
    // The first failure is reported at the start; until one attempt succeeds, rounds run by polling.
    this.#follow().catch(() => undefined);
    await this.#register(line);
    for (let more = true; more && !signal.aborted && this.#isMine(); )
      more = await line.queue.round((error) => {
        if (error !== undefined) this.#report(error);
        line.rounds?.wake();
      });
    this.#failing = false;
  }

  async #tidy(): Promise<void> {
    const { pool } = this.#options;
    const names = this.#lines.map(({ receiver }) => receiver.name);
    this.#oldest = await pool.read((sql) => oldestPending(sql, names));
    if (!this.#isMine()) return;
    const now = await this.#clock();
    const [deliveredBefore, anyBefore] = [now - KEEP_DELIVERED_MS, now - KEEP_MS];
    // A limited number at a time, repeated as needed: otherwise a busy tenant's rows would grow for ever.
    for (let forgotten = FORGET_LIMIT; forgotten === FORGET_LIMIT && !this.#stopped; )
      forgotten = await pool.write((sql) =>
        forgetDeliveries(sql, { receivers: names, deliveredBefore, anyBefore, limit: FORGET_LIMIT }),
      );
  }

  async #register(line: Line): Promise<void> {
    if (line.registered) return;
    const { name, url, events } = line.receiver;
    const fingerprint = createHash("sha256")
      .update(JSON.stringify([url, events.toSorted()]))
      .digest("hex");
    await this.#options.pool.write((sql) => registerReceiver(sql, name, fingerprint));
    line.registered = true;
  }

  /** Retried each round until it succeeds. */
  async #follow(): Promise<void> {
    this.#following ??= this.#options.tail?.follow(() => this.#wakeAll());
    try {
      await this.#following;
    } catch (error) {
      this.#following = undefined;
      throw error;
    }
  }

  #isMine(): boolean {
    return this.#options.isMine?.() ?? true;
  }

  #wakeAll(): void {
    for (const { rounds } of this.#lines) rounds?.wake();
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      this.#failing = false;
      return result;
    } catch (error) {
      this.#report(error);
      return undefined;
    }
  }

  #report(error: unknown): void {
    if (!this.#failing) this.#options.onError?.(error);
    this.#failing = true;
  }
}
