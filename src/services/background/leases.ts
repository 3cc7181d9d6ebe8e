import { claimLeases, type Lease, readLeases, releaseLeases, WORKS, type Work } from "../../ledger/unchained/leases.ts";
import type { Pool } from "../../postgres/pool.ts";
import { type Repeated, repeat } from "./repeat.ts";

export interface LeasesOptions {
  pool: Pick<Pool, "read" | "note">;
  /** Names this process among all that serve the tenant. */
  holder: string;
  /** What this process does when it has the lease. */
  works: readonly Work[];
  /** Called for the first of consecutive failures only: while the database is away every round fails alike. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Who does a work, as far as this process has read. */
export interface LeaseStatus {
  work: Work;
  /** Whether it is this process. */
  held: boolean;
  holder: string | null;
  until: string | null;
}

/** A lease outlives this much of its holder's silence: the time until others take over from one that died. */
const TTL_MS = 4000;
/** A holder renews when less is left, so an idle server writes every second round only. */
const RENEW_BELOW_MS = 2500;
/** How often a server looks. */
const ROUND_MS = 1000;

/**
 * Divides work among the servers of a tenant: each work has one holder, by a row of the database that runs out unless it is
 * renewed. No session holds it, so it holds behind a pooler of transactions too.
 *
 * A lease saves double work and is no lock. This process stops to count itself as holder by its own clock, before the row
 * runs out; but one that is paused in the middle of a piece of work wakes up with that piece under way. So each piece is
 * recorded once, whichever servers do it: closings, ends of overrides and settlements by the engine, observations by their key,
 * attempts of a webhook by their number.
 */
export class Leases {
  readonly #options: LeasesOptions;
  /** Until when this process has each work, by its monotonic clock. */
  readonly #heldUntil = new Map<Work, number>();
  #seen: readonly Lease[] = [];
  #rounds: Repeated | undefined;
  #ended: Promise<void> | undefined;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** Whether this process may do this work now. */
  holds(work: Work): boolean {
    return performance.now() < (this.#heldUntil.get(work) ?? 0);
  }

  status(): LeaseStatus[] {
    return WORKS.map((work) => {
      const lease = this.#seen.find((each) => each.work === work && each.leftMs > 0);
      return {
        work,
        held: this.holds(work),
        holder: lease?.holder ?? null,
        until: lease ? new Date(lease.until).toISOString() : null,
      };
    });
  }

  /** Claims what is free, once at least before this resolves, and goes on until stopped. */
  async start(): Promise<void> {
    const { onError = () => {} } = this.#options;
    this.#rounds = repeat(() => this.round(), { pauseMs: ROUND_MS, onError });
    await this.#rounds.first;
  }

  /** Looks once, and claims or renews what is due. */
  async round(): Promise<void> {
    const { pool, holder, works } = this.#options;
    const seen = await pool.read(readLeases);
    const others = seen.filter((lease) => lease.holder !== holder);
    for (const { work } of others) this.#heldUntil.delete(work);
    const due = works.filter((work) =>
      isDue(
        seen.find((lease) => lease.work === work),
        holder,
      ),
    );
    // Taken before the statement: the row lasts longer than this process counts on it.
    const askedAt = performance.now();
    const claimed = due.length === 0 ? [] : await pool.note((sql) => claimLeases(sql, holder, due, TTL_MS));
    for (const { work } of claimed) this.#heldUntil.set(work, askedAt + TTL_MS);
    this.#seen = [...claimed, ...seen.filter(({ work }) => !claimed.some((lease) => lease.work === work))];
  }

  /** Does no work from now on, and leaves it to others at once. */
  stop(): Promise<void> {
    this.#heldUntil.clear();
    // A round under way may claim once more; what cannot be given up runs out.
    this.#ended ??= Promise.resolve(this.#rounds?.stop()).then(async () => {
      this.#heldUntil.clear();
      await this.#options.pool.note((sql) => releaseLeases(sql, this.#options.holder)).catch(() => undefined);
    });
    return this.#ended;
  }
}

function isDue(lease: Lease | undefined, holder: string): boolean {
  if (!lease || lease.leftMs <= 0 || lease.leftMs > 2 * TTL_MS) return true;
  return lease.holder === holder && lease.leftMs < RENEW_BELOW_MS;
}
