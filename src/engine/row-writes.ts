import { RowMap } from "./row-map.ts";
import type { Table, Tables } from "./rows.ts";

export type RowWrite = { [T in Table]: { table: T; key: string; row: Tables[T] } }[Table];

/** Up to so many writes a search through them is faster than maps, and leaves nothing to collect. */
const FEW = 16;

/** What a command or a batch writes: each row once, in the order of its first write. */
export class RowWrites {
  readonly #list: RowWrite[] = [];
  /** Where each row stands in the list, once there are many. */
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
