import type { HttpSource } from "../domain/feeds/source.ts";

interface Past {
  /** When requests went out, within the span of the limit. */
  times: number[];
  lastBySymbol: Map<string, number>;
}

const pasts = new WeakMap<HttpSource, Past>();

function pastOf(source: HttpSource): Past {
  const past = pasts.get(source) ?? { times: [], lastBySymbol: new Map() };
  pasts.set(source, past);
  return past;
}

/** Counts a request against the source's limit, or says that it may not go out now. Each process counts alone. */
export function mayAsk(source: HttpSource, symbols: readonly string[], now: number): boolean {
  const { limit } = source;
  if (!limit) return true;
  const past = pastOf(source);
  past.times = past.times.filter((time) => time > now - limit.per);
  if (past.times.length >= limit.requests) return false;
  past.times.push(now);
  for (const symbol of symbols) past.lastBySymbol.set(symbol, now);
  return true;
}

/** When the source was last asked for a symbol; 0 for never. Whichever has waited longest goes first. */
export function lastAsked(source: HttpSource, symbol: string): number {
  return pastOf(source).lastBySymbol.get(symbol) ?? 0;
}
