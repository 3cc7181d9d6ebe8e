import type { Draft } from "./draft.ts";
import { type Need, SINGLE, type Table } from "./rows.ts";

/** One kind of change of a tenant: all that the engine knows of it. */
export interface CommandKind<C extends { type: string }, Result> {
  /** The rows that it may read. A row that is not named here is not loaded: reading it would find nothing, and be wrong. */
  needs: (command: C) => Need[];
  /**
   * Decides it: what it changes goes into the draft.
   * @param now milliseconds since the epoch, by the database's clock
   * @throws Fault when it is refused; then there is nothing to commit
   */
  decide: (draft: Draft, command: C, now: number) => Result;
  /**
   * It shares a commit with no other command. A settlement reads every holder from the database, where the trades of its
   * own batch are not yet. A version moves once per batch, so two changes of the tenant's row in one batch would both
   * pass the same precondition.
   */
  ownBatch?: true;
}

export const need = (table: Table, key: string): Need => ({ table, key });

export const TENANT = need("tenant", SINGLE);
/** Of a command that writes the tenant's row. */
export const TENANT_TO_WRITE: readonly Need[] = [TENANT, need("tenantRecord", SINGLE)];
export const KEYRING = need("keyring", SINGLE);
export const PAST_RECORD = need("pastRecord", SINGLE);

/** A market and its changing half. */
export function marketNeeds(marketId: string): Need[] {
  return [need("market", marketId), need("marketState", marketId)];
}
