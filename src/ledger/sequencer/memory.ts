import type { Reader, RowWrite } from "../../engine/draft.ts";
import { portfolioAfter } from "../../engine/fill.ts";
import { RowMap } from "../../engine/row-map.ts";
import type { Need, Position, Table, Tables } from "../../engine/rows.ts";
import type { Loaded } from "../load.ts";

/**
 * Beyond this many rows, memory is cleared before the next batch, which costs one load per row in use. If more rows are
 * in use, this happens again and again. A row takes 300 bytes.
 */
const MAX_ROWS = 100_000;

/**
 * Rows that are part of another row (the keyring's keys, a market's clarifications), that the next trade changes
 * (holders and their fees), or that are not read
 * again. The keyring and the tenant's record are reread for each command that changes them, so that it sees and
 * corrects rows that were forged meanwhile.
 */
const NOT_KEPT = new Set<Table>([
  ...(["apiKey", "keyring", "tenantRecord", "assessment", "clarification", "inboundDelivery"] as const),
  ...(["holders", "holderFees", "holderDebts", "positionFee", "stake"] as const),
  ...(["proposal", "waitingProposal", "objection", "planApproval", "planApprovals"] as const),
]);

/**
 * Whether a row must not be loaded while a batch is in progress: its loader may read rows of the batch although memory
 * does not hold the row. Any other missing row is not part of the batch, so it is the same before and after.
 */
export function awaitsCommit({ table }: Need): boolean {
  return NOT_KEPT.has(table);
}

/**
 * The rows after the last batch sent, including rows that do not exist. They are correct as long as no other process
 * has moved the head, because every write moves it.
 */
export class Memory implements Reader {
  readonly #rows = new RowMap<Tables[Table] | null>();
  #passing: Need[] = [];

  get<T extends Table>(table: T, key: string): Tables[T] | undefined {
    return (this.#rows.get(table, key) ?? undefined) as Tables[T] | undefined;
  }

  /** Whether memory knows the row, or that it does not exist. */
  knows({ table, key }: Need): boolean {
    return this.#rows.has(table, key);
  }

  learn(loaded: Loaded[]): void {
    for (const { table, key, row } of loaded) {
      this.#rows.set(table, key, row);
      if (NOT_KEPT.has(table)) this.#passing.push({ table, key });
    }
  }

  /** Takes over the writes of a batch that was sent. Versions rise, as the statement wrote `version + 1`. */
  publish(writes: readonly RowWrite[]): void {
    for (const { table, key, row } of writes) {
      if ("version" in row) row.version += 1;
      if (!NOT_KEPT.has(table)) this.#rows.set(table, key, row);
    }
    for (const { table, key } of this.#passing) this.#rows.delete(table, key);
    this.#passing = [];
  }

  /** Removes the writes of a batch that was not stored: its rows are loaded again. */
  withdraw(writes: readonly RowWrite[]): void {
    for (const { table, key } of [...writes, ...this.#passing]) this.#rows.delete(table, key);
    this.#passing = [];
  }

  /** Takes over the changes of another process's trades, as `loadTouched` found them, for rows already in memory. */
  follow(touched: readonly Loaded[]): void {
    for (const { table, key, row } of touched) {
      if (row && "traderId" in row && "costMicro" in row) this.#followPosition(key, row);
      else if (this.#rows.has(table, key)) this.#rows.set(table, key, row);
    }
    this.#rows.drop("storedAnswer");
  }

  #followPosition(key: string, position: Position): void {
    const { traderId, costMicro } = position;
    if (!this.get("trader", traderId)) this.#rows.delete("trader", traderId);
    const portfolio = this.get("portfolio", traderId);
    // A portfolio is always loaded with its positions.
    if (!portfolio) {
      this.#rows.delete("position", key);
      return;
    }
    const before = this.get("position", key)?.costMicro ?? 0n;
    this.#rows.set("portfolio", traderId, portfolioAfter(portfolio, costMicro - before));
    this.#rows.set("position", key, position);
  }

  get isFull(): boolean {
    return this.#rows.size > MAX_ROWS;
  }

  forget(): void {
    this.#rows.clear();
    this.#passing = [];
  }
}
