import { monotonicMs } from "../../domain/time/clock.ts";

/** How many requests begin in a turn of the event loop while several tenants have some: about a millisecond's work. */
const PER_TURN = 16;
/** How long a tenant's last request makes others share. */
const SHARING_MS = 1000;

interface Line {
  /** In this turn. */
  begun: number;
  waiting: (() => void)[];
}

/**
 * Lets the requests of several tenants in one process take turns: when one tenant sends many at once, another one's waits for
 * a few of them only. A tenant that is alone is not held up. What waits is bounded by the connections that a tenant may
 * have, since each has one request under way.
 */
export class FairTurns<Tenant> {
  readonly #lines = new Map<Tenant, Line>();
  #isDue = false;
  #latest: Tenant | undefined;
  /** When a request of another tenant than the one before came last. */
  #mixedAt = Number.NEGATIVE_INFINITY;

  /** Begins a request, at once unless its tenant has had its share of this turn. */
  begin(tenant: Tenant, request: () => void): void {
    if (tenant !== this.#latest) {
      this.#latest = tenant;
      this.#mixedAt = monotonicMs();
    } else if (this.#lines.size === 0 && monotonicMs() - this.#mixedAt > SHARING_MS) {
      request();
      return;
    }
    const line = this.#lineOf(tenant);
    if (line.begun < this.#share && line.waiting.length === 0) {
      line.begun += 1;
      request();
    } else line.waiting.push(request);
    this.#schedule();
  }

  /** How many of each tenant. */
  get #share(): number {
    return Math.max(1, Math.floor(PER_TURN / this.#lines.size));
  }

  #lineOf(tenant: Tenant): Line {
    let line = this.#lines.get(tenant);
    if (!line) {
      line = { begun: 0, waiting: [] };
      this.#lines.set(tenant, line);
    }
    return line;
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#turn();
    });
  }

  #turn(): void {
    const share = this.#share;
    for (const [tenant, line] of this.#lines) {
      const due = line.waiting.splice(0, share);
      line.begun = due.length;
      if (due.length === 0) this.#lines.delete(tenant);
      for (const request of due) request();
    }
    if (this.#lines.size > 0) this.#schedule();
  }
}
