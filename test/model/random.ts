export const USERS = ["ann", "bob", "cem", "dee"] as const;
export const COUNTRIES = ["GB", "US", "US-NY", "DE", "FR-IDF", "no"] as const;

/** A small generator of pseudo-random numbers (mulberry32): the same seed, the same numbers, everywhere. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 0x9e3779b9) >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Both ends included. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<Item>(items: readonly [Item, ...Item[]] | readonly Item[]): Item {
    return items[Math.floor(this.next() * items.length)] as Item;
  }

  /** One of the keys, as often as its weight says. */
  weighted<Name extends string>(weights: Record<Name, number>): Name {
    const entries = Object.entries<number>(weights) as [Name, number][];
    let left = this.next() * entries.reduce((total, [, weight]) => total + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return (entries[0] as [Name, number])[0];
  }

  /** Dollars of any size between the two, as likely small as large, with at most six decimals. */
  dollars(from: number, to: number): number {
    const value = Math.exp(Math.log(from) + this.next() * (Math.log(to) - Math.log(from)));
    return Number(value.toFixed(this.pick([6, 6, 2, 0])) === "0" ? "1" : value.toFixed(6)) || from;
  }
}
