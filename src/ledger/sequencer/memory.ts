import type { Reader, RowWrite } from "../../engine/draft.ts";
import { RowMap } from "../../engine/row-map.ts";
import type { Need, Table, Tables } from "../../engine/rows.ts";
import type { Loaded } from "../load.ts";

/** Past so many rows memory starts afresh with the next batch, which costs one load per row in use. */
const MAX_ROWS = 50_000;

/**
 * Rows that live within another one (the keyring's keys), that the next trade changes (holders), or that are not read
 * again. The keyring and the tenant's record are read anew for each command that changes them, so that it sees and
 * corrects what was forged in their tables meanwhile.
 */
const NOT_KEPT = new Set<Table>(["apiKey", "keyring", "tenantRecord", "holders", "assessment", "inboundDelivery"]);

/**
 * Whether a row must not be loaded while a batch is under way: its loader may read what the batch writes although memory does
 * not hold the row. Any other row that memory lacks is one that the batch does not write, so it is the same before and after.
 */
export function awaitsCommit({ table }: Need): boolean {
  return NOT_KEPT.has(table) || table === "pastRecord";
}

/**
 * Rows as the last batch sent will leave them, and the knowledge of which do not exist. They are the truth for as long as
 * the head has not moved by another hand: every write swaps the head.
 */
export class Memory implements Reader {
  readonly #rows = new RowMap<Tables[Table] | null>();
  #passing: Need[] = [];

  get<T extends Table>(table: T, key: string): Tables[T] | undefined {
    return (this.#rows.get(table, key) ?? undefined) as Tables[T] | undefined;
  }

  missing(needs: Iterable<Need>): Need[] {
    const missing = new RowMap<Need>();
    for (const need of needs) {
      const { table, key } = need;
      if (!this.#rows.has(table, key)) missing.set(table, key, need);
    }
    return [...missing.values()];
  }

  learn(loaded: Loaded[]): void {
    for (const { table, key, row } of loaded) {
      this.#rows.set(table, key, row);
      if (NOT_KEPT.has(table)) this.#passing.push({ table, key });
    }
  }

  /** Takes over what a batch writes, once it was sent. Versions move on, as the statement wrote `version + 1`. */
  publish(writes: readonly RowWrite[]): void {
    for (const { table, key, row } of writes) {
      if ("version" in row) row.version += 1;
      if (!NOT_KEPT.has(table)) this.#rows.set(table, key, row);
    }
    for (const { table, key } of this.#passing) this.#rows.delete(table, key);
    this.#passing = [];
  }

  get isFull(): boolean {
    return this.#rows.size > MAX_ROWS;
  }

  forget(): void {
    this.#rows.clear();
    this.#passing = [];
  }
}
