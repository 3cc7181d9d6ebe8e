import { Fault } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { withinDeadline } from "../../postgres/client.ts";

const REFRESH_AFTER_MS = 500;
const STALE_AFTER_MS = 1000;
const REFRESH_TIMEOUT_MS = 2000;
/** Often enough that a stream ends within a second of its credentials. */
const WATCH_INTERVAL_MS = 400;

/**
 * A process's copy of one kind of the tenant's credentials, at most a second old: when one process revokes a credential, all
 * refuse it within that time. Requests renew the copy. A timer renews it only while streams wait for their credentials to end.
 */
export abstract class FreshCredentials {
  readonly #watchers = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #refresh: Promise<void> | undefined;
  /** Rises when this process changes the credentials, so that a read in progress is known to be outdated. */
  #generation = 0;

  /** The error message while the database is unavailable. */
  protected abstract readonly unavailable: string;

  /**
   * Reads the credentials from the database.
   * @returns a function that applies the result and returns whether credentials have ended
   */
  protected abstract read(): Promise<() => boolean>;

  /**
   * Resolves when the copy is fresh enough for a decision; undefined if it already is. At an age of half a second to a second
   * the copy is renewed in the background, so that under load no request waits.
   * @throws Fault DATABASE_UNAVAILABLE if the copy is too old and cannot be renewed: a revoked credential must not stay valid.
   */
  ready(): Promise<void> | undefined {
    const age = monotonicMs() - this.#readAt;
    if (age < REFRESH_AFTER_MS) return undefined;
    this.#refresh ??= this.#start();
    if (age >= STALE_AFTER_MS) return this.#refresh;
    // The next request that finds the copy too old reports the failure.
    this.#refresh.catch(() => {});
    return undefined;
  }

  /** Called after a change by this process: the next request waits for a new read. */
  forget(): void {
    this.#generation += 1;
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#refresh = undefined;
    if (this.#watchers.size > 0) this.#look();
  }

  /**
   * Calls back soon after any of the credentials ended, with or without requests.
   * @returns a function that stops the calls
   */
  watch(onEnded: () => void): () => void {
    this.#watchers.add(onEnded);
    this.#timer ??= setInterval(() => this.#look(), WATCH_INTERVAL_MS).unref();
    return () => {
      this.#watchers.delete(onEnded);
      if (this.#watchers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  protected notifyEnded(): void {
    for (const onEnded of this.#watchers) onEnded();
  }

  /** While the database is unavailable, only credentials that are known to have ended are treated as ended. */
  #look(): void {
    this.ready()?.catch(() => {});
  }

  #start(): Promise<void> {
    const generation = this.#generation;
    return this.#renew(generation).finally(() => {
      if (generation === this.#generation) this.#refresh = undefined;
    });
  }

  async #renew(generation: number): Promise<void> {
    // The query returns the state at its start, so the age counts from there.
    const startedAt = monotonicMs();
    let apply: () => boolean;
    try {
      // While the database is unavailable the driver holds queries back, for longer than a request should wait.
      apply = await withinDeadline(this.read(), REFRESH_TIMEOUT_MS);
    } catch (cause) {
      throw new Fault("DATABASE_UNAVAILABLE", this.unavailable, { cause });
    }
    // The credentials have changed meanwhile: a waiting request must not be decided by the old ones.
    if (generation !== this.#generation) {
      this.#refresh ??= this.#start();
      return this.#refresh;
    }
    const haveEnded = apply();
    this.#readAt = startedAt;
    if (haveEnded) this.notifyEnded();
  }
}
