import type { HttpSource } from "../domain/feeds/source.ts";

/** When each symbol of a source with a limit was last asked for, and when requests went out within the limit's span. */
const pasts = new WeakMap<HttpSource, { times: number[]; lastBySymbol: Map<string, number> }>();

/** Counts a request against the source's limit; false when it is used up. Each process counts its own requests. */
export function mayAsk(source: HttpSource, symbols: readonly string[], now: number): boolean {
  const { limit } = source;
  if (!limit) return true;
  const past = pasts.get(source) ?? { times: [], lastBySymbol: new Map() };
  pasts.set(source, past);
  past.times = past.times.filter((time) => time > now - limit.per);
  if (past.times.length >= limit.requests) return false;
  past.times.push(now);
  for (const symbol of symbols) past.lastBySymbol.set(symbol, now);
  return true;
}

/** When the source was last asked for a symbol; 0 for never. The symbol that has waited longest goes first. */
export function lastAsked(source: HttpSource, symbol: string): number {
  return pasts.get(source)?.lastBySymbol.get(symbol) ?? 0;
}
