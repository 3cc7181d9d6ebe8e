import type { Reader } from "../engine/draft.ts";
import { RowMap } from "../engine/row-map.ts";
import type { RowWrite } from "../engine/row-writes.ts";
import type { Position, Table, Tables } from "../engine/rows.ts";

/** A tenant's rows in memory, all of them, as the engine reads them. */
export class LoggedRows implements Reader {
  readonly #rows = new RowMap<Tables[Table]>();
  /** The keys of the positions of each market, so that a settlement finds its holders. */
  readonly #held = new Map<string, Set<string>>();

  get<T extends Table>(table: T, key: string): Tables[T] | undefined {
    const row = table === "holders" ? this.#holders(key) : this.#rows.get(table, key);
    return row as Tables[T] | undefined;
  }

  put<T extends Table>(table: T, key: string, row: Tables[T]): void {
    this.adopt({ table, key, row } as RowWrite);
  }

  adopt({ table, key, row }: RowWrite): void {
    if (table === "position" && !this.#rows.has(table, key)) this.#heldIn(row.marketId).add(key);
    this.#rows.set(table, key, row);
  }

  /** The same rows, which go on by themselves from here. */
  copy(): LoggedRows {
    const copy = new LoggedRows();
    for (const table of this.#rows.tables())
      for (const [key, row] of this.#rows.entries(table)) copy.adopt({ table, key, row } as RowWrite);
    return copy;
  }

  /** Every row of a table, by its key. */
  of<T extends Table>(table: T): Iterable<[key: string, row: Tables[T]]> {
    return this.#rows.entries(table) as Iterable<[string, Tables[T]]>;
  }

  balance(account: string): bigint {
    return this.get("account", account)?.balanceMicro ?? 0n;
  }

  /** Moves money, as the ledger's transfers do. */
  move(debit: string, credit: string, amountMicro: bigint): void {
    this.#add(debit, -amountMicro);
    this.#add(credit, amountMicro);
  }

  #add(id: string, amountMicro: bigint): void {
    this.put("account", id, { id, balanceMicro: this.balance(id) + amountMicro, version: 0 });
  }

  #holders(marketId: string): Position[] {
    return [...this.#heldIn(marketId)].flatMap((key) => this.get("position", key) ?? []);
  }

  #heldIn(marketId: string): Set<string> {
    const held = this.#held.get(marketId) ?? new Set<string>();
    this.#held.set(marketId, held);
    return held;
  }
}
