import { setTimeout as delay } from "node:timers/promises";
import { SECOND_MS } from "../../domain/time/units.ts";

/** Work that begins with an opening counts as part of it. */
const FIRST_WORK_MS = SECOND_MS;
/** A suspect whose database is slow holds up the others no longer. */
const LONGEST_TURN_MS = 10 * SECOND_MS;

export interface OpeningsOptions {
  /** Tenants that may have ended the process before this one: they are opened one after the other. */
  suspects: Iterable<string>;
  /** Hears of each tenant that is being opened, and that this is over. */
  tell(kind: "opening" | "opened", tenant: string): void;
}

/** The openings of a worker's tenants, of which it tells, so that its house knows which of them ended it. */
export class Openings {
  readonly #suspects: Set<string>;
  readonly #tell: OpeningsOptions["tell"];
  /** Resolves when all suspects that were asked for so far have been opened. */
  #turn: Promise<unknown> = Promise.resolve();
  /** How many openings of a tenant are under way. */
  readonly #counts = new Map<string, number>();

  constructor({ suspects, tell }: OpeningsOptions) {
    this.#suspects = new Set(suspects);
    this.#tell = tell;
  }

  /** Does what is part of an opening; a suspect's once those before it are over. */
  async watch<Value>(tenant: string, work: () => Promise<Value>): Promise<Value> {
    if (!this.#suspects.has(tenant)) return this.#told(tenant, work).opened;
    const begun = this.#turn.then(() => this.#told(tenant, work));
    this.#turn = begun.then(({ over }) => Promise.race([over, delay(LONGEST_TURN_MS, undefined, { ref: false })]));
    return (await begun).opened;
  }

  #told<Value>(tenant: string, work: () => Promise<Value>): { opened: Promise<Value>; over: Promise<void> } {
    const count = this.#counts.get(tenant) ?? 0;
    this.#counts.set(tenant, count + 1);
    if (count === 0) this.#tell("opening", tenant);
    const opened = work();
    return { opened, over: this.#over(tenant, opened) };
  }

  async #over(tenant: string, opened: Promise<unknown>): Promise<void> {
    await opened.catch(() => {});
    await delay(FIRST_WORK_MS, undefined, { ref: false });
    this.#suspects.delete(tenant);
    const left = (this.#counts.get(tenant) ?? 1) - 1;
    this.#counts.set(tenant, left);
    if (left === 0) this.#tell("opened", tenant);
  }
}
