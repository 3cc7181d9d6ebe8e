import { Fault } from "../domain/fault.ts";
import type { Draft, Reader } from "./draft.ts";
import { type Market, type MarketState, type Need, SINGLE, type Table, type Tenant } from "./rows.ts";

/**
 * One kind of change of a tenant. Its name in `commands.ts` is the `type` of its commands. What moves money or creates
 * something records an identifier, so that no two processes seal the same entry for two such commands.
 */
export interface CommandKind<C, Result> {
  /** The rows that it may read. Any other row is not loaded, so reading it would wrongly find nothing. */
  needs: (command: C) => Need[];
  /**
   * Decides the command and puts its changes into the draft.
   * @param now milliseconds since the epoch, by the database's clock
   * @throws Fault when the command is refused; then there is nothing to commit
   */
  decide: (draft: Draft, command: C, now: number) => Result;
  /**
   * The command gets a commit of its own. A settlement reads every holder from the database, which does not yet hold
   * the trades of the same batch. A version moves once per batch, so two changes of the tenant's row in one batch would
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
