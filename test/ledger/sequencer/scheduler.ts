import { setImmediate as turn } from "node:timers/promises";
import type { Random } from "./random.ts";

interface Event {
  at: number;
  order: number;
  run: () => void;
}

/**
 * Time and order of a simulation. Nothing waits for a real clock: the next event is the earliest one, and everything
 * that it sets off in promises has run before the one after it.
 */
export class Scheduler {
  readonly random: Random;
  /** Milliseconds since the simulation began. */
  now = 0;
  /** The events of the run, for a person who debugs it. */
  notes: string[] | undefined;
  readonly #events: Event[] = [];
  #order = 0;

  constructor(random: Random) {
    this.random = random;
  }

  /** Returns how to call it off. */
  after(ms: number, run: () => void): () => void {
    const event = { at: this.now + ms, order: this.#order++, run };
    this.#events.push(event);
    return () => {
      const index = this.#events.indexOf(event);
      if (index >= 0) this.#events.splice(index, 1);
    };
  }

  note(text: () => string): void {
    this.notes?.push(`${this.now.toFixed(2).padStart(10)} ${text()}`);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  /** Runs until `done` says so, or nothing is left to happen. */
  async run(done: () => boolean): Promise<void> {
    await turn();
    while (!done()) {
      const event = this.#takeEarliest();
      if (!event) return;
      this.now = event.at;
      event.run();
      // A turn of the event loop empties the queue of promise callbacks, however long their chains are.
      await turn();
    }
  }

  #takeEarliest(): Event | undefined {
    let best = 0;
    for (let index = 1; index < this.#events.length; index++) {
      const [event, earliest] = [this.#events[index] as Event, this.#events[best] as Event];
      if (event.at < earliest.at || (event.at === earliest.at && event.order < earliest.order)) best = index;
    }
    return this.#events.splice(best, 1)[0];
  }
}
