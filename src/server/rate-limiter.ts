import { monotonicMs } from "../domain/time/clock.ts";
import type { Demand, SharedCount } from "../ledger/unchained/request-count.ts";
import { WINDOW_MS } from "../ledger/unchained/request-count.ts";

/** A client's state in its window, as the RateLimit headers report it. */
export interface Standing {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Whole seconds until the window ends, 1 to 60. */
  resetSec: number;
}

/** A bucket's window, as this process last saw it. */
interface Window {
  requests: number;
  /** Those of `requests` that this process counted alone while the shared count was unavailable. */
  alone: number;
  /** End of the window by the monotonic clock. */
  endsAt: number;
  /** When the shared count last answered. */
  countedAt: number;
}

interface Waiting {
  limit: number;
  resolve(standing: Standing): void;
}

interface Pending {
  requests: number;
  /** Those of `requests` that this process has counted alone meanwhile. */
  alone: number;
  waiting: Waiting[];
}

export interface RateLimiterOptions {
  /** Adds to the counts that all processes of the tenant share. */
  count(demands: Demand[]): Promise<SharedCount[]>;
  /** Called once per outage of the shared count. */
  onAway(error: unknown): void;
  /** The shared count is treated as unavailable after this time without an answer; 250 ms by default. */
  answerTimeoutMs?: number | undefined;
}

/** With at least this limit, requests in the first half of a window need not wait for the shared count. */
const GENEROUS_LIMIT = 100_000;
const REPORT_INTERVAL_MS = 20;
const FRESH_MS = 100;
const ANSWER_TIMEOUT_MS = 250;
const RETRY_INTERVAL_MS = 1000;
const KNOWN_BUCKETS = 50_000;
/** `countedAt` of a window that only this process has counted. */
const UNCOUNTED = Number.NEGATIVE_INFINITY;

/**
 * Fixed windows of 60 s, counted together with the other processes of the tenant.
 *
 * Batches form by themselves: while one statement is in flight, the next collects. Each request learns its place in the
 * shared count, so that exactly `limit` pass. A client over its limit costs no statement until its window ends. Under a
 * generous limit a request passes at once and is counted within 20 ms, as long as less than half of the window is used:
 * the other half is more than all processes could serve before the count is known. While the shared count is
 * unavailable, each process counts alone, and its counts stay until the window ends.
 */
export class RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #windows = new Map<string, Window>();
  #pending = new Map<string, Pending>();
  /** The requests of the statement in flight, which the windows do not contain yet. */
  #counting: ReadonlyMap<string, Pending> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When to retry the shared count; undefined while it is available. */
  #retryAt: number | undefined;

  constructor(options: RateLimiterOptions) {
    this.#options = options;
  }

  /** Counts one request. The answer is immediate if the process can know it. */
  take(bucket: string, limit: number): Standing | Promise<Standing> {
    const now = monotonicMs();
    const known = this.#windows.get(bucket);
    const window = known && now < known.endsAt ? known : undefined;
    if (window && window.requests >= limit) return standing(window, limit, window.requests + 1, now);
    if (this.#retryAt !== undefined) return this.#takeLocally(bucket, limit, now);
    const pending = this.#pendingOf(bucket);
    const ahead = pending.requests + (this.#counting?.get(bucket)?.requests ?? 0);
    pending.requests += 1;
    if (window && limit >= GENEROUS_LIMIT && now - window.countedAt < FRESH_MS) {
      const place = window.requests + ahead + 1;
      if (place * 2 <= limit) {
        this.#reportSoon();
        return standing(window, limit, place, now);
      }
    }
    return new Promise((resolve) => {
      pending.waiting.push({ limit, resolve });
      if (!this.#counting) void this.#report();
    });
  }

  /** Drops requests that are not counted yet, since no further requests will come. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#pending.clear();
  }

  #pendingOf(bucket: string): Pending {
    let pending = this.#pending.get(bucket);
    if (!pending) {
      pending = { requests: 0, alone: 0, waiting: [] };
      this.#pending.set(bucket, pending);
    }
    return pending;
  }

  #reportSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (!this.#counting) void this.#report();
    }, REPORT_INTERVAL_MS).unref();
  }

  /** Sends one statement at a time; the next batch fills meanwhile. */
  async #report(): Promise<void> {
    const batch = this.#pending;
    this.#counting = batch;
    this.#pending = new Map();
    const demands = [...batch].map(([bucket, { requests }]) => ({ bucket, requests }));
    const { answerTimeoutMs = ANSWER_TIMEOUT_MS } = this.#options;
    const timeout = setTimeout(() => this.#goAway(batch, new Error("The shared count took too long")), answerTimeoutMs);
    try {
      const counts = await this.#options.count(demands);
      this.#retryAt = undefined;
      const now = monotonicMs();
      for (const count of counts) this.#settle(count, batch.get(count.bucket), now);
    } catch (error) {
      this.#goAway(batch, error);
    } finally {
      clearTimeout(timeout);
      this.#counting = undefined;
    }
    for (const { waiting } of this.#pending.values()) {
      if (waiting.length === 0) continue;
      void this.#report();
      return;
    }
    if (this.#pending.size > 0) this.#reportSoon();
  }

  /** Requests that were answered at once take the first places; waiting requests follow in order of arrival. */
  #settle({ bucket, requests, remainingMs }: SharedCount, pending: Pending | undefined, now: number): void {
    const local = this.#windows.get(bucket);
    // Requests counted only here stay counted, except those that this late answer shows to be in the shared count after all.
    const alone = local && now < local.endsAt ? Math.max(local.alone - (pending?.alone ?? 0), 0) : 0;
    const window = { requests: requests + alone, alone, endsAt: now + remainingMs, countedAt: now };
    this.#remember(bucket, window);
    if (!pending) return;
    let place = window.requests - pending.waiting.length;
    for (const { limit, resolve } of pending.waiting.splice(0)) {
      place += 1;
      resolve(standing(window, limit, place, now));
    }
  }

  /** The shared count does not answer: this process counts all requests alone until it answers again. */
  #goAway(batch: Map<string, Pending>, error: unknown): void {
    const now = monotonicMs();
    if (this.#retryAt === undefined) this.#options.onAway(error);
    this.#retryAt = now + RETRY_INTERVAL_MS;
    for (const pendings of [batch, this.#pending]) {
      for (const [bucket, pending] of pendings)
        for (const { limit, resolve } of pending.waiting.splice(0)) {
          pending.alone += 1;
          resolve(this.#countLocally(bucket, limit, now));
        }
    }
    // These requests are counted here. Reported later, they would count in the wrong window.
    this.#pending.clear();
  }

  #takeLocally(bucket: string, limit: number, now: number): Standing {
    if (!this.#counting && this.#retryAt !== undefined && now >= this.#retryAt) {
      const pending = this.#pendingOf(bucket);
      pending.requests += 1;
      pending.alone += 1;
      void this.#report();
    }
    return this.#countLocally(bucket, limit, now);
  }

  #countLocally(bucket: string, limit: number, now: number): Standing {
    let window = this.#windows.get(bucket);
    if (!window || now >= window.endsAt) {
      window = { requests: 0, alone: 0, endsAt: now + WINDOW_MS, countedAt: UNCOUNTED };
      this.#remember(bucket, window);
    }
    window.requests += 1;
    window.alone += 1;
    return standing(window, limit, window.requests, now);
  }

  /** The map caches the shared counts: dropping the oldest entry costs a statement and changes no answer. */
  #remember(bucket: string, window: Window): void {
    this.#windows.delete(bucket);
    const [oldest] = this.#windows.size >= KNOWN_BUCKETS ? this.#windows.keys() : [];
    if (oldest !== undefined) this.#windows.delete(oldest);
    this.#windows.set(bucket, window);
  }
}

function standing({ endsAt }: Window, limit: number, place: number, now: number): Standing {
  return {
    allowed: place <= limit,
    limit,
    remaining: Math.max(limit - place, 0),
    resetSec: Math.min(Math.max(Math.ceil((endsAt - now) / 1000), 1), 60),
  };
}
