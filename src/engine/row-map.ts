import type { Table, Tables } from "./rows.ts";

/** Values by table and key. Each table has its own map: a joined key would be built and hashed at each access. */
export class RowMap<Value> {
  readonly #tables = new Map<Table, Map<string, Value>>();

  get(table: Table, key: string): Value | undefined {
    return this.#tables.get(table)?.get(key);
  }

  has(table: Table, key: string): boolean {
    return this.#tables.get(table)?.has(key) ?? false;
  }

  set(table: Table, key: string, value: Value): void {
    const rows = this.#tables.get(table);
    if (rows) rows.set(key, value);
    else this.#tables.set(table, new Map([[key, value]]));
  }

  delete(table: Table, key: string): void {
    this.#tables.get(table)?.delete(key);
  }

  /** Deletes all values of a table. */
  drop(table: Table): void {
    this.#tables.delete(table);
  }

  clear(): void {
    this.#tables.clear();
  }

  tables(): Iterable<Table> {
    return this.#tables.keys();
  }

  /** The values of a table with their keys, in insertion order. */
  entries(table: Table): Iterable<[key: string, value: Value]> {
    return this.#tables.get(table) ?? [];
  }

  *values(): Generator<Value> {
    for (const rows of this.#tables.values()) yield* rows.values();
  }

  get size(): number {
    let size = 0;
    for (const rows of this.#tables.values()) size += rows.size;
    return size;
  }
}

export type RowWrite = { [T in Table]: { table: T; key: string; row: Tables[T] } }[Table];

/** Up to this number of writes, a linear search is faster than maps and leaves no garbage. */
const FEW = 16;

/** The writes of a command or a batch: each row once, in the order of its first write. */
export class RowWrites {
  readonly #list: RowWrite[] = [];
  /** Each row's index in the list, once there are many. */
  #places: RowMap<number> | null = null;

  get(table: Table, key: string): RowWrite | undefined {
    const place = this.#placeOf(table, key);
    return place === undefined ? undefined : this.#list[place];
  }

  set(write: RowWrite): void {
    const { table, key } = write;
    const place = this.#placeOf(table, key);
    if (place !== undefined) {
      this.#list[place] = write;
      return;
    }
    this.#places?.set(table, key, this.#list.length);
    this.#list.push(write);
    if (this.#list.length === FEW) this.#index();
  }

  get list(): readonly RowWrite[] {
    return this.#list;
  }

  #placeOf(table: Table, key: string): number | undefined {
    if (this.#places) return this.#places.get(table, key);
    const place = this.#list.findIndex((write) => write.table === table && write.key === key);
    return place < 0 ? undefined : place;
  }

  #index(): void {
    this.#places = new RowMap();
    for (const [place, { table, key }] of this.#list.entries()) this.#places.set(table, key, place);
  }
}
