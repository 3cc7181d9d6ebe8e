import { Fault } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { withinDeadline } from "../../postgres/client.ts";

const REFRESH_AFTER_MS = 500;
const STALE_AFTER_MS = 1000;
const REFRESH_TIMEOUT_MS = 2000;
/** Often enough that what credentials opened ends within the second. */
const LOOK_EVERY_MS = 400;

/**
 * What a process knows of one kind of the tenant's credentials, never older than a second: what was revoked in one process
 * is refused in all within that time. It is read again when requests ask for it, and by a timer only while something that
 * credentials opened waits to hear of their end.
 */
export abstract class FreshCredentials {
  readonly #watchers = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #refresh: Promise<void> | undefined;
  /** Moves on when what is read has changed under a read that is under way. */
  #generation = 0;

  /** What callers hear while the database cannot be asked. */
  protected abstract readonly away: string;

  /**
   * Asks the database.
   * @returns how to take over what it said, which in turn returns whether credentials have ended
   */
  protected abstract read(): Promise<() => boolean>;

  /**
   * Resolves when what is known is fresh enough to decide by; undefined when it already is. Between half a second and a
   * second of age it refreshes in the background, so that under load no request waits.
   * @throws Fault DATABASE_UNAVAILABLE when it is too old and cannot be renewed: what was revoked must not live on.
   */
  ready(): Promise<void> | undefined {
    const age = monotonicMs() - this.#readAt;
    if (age < REFRESH_AFTER_MS) return undefined;
    this.#refresh ??= this.#start();
    if (age >= STALE_AFTER_MS) return this.#refresh;
    // The next request that finds it too old reports the trouble.
    this.#refresh.catch(() => {});
    return undefined;
  }

  /** After a change by this process: the next request waits for what there is now. */
  forget(): void {
    this.#generation += 1;
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#refresh = undefined;
    if (this.#watchers.size > 0) this.#look();
  }

  /**
   * Calls back soon after any of the credentials ended, whether or not requests come in.
   * @returns how to stop it
   */
  watch(onEnded: () => void): () => void {
    this.#watchers.add(onEnded);
    this.#timer ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
    return () => {
      this.#watchers.delete(onEnded);
      if (this.#watchers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  protected tellEnded(): void {
    for (const onEnded of this.#watchers) onEnded();
  }

  /** While the database is away, only credentials that are known to have ended are treated as ended. */
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
    // What the query returns is as of its start, so the age counts from there.
    const startedAt = monotonicMs();
    let takeOver: () => boolean;
    try {
      // While the database is away the driver holds queries back, for longer than a request should wait.
      takeOver = await withinDeadline(this.read(), REFRESH_TIMEOUT_MS);
    } catch (cause) {
      throw new Fault("DATABASE_UNAVAILABLE", this.away, { cause });
    }
    // It has changed meanwhile: a request that waits here must not be decided by what there was before.
    if (generation !== this.#generation) {
      this.#refresh ??= this.#start();
      return this.#refresh;
    }
    const haveEnded = takeOver();
    this.#readAt = startedAt;
    if (haveEnded) this.tellEnded();
  }
}
