import { type AuditKey, isSealedRow, type SealedFields, sealRow } from "../domain/audit/seal.ts";
import { Fault } from "../domain/fault.ts";
import type { Reader, RowWrite } from "../engine/draft.ts";
import type { Sealable, Table, Tables } from "../engine/rows.ts";

/**
 * The sealed fields of rows that prevent a request or a provider's event from counting twice. Without a seal, an intruder
 * with write access to the database could add a row to suppress a deposit, to answer a request that never ran, or to sign in.
 */
const SEALED: { readonly [T in Table]?: (row: Tables[T]) => SealedFields } = {
  receipt: (row) => [row.provider, row.reference, String(row.amountMicro), row.userId],
  inboundDelivery: (row) => [
    ...[row.provider, row.sha256, row.event, row.reference],
    ...[row.userId, row.outcome, row.body, row.receivedAt],
  ],
  consoleSession: (row) => [row.sha256, row.keyHash, row.keyName, row.createdAt, row.endsAt, row.endedAt],
  storedAnswer: (row) => [row.caller, row.key, row.requestHash, row.status, row.body, row.createdAt],
};

/** What the seal of a row covers; undefined for a table whose rows have none. */
export function sealedFieldsOf<T extends Table>(table: T, row: Tables[T]): SealedFields | undefined {
  return SEALED[table]?.(row);
}

/** Seals a row to be written, if its table is listed above. */
export function sealWrite({ table, row }: RowWrite, key: AuditKey): void {
  const fields = sealedFieldsOf(table, row);
  if (fields) (row as Sealable).seal = sealRow(key, table, fields);
}

/**
 * The same rows; seals are checked when rows are read.
 * Reading throws a Fault INTEGRITY for a row that no audit key sealed in this form.
 */
export function withSealsChecked(state: Reader, keys: readonly AuditKey[]): Reader {
  return {
    get(table, key) {
      const row = state.get(table, key);
      const fields = row && sealedFieldsOf(table, row);
      if (fields && !isSealedRow(keys, table, fields, (row as Sealable).seal ?? "")) throw notSealed(table, key);
      return row;
    },
  };
}

/** Traders and senders of webhooks read the message, so only the server's log names the row. */
function notSealed(table: Table, key: string): Fault {
  const message = "The stored record of this request was altered, forged or deleted. Nothing was done";
  return new Fault("INTEGRITY", message, { detail: { table, key } });
}
