import type { Logger } from "pino";

export const REFUSAL_REASONS = [
  "total",
  "address",
  "stream",
  "headers",
  "body",
  "idle",
  "write",
  "rate",
  "malformed",
] as const;
/** The limit that ended a connection, or refused a connection or stream. */
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Called for each refusal. The address is the client's, as the rate limit counts it. */
export type OnRefused = (reason: RefusalReason, address: string) => void;

interface Tally {
  count: number;
  byAddress: Map<string, number>;
  /** When the next line is due, according to the timer. */
  timer: NodeJS.Timeout;
}

const LINE_INTERVAL_MS = 60_000;
/** The first line about an attack comes soon, but late enough to count several connections. */
const FIRST_LINE_MS = 1000;
/** Beyond this number of addresses, refusals are counted without an address. */
const COUNTED_ADDRESSES = 10_000;
const SHOWN_ADDRESSES = 20;

/**
 * Logs refusals: one line a minute for each reason, however many connections an attack opens. A line lists the 20
 * addresses with the most refusals.
 */
export class RefusalReport {
  readonly #log: Logger;
  readonly #tallies = new Map<RefusalReason, Tally>();

  constructor(log: Logger) {
    this.#log = log;
  }

  note(reason: RefusalReason, address: string): void {
    let tally = this.#tallies.get(reason);
    if (!tally) {
      tally = this.#begin(reason, FIRST_LINE_MS);
      this.#tallies.set(reason, tally);
    }
    tally.count += 1;
    const { byAddress } = tally;
    if (byAddress.size < COUNTED_ADDRESSES || byAddress.has(address))
      byAddress.set(address, (byAddress.get(address) ?? 0) + 1);
  }

  /** Writes the lines that are due later. */
  close(): void {
    for (const [reason, tally] of this.#tallies) {
      clearTimeout(tally.timer);
      this.#write(reason, tally);
    }
    this.#tallies.clear();
  }

  #begin(reason: RefusalReason, afterMs: number): Tally {
    return { count: 0, byAddress: new Map(), timer: setTimeout(() => this.#line(reason), afterMs).unref() };
  }

  /** Writes a line, and waits a minute before the next one. A minute without refusals ends the wait. */
  #line(reason: RefusalReason): void {
    const tally = this.#tallies.get(reason);
    if (!tally || tally.count === 0) return void this.#tallies.delete(reason);
    this.#write(reason, tally);
    this.#tallies.set(reason, this.#begin(reason, LINE_INTERVAL_MS));
  }

  #write(reason: RefusalReason, { count, byAddress }: Tally): void {
    if (count === 0) return;
    const addresses = [...byAddress]
      .sort(([, a], [, b]) => b - a)
      .slice(0, SHOWN_ADDRESSES)
      .map(([address]) => address);
    const line = { event: "connections.refused", reason, count, addresses };
    // Idle connections are normal for ordinary clients.
    if (reason === "idle") this.#log.info(line, "Idle connections were closed");
    else this.#log.warn(line, "Connections were refused or closed");
  }
}
