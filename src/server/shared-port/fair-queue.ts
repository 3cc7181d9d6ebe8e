/** What waits, of several tenants: each one's in order, and the tenants by turns. */
export class FairQueue<Tenant, Item> {
  /** The tenant whose turn is next is the first. */
  readonly #lines = new Map<Tenant, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(tenant: Tenant, item: Item): void {
    const line = this.#lines.get(tenant);
    if (line) line.push(item);
    else this.#lines.set(tenant, [item]);
    this.#size += 1;
  }

  /** Takes out the first of the tenant whose turn it is. */
  take(): Item | undefined {
    for (const [tenant, line] of this.#lines) {
      this.#lines.delete(tenant);
      if (line.length > 1) this.#lines.set(tenant, line);
      this.#size -= 1;
      return line.shift();
    }
    return undefined;
  }

  /** Takes out the last of the tenant that has most. */
  drop(): Item | undefined {
    let longest: [Tenant, Item[]] | undefined;
    for (const entry of this.#lines) if (entry[1].length > (longest?.[1].length ?? 0)) longest = entry;
    if (!longest) return undefined;
    const [tenant, line] = longest;
    if (line.length === 1) this.#lines.delete(tenant);
    this.#size -= 1;
    return line.pop();
  }
}
