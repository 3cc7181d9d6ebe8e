import { type AuditContent, parsedContent } from "../domain/audit/audit-payloads.ts";
import { isMapping } from "../domain/json/mapping.ts";
import type { Reader } from "../engine/draft.ts";
import { RowMap, type RowWrite } from "../engine/row-map.ts";
import type { Position, Table, Tables } from "../engine/rows.ts";

/** The content of an entry, with its instants in milliseconds since the epoch. */
export type LoggedEntry = AuditContent & {
  /** The time of the command's decision, by the database's clock. */
  at: number;
  /** The entry's own time. Later than `at` only if the clock had moved back. */
  ts: number;
  /** Whose entry it is. */
  actor: string;
};

/** @returns undefined for a payload that is not a JSON object, which only a tampered row has */
export function loggedEntry(entry: {
  type: string;
  payload: object;
  ts: string;
  actor: string;
}): LoggedEntry | undefined {
  const content = parsedContent(entry);
  if (!content) return undefined;
  const ts = Date.parse(entry.ts);
  const { decidedAt } = content.payload;
  // Written out, because a spread for each of many entries would cost as much as reading it.
  const { type, payload } = content;
  const at = decidedAt === undefined ? ts : Date.parse(decidedAt);
  return { type, payload, ts, at, actor: entry.actor } as LoggedEntry;
}

/** A row, or a total of transfers from one account to another. */
export type RowsPart =
  | readonly [kind: "row", write: RowWrite]
  | readonly [kind: "moved", debit: string, credit: string, amountMicro: bigint];

/** All rows of a tenant in memory, in the form that the engine reads. */
export class LoggedRows implements Reader {
  readonly #rows = new RowMap<Tables[Table]>();
  /** Total transfers, by debited and credited account. */
  readonly #moved = new Map<string, Map<string, bigint>>();
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

  /** A copy of the rows that changes independently. */
  copy(): LoggedRows {
    const copy = new LoggedRows();
    for (const part of this.parts()) if (part[0] === "row") copy.restore(part);
    return copy;
  }

  /** Every row of a table, by its key. */
  of<T extends Table>(table: T): Iterable<[key: string, row: Tables[T]]> {
    return this.#rows.entries(table) as Iterable<[string, Tables[T]]>;
  }

  balance(account: string): bigint {
    return this.get("account", account)?.balanceMicro ?? 0n;
  }

  /** Total transfers, by debited and credited account. */
  get moved(): ReadonlyMap<string, ReadonlyMap<string, bigint>> {
    return this.#moved;
  }

  /** Moves money like a transfer of the ledger. A zero amount is not a transfer. */
  move(debit: string, credit: string, amountMicro: bigint): void {
    if (amountMicro === 0n) return;
    this.#add(debit, -amountMicro);
    this.#add(credit, amountMicro);
    this.#total(debit, credit, amountMicro);
  }

  /** All rows and totals, from which `restore` makes equal ones. */
  *parts(): Generator<RowsPart> {
    for (const table of this.#rows.tables())
      for (const [key, row] of this.#rows.entries(table)) yield ["row", { table, key, row } as RowWrite];
    for (const [debit, credits] of this.#moved)
      for (const [credit, amountMicro] of credits) yield ["moved", debit, credit, amountMicro];
  }

  restore(part: RowsPart): void {
    if (part[0] === "row") this.adopt(part[1]);
    else this.#total(part[1], part[2], part[3]);
  }

  #total(debit: string, credit: string, amountMicro: bigint): void {
    const credits = this.#moved.get(debit);
    if (credits) credits.set(credit, (credits.get(credit) ?? 0n) + amountMicro);
    else this.#moved.set(debit, new Map([[credit, amountMicro]]));
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

/** The parsed payload; an empty object for text that is not a JSON object. */
export function parsed(payloadText: string): object {
  try {
    const payload: unknown = JSON.parse(payloadText);
    return isMapping(payload) ? payload : {};
  } catch {
    return {};
  }
}

/** The parts of `auditLines`, without an array for each: the payload is last and contains no newline. */
export function partsOf(lines: string): { ts: string; type: string; actor: string; payloadText: string } {
  const seqAt = lines.indexOf("\n") + 1;
  const tsAt = lines.indexOf("\n", seqAt) + 1;
  const typeAt = lines.indexOf("\n", tsAt) + 1;
  const actorAt = lines.indexOf("\n", typeAt) + 1;
  const payloadAt = lines.indexOf("\n", actorAt) + 1;
  const [ts, type] = [lines.slice(tsAt, typeAt - 1), lines.slice(typeAt, actorAt - 1)];
  return { ts, type, actor: lines.slice(actorAt, payloadAt - 1), payloadText: lines.slice(payloadAt) };
}
