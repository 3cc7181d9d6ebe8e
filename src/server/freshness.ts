import { Fault } from "../domain/fault.ts";
import { withinDeadline } from "../postgres/client.ts";
import { monotonicMs } from "./clock.ts";

const REFRESH_AFTER_MS = 500;
const STALE_AFTER_MS = 1000;
const REFRESH_TIMEOUT_MS = 2000;

/**
 * Keeps what a process knows of the database younger than a second: what was revoked in one process is refused in all
 * within that time. It is read again when requests ask for it, and by no timer.
 */
export class Freshness {
  readonly #read: () => Promise<() => void>;
  readonly #away: string;
  #readAt = Number.NEGATIVE_INFINITY;
  #refresh: Promise<void> | undefined;
  /** Moves on when what is read has changed under a read that is under way. */
  #generation = 0;

  /**
   * @param read asks the database, and returns how to take over what it said
   * @param away what callers hear while it cannot be asked
   */
  constructor(read: () => Promise<() => void>, away: string) {
    this.#read = read;
    this.#away = away;
  }

  /**
   * Resolves when what is known is fresh enough to decide by; undefined when it already is. Between half a second and a
   * second of age it refreshes in the background, so that under load nobody waits.
   * @throws Fault DATABASE_UNAVAILABLE when it is too old and cannot be renewed: what was revoked must not live on.
   */
  ready(): Promise<void> | undefined {
    const age = monotonicMs() - this.#readAt;
    if (age < REFRESH_AFTER_MS) return undefined;
    this.#refresh ??= this.#start();
    if (age >= STALE_AFTER_MS) return this.#refresh;
    // Nobody waits for this one; the next request that finds it too old reports the trouble.
    this.#refresh.catch(() => {});
    return undefined;
  }

  /** After a change by this process: the next request waits for what there is now. */
  forget(): void {
    this.#generation += 1;
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#refresh = undefined;
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
    let takeOver: () => void;
    try {
      // While the database is away the driver holds queries back; nobody should wait that long.
      takeOver = await withinDeadline(this.#read(), REFRESH_TIMEOUT_MS);
    } catch (cause) {
      throw new Fault("DATABASE_UNAVAILABLE", this.#away, { cause });
    }
    // It has changed meanwhile: whoever waits here must not decide by what there was before.
    if (generation !== this.#generation) {
      this.#refresh ??= this.#start();
      return this.#refresh;
    }
    takeOver();
    this.#readAt = startedAt;
  }
}
