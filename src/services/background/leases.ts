import { claimLeases, type Lease, readLeases, releaseLeases, WORKS, type Work } from "../../ledger/unchained/leases.ts";
import type { Pool } from "../../postgres/pool.ts";
import { type Repeated, repeat } from "./repeat.ts";

export interface LeasesOptions {
  pool: Pick<Pool, "read" | "note">;
  /** Identifies this process among all that serve the tenant. */
  holder: string;
  /** The work that this process does while it has the lease. */
  works: readonly Work[];
  /** Called for the first of consecutive failures only: while the database is away every time fails alike. */
  onError?: ((error: unknown) => void) | undefined;
}

/** Who holds a lease, as this process last read. */
export interface LeaseStatus {
  work: Work;
  /** Whether this process holds it. */
  held: boolean;
  holder: string | null;
  until: string | null;
}

/** How long a lease survives its holder's silence: the time until another process takes over from a dead one. */
const TTL_MS = 4000;
/** A holder renews when less time is left, so an idle server writes only every second round. */
const RENEW_BELOW_MS = 2500;
/** The interval between rounds. */
const ROUND_MS = 1000;

/**
 * Divides work among the servers of a tenant. Each work has one holder, named in a database row that expires unless
 * renewed. No session holds the lease, so it also works behind a transaction pooler.
 *
 * A lease avoids double work and is not a lock. A process stops counting itself as holder by its own clock before the
 * row expires. But a process that was paused in the middle of its work may resume after expiry. So the effects are
 * recorded only once, whichever servers do the work: the engine records closings, ends of overrides and settlements
 * once, observations have a key, and webhook attempts have a number.
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

  /** Claims free leases, at least once before this resolves, and continues until stopped. */
  async start(): Promise<void> {
    const { onError = () => {} } = this.#options;
    this.#rounds = repeat(() => this.round(), { pauseMs: ROUND_MS, onError });
    await this.#rounds.first;
  }

  /** Reads the leases once, and claims or renews what is due. */
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
    // Taken before the statement, so that the row outlasts this process's own deadline.
    const askedAt = performance.now();
    const claimed = due.length === 0 ? [] : await pool.note((sql) => claimLeases(sql, holder, due, TTL_MS));
    for (const { work } of claimed) this.#heldUntil.set(work, askedAt + TTL_MS);
    this.#seen = [...claimed, ...seen.filter(({ work }) => !claimed.some((lease) => lease.work === work))];
  }

  /** Stops all work and releases its leases at once. */
  stop(): Promise<void> {
    this.#heldUntil.clear();
    // A running round may claim once more; leases that cannot be released expire.
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
