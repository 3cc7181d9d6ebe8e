import { Fault } from "../domain/fault.ts";
import type { Draft, Reader } from "./draft.ts";
import { type Market, type MarketState, type Need, SINGLE, type Table, type Tenant } from "./rows.ts";

/**
 * One kind of change of a tenant. Its name in `commands.ts` is the `type` of its commands. A command that moves money
 * or creates something records an identifier, so that no two processes seal the same entry for two such commands.
 */
export interface CommandKind<C, Result> {
  /** The rows that the command may read. Other rows are not loaded, so they would wrongly seem not to exist. */
  needs: (command: C) => Need[];
  /**
   * Decides the command and puts its changes into the draft.
   * @param now milliseconds since the epoch, by the database's clock
   * @throws Fault if the command is refused; then nothing is committed
   */
  decide: (draft: Draft, command: C, now: number) => Result;
  /**
   * The command gets its own commit. A settlement reads every holder from the database, which does not yet contain the
   * trades of the same batch. A version rises once per batch, so two changes of the tenant's row in one batch would
   * both pass the same precondition.
   */
  ownBatch?: true;
}

export const need = (table: Table, key: string): Need => ({ table, key });

export const TENANT = need("tenant", SINGLE);
/** The needs of a command that writes the tenant's row. */
export const TENANT_TO_WRITE: readonly Need[] = [TENANT, need("tenantRecord", SINGLE)];
export const FREEZE = need("freeze", SINGLE);
export const KEYRING = need("keyring", SINGLE);

/** A market and its state. */
export function marketNeeds(marketId: string): Need[] {
  return [need("market", marketId), need("marketState", marketId)];
}

/** @throws Fault MARKET_NOT_FOUND */
export function requireMarket(state: Reader, id: string): { market: Market; marketState: MarketState } {
  const market = state.get("market", id);
  const marketState = state.get("marketState", id);
  if (!market || !marketState) throw new Fault("MARKET_NOT_FOUND", "Market not found");
  return { market, marketState };
}

/** @throws Fault REFUSED before the first apply */
export function requireTenant(state: Reader): Tenant {
  const tenant = state.get("tenant", SINGLE);
  if (!tenant) throw new Fault("REFUSED", "The tenant has not been applied yet: run pmctl apply");
  return tenant;
}
