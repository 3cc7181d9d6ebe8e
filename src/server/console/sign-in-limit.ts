import { Fault } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { bucketOf, countRequests, readCount, WINDOW_MS } from "../../ledger/unchained/request-count.ts";
import { withinDeadline } from "../../postgres/client.ts";
import type { Pool } from "../../postgres/pool.ts";

export const MOST_REFUSED_SIGN_INS = 5;
const KNOWN_ADDRESSES = 10_000;
const TIMEOUT_MS = 2_000;

/**
 * Limits guesses of keys: after five refused sign-ins of an address within a minute it must wait, with any key. This
 * process counts exactly. The count that all servers of the tenant share is in fixed minutes, and survives a restart.
 */
export class SignInLimit {
  readonly #pool: Pick<Pool, "read" | "note">;
  /** When the last refused sign-ins of each address were, oldest first. */
  readonly #refused = new Map<string, number[]>();

  constructor(pool: Pick<Pool, "read" | "note">) {
    this.#pool = pool;
  }

  /** The part that asks the database. @throws Fault RATE_LIMITED */
  async requireShared(address: string): Promise<void> {
    const shared = await withinDeadline(
      this.#pool.read((sql) => readCount(sql, bucketOf("console", address))),
      TIMEOUT_MS,
    );
    if (shared && shared.requests >= MOST_REFUSED_SIGN_INS) throw limited(shared.remainingMs);
  }

  /** Nothing may be awaited between this call and `refused`, or parallel guesses would pass. @throws Fault RATE_LIMITED */
  require(address: string): void {
    const [oldest] = this.#recent(address).slice(-MOST_REFUSED_SIGN_INS);
    if (oldest !== undefined && this.#recent(address).length >= MOST_REFUSED_SIGN_INS)
      throw limited(oldest + WINDOW_MS - monotonicMs());
  }

  /** Counts a refused sign-in: here at once, and in the shared count before this resolves. */
  async refused(address: string): Promise<void> {
    const times = [...this.#recent(address), monotonicMs()];
    this.#refused.delete(address);
    const [longestAgo] = this.#refused.size >= KNOWN_ADDRESSES ? this.#refused.keys() : [];
    if (longestAgo !== undefined) this.#refused.delete(longestAgo);
    this.#refused.set(address, times);
    const demand = { bucket: bucketOf("console", address), requests: 1 };
    await withinDeadline(
      this.#pool.note((sql) => countRequests(sql, [demand])),
      TIMEOUT_MS,
      // This process counts in any case.
    ).catch(() => {});
  }

  #recent(address: string): number[] {
    const since = monotonicMs() - WINDOW_MS;
    return (this.#refused.get(address) ?? []).filter((time) => time > since);
  }
}

function limited(waitMs: number): Fault {
  const retryAfterSec = Math.max(1, Math.ceil(waitMs / 1000));
  return new Fault("RATE_LIMITED", "Too many refused sign-ins", { retryAfterSec });
}
