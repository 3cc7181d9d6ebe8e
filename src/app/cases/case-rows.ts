import type { Reader, RowWrite } from "../../engine/draft.ts";
import { RowMap } from "../../engine/row-map.ts";
import type { Position, Table, Tables } from "../../engine/rows.ts";

/** The rows of a tenant that lives in memory for as long as one case. It begins empty, so what is not here does not exist. */
export class CaseRows implements Reader {
  readonly #rows = new RowMap<Tables[Table]>();
  readonly #positions = new Map<string, Position>();

  get<T extends Table>(table: T, key: string): Tables[T] | undefined {
    const row = table === "holders" ? this.#holdersOf(key) : this.#rows.get(table, key);
    return row as Tables[T] | undefined;
  }

  /** Takes over what a command writes. */
  adopt(writes: readonly RowWrite[]): void {
    for (const { table, key, row } of writes) {
      this.#rows.set(table, key, row);
      if (table === "position") this.#positions.set(key, row);
    }
  }

  #holdersOf(marketId: string): readonly Position[] {
    return [...this.#positions.values()].filter((position) => position.marketId === marketId);
  }
}
