import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import { Semaphore } from "../../postgres/semaphore.ts";

/** What a tenant is opened for. */
export type Purpose = "request" | "due" | "retry";

/** How long an opening takes at most until the tenant counts as failed and others get its turn; its database may hang. */
const OPENING_MS = 9 * SECOND_MS;

/**
 * Openings run a few at a time in a process, by what they are for: a crowd of cold requests neither delays work that is due
 * nor is delayed by tenants that failed and are tried again.
 */
export class OpeningTurns {
  readonly #places: Record<Purpose, Semaphore> = {
    request: new Semaphore(4),
    due: new Semaphore(2),
    retry: new Semaphore(1),
  };

  /** Openings whose turn comes later. */
  get waiting(): number {
    return Object.values(this.#places).reduce((sum, { waiting }) => sum + waiting, 0);
  }

  get running(): number {
    return Object.values(this.#places).reduce((sum, { taken }) => sum + taken, 0);
  }

  /** Opens a tenant in its turn. After the deadline others have the turn although the opening goes on. */
  async run<Value>(turn: Turn, open: () => Promise<Value>): Promise<Value> {
    const { places, place } = await turn.take(this.#places);
    const opened = open();
    void inTime(opened, OPENING_MS)
      .catch(() => undefined)
      .then(() => places.give(place));
    return opened;
  }
}

/** One opening among the others. */
export class Turn {
  #purpose: Purpose;
  #moved = new AbortController();
  #hasLeft = false;
  /** When it came, by the monotonic clock. */
  #since: number | undefined;

  constructor(purpose: Purpose) {
    this.#purpose = purpose;
  }

  get isWaiting(): boolean {
    return this.#since === undefined;
  }

  /** Whether the opening takes longer than it may. */
  get isLate(): boolean {
    return this.#since !== undefined && monotonicMs() - this.#since >= OPENING_MS;
  }

  /** Waits from now on among those of another purpose. What is due stays so. */
  moveTo(purpose: Purpose): void {
    if (this.#purpose === purpose || this.#purpose === "due") return;
    this.#purpose = purpose;
    this.#move();
  }

  /** Gives up the turn, unless it has come. */
  leave(): void {
    this.#hasLeft = true;
    this.#move();
  }

  async take(all: Record<Purpose, Semaphore>): Promise<{ places: Semaphore; place: number }> {
    while (!this.#hasLeft) {
      const places = all[this.#purpose];
      const place = await places.take(this.#moved.signal).catch(() => undefined);
      if (place === undefined) continue;
      this.#since = monotonicMs();
      return { places, place };
    }
    throw new Fault("DATABASE_UNAVAILABLE", "The tenant is being closed");
  }

  #move(): void {
    this.#moved.abort();
    this.#moved = new AbortController();
  }
}

/** Undefined where the work takes longer. */
export async function inTime<Value>(work: Promise<Value>, ms: number): Promise<Value | undefined> {
  const waiting = new AbortController();
  const late = delay(ms, undefined, { signal: waiting.signal }).catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    waiting.abort();
  }
}
