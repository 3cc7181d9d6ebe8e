import { setTimeout as delay } from "node:timers/promises";
import { Fault } from "../../domain/fault.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import { Semaphore } from "../../postgres/semaphore.ts";

/** The reason for opening a tenant. */
export type Purpose = "request" | "due" | "retry";

/** The longest turn of an opening, such as with a hanging database; then it counts as failed and the next begins. */
const OPENING_MS = 9 * SECOND_MS;

/**
 * Runs a few openings at a time in a process, by their purpose: many cold requests do not delay due work, and failed
 * tenants that are tried again do not delay the requests.
 */
export class OpeningTurns {
  readonly #places: Record<Purpose, Semaphore> = {
    request: new Semaphore(4),
    due: new Semaphore(2),
    retry: new Semaphore(1),
  };

  /** How many openings wait for their turn. */
  get waiting(): number {
    return Object.values(this.#places).reduce((sum, { waiting }) => sum + waiting, 0);
  }

  get running(): number {
    return Object.values(this.#places).reduce((sum, { taken }) => sum + taken, 0);
  }

  /** Opens a tenant in its turn. After the deadline others get the turn, although the opening goes on. */
  async run<Value>(turn: Turn, open: () => Promise<Value>): Promise<Value> {
    const { places, place } = await turn.take(this.#places);
    const opened = open();
    void inTime(opened, OPENING_MS)
      .catch(() => undefined)
      .then(() => places.give(place));
    return opened;
  }
}

export class Turn {
  #purpose: Purpose;
  #moved = new AbortController();
  #hasLeft = false;
  /** The start of the turn on the monotonic clock. */
  #since: number | undefined;

  constructor(purpose: Purpose) {
    this.#purpose = purpose;
  }

  get isWaiting(): boolean {
    return this.#since === undefined;
  }

  /** Whether the opening has passed its deadline. */
  get isLate(): boolean {
    return this.#since !== undefined && monotonicMs() - this.#since >= OPENING_MS;
  }

  /** Waits among the openings of another purpose from now on. Due work keeps its purpose. */
  moveTo(purpose: Purpose): void {
    if (this.#purpose === purpose || this.#purpose === "due") return;
    this.#purpose = purpose;
    this.#move();
  }

  /** Gives up a turn that has not begun. */
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

/** Undefined when the work takes longer. */
export async function inTime<Value>(work: Promise<Value>, ms: number): Promise<Value | undefined> {
  const waiting = new AbortController();
  const late = delay(ms, undefined, { signal: waiting.signal }).catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    waiting.abort();
  }
}
