import { isUtf8 } from "node:buffer";
import pMap from "p-map";
import { type Decimal, parseDecimal } from "../domain/decimal.ts";
import { invariant } from "../domain/fault.ts";
import type { CandleList, HttpSource, SimulatedSource, Source, TradeList } from "../domain/feeds/source.ts";
import { counted, spreadHash } from "../domain/text.ts";
import { DAY_MS } from "../domain/time/units.ts";
import { OutgoingFailure, type OutgoingHttp } from "../outgoing/guarded-fetch.ts";
import { type Reading, readAnswer, readCandle, readLastTrade, UnreadableAnswer } from "./reading.ts";

/** An instrument at a source. */
export interface SourceSymbol {
  source: string;
  symbol: string;
}

/** The key of a symbol; a source's name contains no newline. */
export const keyOf = ({ source, symbol }: SourceSymbol): string => `${source}\n${symbol}`;

/** A source's answer about a symbol. */
export type Fetched = SourceSymbol & ({ reading: Reading; receivedAt: number } | { failure: string });

export interface FetchContext {
  http: Pick<OutgoingHttp, "request">;
  sources: ReadonlyMap<string, Source>;
  /** The database's clock, which dates ticks. */
  now: () => Promise<number>;
}

const LIMIT_BYTES = 262_144;
const AT_ONCE = 8;
/** How many seconds before the instant a source with a `historyUrl` is queried, one after the other. */
const HISTORY_SECONDS = 8;
/** How many seconds before the instant the requested list of trades begins. */
const TRADES_SEC = 60;

/** Asks sources for current prices, several symbols at a time if supported. An answer may be a failure. */
export async function fetchPrices(context: FetchContext, wanted: readonly SourceSymbol[]): Promise<Fetched[]> {
  const answers = await pMap(
    groupRequests(context.sources, wanted),
    async (group) => {
      if (isOf(group, "http")) return fetchGroup(context, group, group.source.url);
      if (!isOf(group, "simulated")) return [];
      const now = await context.now();
      return simulated(group, now, now);
    },
    { concurrency: AT_ONCE },
  );
  return answers.flat();
}

/**
 * After an outage, asks sources with a history for the price at a past instant. The reading has that price's own time.
 */
export async function fetchHistory(
  context: FetchContext,
  wanted: readonly SourceSymbol[],
  instant: number,
): Promise<Fetched[]> {
  const answers = await pMap(
    groupRequests(context.sources, wanted),
    async (group) => {
      if (isOf(group, "simulated")) return simulated(group, instant, await context.now());
      if (!isOf(group, "http")) return [];
      const { historyUrl, trades, candles } = group.source;
      if (trades) return fetchTrades(context, group, trades, instant);
      if (candles) return fetchCandle(context, group, candles, instant);
      return historyUrl === undefined ? [] : fetchBackwards(context, group, historyUrl, instant);
    },
    { concurrency: AT_ONCE },
  );
  return answers.flat();
}

function simulated({ name, source, symbols }: Group<SimulatedSource>, observedAt: number, receivedAt: number) {
  return symbols.map((symbol): Fetched => {
    const price = simulatedPrice(source, symbol, observedAt);
    return { source: name, symbol, reading: { price, conf: null, observedAt }, receivedAt };
  });
}

/**
 * The source returns the first price at or after a second. So seconds are queried backwards until a price is not after
 * the instant: it is the last price before it. A missing answer ends the search, because it may have contained the price.
 */
async function fetchBackwards(
  context: FetchContext,
  group: Group<HttpSource>,
  historyUrl: string,
  instant: number,
): Promise<Fetched[]> {
  const fetched: Fetched[] = [];
  let open = group.symbols;
  for (let back = 0; back < HISTORY_SECONDS && open.length > 0; back++) {
    const time = String(Math.floor(instant / 1000) - back);
    const answers = await fetchGroup(context, { ...group, symbols: open }, historyUrl.replace("{time}", time));
    fetched.push(...answers);
    open = answers.flatMap((each) => ("reading" in each && each.reading.observedAt > instant ? [each.symbol] : []));
  }
  return fetched;
}

async function fetchTrades(
  context: FetchContext,
  group: Group<HttpSource>,
  trades: TradeList,
  instant: number,
): Promise<Fetched[]> {
  const url = trades.url.replace("{time}", String(Math.floor(instant / 1000) - TRADES_SEC));
  return fetchGroup(context, group, url, (body, receivedAt) =>
    forEach(group, readLastTrade(group.source, trades, body, { instant, receivedAt })),
  );
}

async function fetchCandle(
  context: FetchContext,
  group: Group<HttpSource>,
  candles: CandleList,
  instant: number,
): Promise<Fetched[]> {
  const write = (at: number) => (candles.unit === "s" ? String(at / 1000) : new Date(at).toISOString());
  const url = candles.url.replace("{from}", write(instant - candles.spanMs)).replace("{to}", write(instant));
  return fetchGroup(context, group, url, (body, receivedAt) =>
    forEach(group, readCandle(candles, body, { instant, receivedAt })),
  );
}

function forEach({ symbols }: Group, reading: Reading): ReturnType<typeof readAnswer> {
  return new Map(symbols.map((symbol) => [symbol, reading]));
}

/**
 * Whether a source can be asked for the price at a past instant. Candles only answer for their ends, and only if an
 * observation may be as old as a candle is long.
 */
export function canAskPast(source: Source | undefined, at: { instant: number; maxAgeMs: number }): boolean {
  if (source?.kind !== "http") return source?.kind === "simulated";
  const { historyUrl, trades, candles } = source;
  if (historyUrl !== undefined || trades) return true;
  return candles !== undefined && at.instant % candles.spanMs === 0 && at.maxAgeMs >= candles.spanMs;
}

/** The symbols of one request to a source. */
interface Group<Of extends Source = Source> {
  name: string;
  source: Of;
  symbols: readonly string[];
}

function isOf<Kind extends Source["kind"]>(group: Group, kind: Kind): group is Group<Extract<Source, { kind: Kind }>> {
  return group.source.kind === kind;
}

function groupRequests(sources: FetchContext["sources"], wanted: readonly SourceSymbol[]): Group[] {
  const bySource = Map.groupBy(wanted, ({ source }) => source);
  return [...bySource].flatMap(([name, entries]) => {
    const source = sources.get(name);
    if (!source) return [];
    const symbols = [...new Set(entries.map(({ symbol }) => symbol))];
    const size = source.kind === "http" ? (source.batch?.max ?? 1) : symbols.length;
    if (source.kind === "http" && source.limit) symbols.sort((a, b) => lastAsked(source, a) - lastAsked(source, b));
    return Array.from({ length: Math.ceil(symbols.length / size) }, (_, index) => ({
      name,
      source,
      symbols: symbols.slice(index * size, (index + 1) * size),
    }));
  });
}

async function fetchGroup(
  { http, now }: FetchContext,
  { name, source, symbols }: Group<HttpSource>,
  template: string,
  read = (body: string, receivedAt: number): ReturnType<typeof readAnswer> =>
    readAnswer(source, symbols, body, receivedAt),
): Promise<Fetched[]> {
  const fail = (failure: string) => symbols.map((symbol): Fetched => ({ source: name, symbol, failure }));
  const { limit } = source;
  if (limit && !mayAsk(source, symbols, await now()))
    return fail(`not asked, as its limit is ${counted(limit.requests, "request")} in ${limit.per / 1000} s`);
  try {
    const answer = await http.request(addressOf(source, template, symbols), {
      headers: { accept: "application/json", ...source.headers },
      timeoutMs: source.timeoutMs,
      limitBytes: LIMIT_BYTES,
    });
    if (answer.status !== 200) return fail(`answered with status ${answer.status}`);
    if (!isUtf8(answer.body)) return fail("answered with bytes that are not UTF-8");
    const receivedAt = await now();
    return [...read(answer.body.toString("utf8"), receivedAt)].map(
      ([symbol, reading]): Fetched =>
        reading instanceof UnreadableAnswer
          ? { source: name, symbol, failure: reading.message }
          : { source: name, symbol, reading, receivedAt },
    );
  } catch (error) {
    if (error instanceof OutgoingFailure || error instanceof UnreadableAnswer) return fail(error.message);
    throw error;
  }
}

function addressOf({ batch, query = {} }: HttpSource, template: string, symbols: readonly string[]): string {
  const ids = symbols.map(encodeURIComponent).join(batch?.separator ?? "");
  const url = new URL(template.replaceAll("{id}", () => ids));
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/** For sources with a limit: when each symbol was last requested, and when requests were sent within the limit's span. */
const pasts = new WeakMap<HttpSource, { times: number[]; lastBySymbol: Map<string, number> }>();

/** Counts a request against the source's limit; false if the limit is reached. Each process counts its own requests. */
function mayAsk(source: HttpSource, symbols: readonly string[], now: number): boolean {
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

/** When a symbol was last requested from the source; 0 for never. The symbol that has waited longest comes first. */
function lastAsked(source: HttpSource, symbol: string): number {
  return pasts.get(source)?.lastBySymbol.get(symbol) ?? 0;
}

/** Waves of a day, of hours and of minutes, whose sum looks like a market and stays within bounds. */
const PERIODS_MS = [DAY_MS, DAY_MS / 7, DAY_MS / 41, DAY_MS / 233] as const;
const PLACES = 6;

/** The invented price at any instant: the same for the same seed and symbol on every machine. */
function simulatedPrice({ start, volatility, seed }: SimulatedSource, symbol: string, instant: number): Decimal {
  const wave = PERIODS_MS.reduce((sum, period, index) => {
    const phase = spreadHash(`${seed}/${symbol}/${index}`) / 2 ** 32;
    return sum + Math.sin((instant / period + phase) * 2 * Math.PI) / (index + 1);
  }, 0);
  const price = parseDecimal((start * Math.exp((volatility * wave) / 2)).toFixed(PLACES));
  invariant(price, "a simulated price is a decimal");
  return price;
}
