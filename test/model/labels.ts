import type { Random } from "./random.ts";

const KINDS = { m: 0, w: 0, k: 0, i: 0, tx: 0, pi: 0 };
type Kind = keyof typeof KINDS;

/** Names that a scenario gives to what the service will name itself: markets, withdrawals, keys, references. */
export class Labels {
  readonly #random: Random;
  readonly #given = { ...KINDS };

  constructor(random: Random) {
    this.#random = random;
  }

  next(kind: Kind): string {
    this.#given[kind] += 1;
    return `${kind}${this.#given[kind]}`;
  }

  count(kind: Kind): number {
    return this.#given[kind];
  }

  /** One that was given: the newest ones more often, and now and then one that does not exist. */
  known(kind: Kind): string {
    const given = this.#given[kind];
    if (given === 0 || this.#random.chance(0.02)) return `${kind}0`;
    return `${kind}${this.#random.integer(this.#random.chance(0.6) ? Math.max(1, given - 3) : 1, given)}`;
  }
}
