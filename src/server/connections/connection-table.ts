import { type Linked, LinkedList } from "./linked-list.ts";

/** A connection's place in the table. */
export class Place<Owner> implements Linked<Place<Owner>> {
  readonly owner: Owner;
  readonly holder: Holder<Owner>;
  list: LinkedList<Place<Owner>> | undefined;
  before: Place<Owner> | undefined;
  after: Place<Owner> | undefined;

  constructor(owner: Owner, holder: Holder<Owner>) {
    this.owner = owner;
    this.holder = holder;
  }

  get address(): string {
    return this.holder.address;
  }
}

/** An address that has connections. */
class Holder<Owner> implements Linked<Holder<Owner>> {
  readonly address: string;
  connections = 0;
  /** Its connections without a request, the longest idle first. */
  readonly idle = new LinkedList<Place<Owner>>();
  list: LinkedList<Holder<Owner>> | undefined;
  before: Holder<Owner> | undefined;
  after: Holder<Owner> | undefined;

  constructor(address: string) {
    this.address = address;
  }
}

/**
 * How many connections each address has, and which of them are idle. Every method takes constant time, because it happens for each
 * connection of an attack: an address moves between neighbouring ranks, one for each number of connections.
 */
export class ConnectionTable<Owner> {
  readonly #holders = new Map<string, Holder<Owner>>();
  /** By number of connections: how many addresses have it. */
  readonly #addresses: number[] = [];
  /** By number of connections: the addresses with it that have an idle one. */
  readonly #withIdle: LinkedList<Holder<Owner>>[] = [];
  /** The number of connections of the address with most. */
  #most = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  countOf(address: string): number {
    return this.#holders.get(address)?.connections ?? 0;
  }

  /** Adds a connection, which is idle. */
  add(address: string, owner: Owner): Place<Owner> {
    let holder = this.#holders.get(address);
    if (!holder) {
      holder = new Holder(address);
      this.#holders.set(address, holder);
    }
    const place = new Place(owner, holder);
    this.#size += 1;
    this.#count(holder, holder.connections + 1);
    this.setIdle(place);
    return place;
  }

  remove(place: Place<Owner>): void {
    const { holder } = place;
    this.setBusy(place);
    this.#size -= 1;
    this.#count(holder, holder.connections - 1);
    if (holder.connections === 0) this.#holders.delete(holder.address);
  }

  /** Puts a connection behind the others of its address that are idle. */
  setIdle(place: Place<Owner>): void {
    const { holder, list } = place;
    if (list) return;
    holder.idle.append(place);
    if (!holder.list) this.#rank(holder.connections).append(holder);
  }

  /** Takes a connection out of the idle ones; its place stays. */
  setBusy(place: Place<Owner>): void {
    const { holder, list } = place;
    if (!list) return;
    list.remove(place);
    if (holder.idle.first === undefined) holder.list?.remove(holder);
  }

  /** The longest idle connection of the address with most connections; undefined when all of those are busy. */
  longestIdleOfMost(): Owner | undefined {
    return this.#withIdle[this.#most]?.first?.idle.first?.owner;
  }

  /** Moves an address to the rank of its new number, which is one more or one less. */
  #count(holder: Holder<Owner>, connections: number): void {
    const { connections: old, list } = holder;
    this.#addresses[old] = (this.#addresses[old] ?? 0) - 1;
    this.#addresses[connections] = (this.#addresses[connections] ?? 0) + 1;
    holder.connections = connections;
    if (connections > this.#most) this.#most = connections;
    // The only address with most connections has lost one.
    else if (old === this.#most && this.#addresses[old] === 0) this.#most = connections;
    if (!list) return;
    list.remove(holder);
    this.#rank(connections).append(holder);
  }

  #rank(connections: number): LinkedList<Holder<Owner>> {
    let rank = this.#withIdle[connections];
    if (!rank) {
      rank = new LinkedList();
      this.#withIdle[connections] = rank;
    }
    return rank;
  }
}
