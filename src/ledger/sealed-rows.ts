import { type AuditKey, isSealedRow, type SealedFields, sealRow } from "../domain/audit/seal.ts";
import { Fault } from "../domain/fault.ts";
import type { Reader, RowWrite } from "../engine/draft.ts";
import type { Sealable, Table, Tables } from "../engine/rows.ts";

/**
 * What the seals cover of the rows that keep a request or a provider's event from counting twice. Without a seal, who can
 * write to the database would swallow a deposit by a row, or answer a request that never took effect.
 */
const SEALED: { readonly [T in Table]?: (row: Tables[T]) => SealedFields } = {
  receipt: (row) => [row.provider, row.reference, String(row.amountMicro), row.userId],
  inboundDelivery: (row) => [
    ...[row.provider, row.sha256, row.event, row.reference],
    ...[row.userId, row.outcome, row.body, row.receivedAt],
  ],
  storedAnswer: (row) => [row.caller, row.key, row.requestHash, row.status, row.body, row.createdAt],
};

function fieldsOf<T extends Table>(table: T, row: Tables[T]): SealedFields | undefined {
  return SEALED[table]?.(row);
}

/** Seals a row that is to be written, if its table is one of these. */
export function sealWrite({ table, row }: RowWrite, key: AuditKey): void {
  const fields = fieldsOf(table, row);
  if (fields) (row as Sealable).seal = sealRow(key, table, fields);
}

/**
 * The same rows, with the seals of those that have one checked when they are read.
 * Reading throws a Fault INTEGRITY for a row that no audit key sealed as it is stored.
 */
export function withSealsChecked(state: Reader, keys: readonly AuditKey[]): Reader {
  return {
    get(table, key) {
      const row = state.get(table, key);
      const fields = row && fieldsOf(table, row);
      if (fields && !isSealedRow(keys, table, fields, (row as Sealable).seal ?? "")) throw notSealed(table, key);
      return row;
    },
  };
}

/** Traders and senders of webhooks read the message, so the row is named in the server's log only. */
function notSealed(table: Table, key: string): Fault {
  const message = "Refused: what is stored of this request was altered, forged or deleted. Nothing was done";
  return new Fault("INTEGRITY", message, { detail: { table, key } });
}
