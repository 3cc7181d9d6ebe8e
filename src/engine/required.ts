import { Fault } from "../domain/fault.ts";
import type { Reader } from "./draft.ts";
import { type Book, type Market, SINGLE, type Tenant } from "./rows.ts";

/** @throws Fault MARKET_NOT_FOUND */
export function requireMarket(state: Reader, id: string): { market: Market; book: Book } {
  const market = state.get("market", id);
  const book = state.get("book", id);
  if (!market || !book) throw new Fault("MARKET_NOT_FOUND", "Market not found");
  return { market, book };
}

/** @throws Fault REFUSED before the first apply */
export function requireTenant(state: Reader): Tenant {
  const tenant = state.get("tenant", SINGLE);
  if (!tenant) throw new Fault("REFUSED", "The tenant has not been applied yet: run pmctl apply");
  return tenant;
}
