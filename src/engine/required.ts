import { Fault } from "../domain/fault.ts";
import type { Reader } from "./draft.ts";
import { type Market, type MarketState, SINGLE, type Tenant } from "./rows.ts";

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
