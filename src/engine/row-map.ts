import type { Table } from "./rows.ts";

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

  /** The values of a table with their keys, in the order in which the keys came. */
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
