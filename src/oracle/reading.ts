import { type Decimal, medianOf, parseDecimal, scaleByTen } from "../domain/decimal.ts";
import type { CandleList, HttpSource, Literal, NumberPointer, TradeList } from "../domain/feeds/source.ts";
import { type JsonValue, NumberText, numberTextAt, parseExactJson, resolvePointer } from "../domain/json/exact-json.ts";
import { MAX_AHEAD_MS } from "../domain/market/resolution.ts";
import { parseTimestamp } from "../domain/time/timestamp.ts";

/** One price as stated by a source. */
export interface Reading {
  price: Decimal;
  conf: Decimal | null;
  /** Milliseconds since the epoch. */
  observedAt: number;
}

/** Why an answer contains no price, for operators. The message quotes nothing from the answer. */
export class UnreadableAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnreadableAnswer";
  }
}

/**
 * Reads the prices of several symbols from one answer. A missing or unreadable symbol gets its reason instead.
 * @throws UnreadableAnswer if the whole answer is unreadable
 */
export function readAnswer(
  source: HttpSource,
  symbols: readonly string[],
  body: string,
  receivedAt: number,
): Map<string, Reading | UnreadableAnswer> {
  const answer = parseAnswer(body);
  const { batch } = source;
  const list = batch && resolvePointer(answer, batch.list);
  return new Map(
    symbols.map((symbol) => {
      const entry = batch
        ? Array.isArray(list) && list.find((each) => resolvePointer(each, batch.symbol) === symbol)
        : answer;
      return [symbol, entry === undefined || entry === false ? missing(symbol) : readEntry(source, entry, receivedAt)];
    }),
  );
}

/**
 * The last trade at or before an instant.
 * @throws UnreadableAnswer if the list is not complete up to the instant, or contains no trade before it
 */
export function readLastTrade(
  source: HttpSource,
  trades: TradeList,
  body: string,
  { instant, receivedAt }: { instant: number; receivedAt: number },
): Reading {
  const list = resolvePointer(parseAnswer(body), trades.list);
  if (!Array.isArray(list)) throw new UnreadableAnswer(`there is no list at ${trades.list}`);
  const { price, time } = trades;
  const readings = list.map((trade) => readEntry({ ...source, price, time }, trade, receivedAt));
  const sound = readings.map((reading) => {
    if (reading instanceof UnreadableAnswer) throw reading;
    return reading;
  });
  if (list.length >= trades.max && !sound.some(({ observedAt }) => observedAt > instant))
    throw new UnreadableAnswer("the answer breaks off before the instant");
  const last = sound.findLast(({ observedAt }) => observedAt <= instant);
  if (!last) throw new UnreadableAnswer("the answer holds no trade before the instant");
  return last;
}

/**
 * The closing price of the candle that ends at an instant: the price of the last trade before the instant, made at some
 * time within the candle.
 * @throws UnreadableAnswer if there is no such candle, it has no trades, or it may still change
 */
export function readCandle(
  candles: CandleList,
  body: string,
  { instant, receivedAt }: { instant: number; receivedAt: number },
): Reading {
  const { spanMs, list: place, start, price: pricePointer, volume } = candles;
  // Exchanges may add late trades; once the next candle has ended too, this candle is complete.
  if (receivedAt < instant + spanMs) throw new UnreadableAnswer("the candle that ends at the instant may still change");
  const list = resolvePointer(parseAnswer(body), place);
  if (!Array.isArray(list)) throw new UnreadableAnswer(`there is no list at ${place || "the top"}`);
  const candle = list.find((each) => readTime("s", each, start) === instant - spanMs);
  if (candle === undefined) throw new UnreadableAnswer("the answer holds no candle that ends at the instant");
  const traded = readNumber({ pointer: volume }, candle);
  if (!traded || traded.units <= 0n) throw new UnreadableAnswer("nothing was traded in the candle before the instant");
  const price = readNumber(pricePointer, candle);
  if (!price) throw new UnreadableAnswer(`there is no number at ${pricePointer.pointer}`);
  return { price, conf: null, observedAt: instant };
}

function parseAnswer(body: string): JsonValue {
  try {
    return parseExactJson(body);
  } catch {
    throw new UnreadableAnswer("the answer is not JSON");
  }
}

function missing(symbol: string): UnreadableAnswer {
  return new UnreadableAnswer(`the answer does not contain ${symbol}`);
}

function readEntry(source: HttpSource, entry: JsonValue, receivedAt: number): Reading | UnreadableAnswer {
  const { okWhen, price: pricePointer, conf: confPointer, time } = source;
  if (okWhen && !isOk(okWhen, entry))
    return new UnreadableAnswer(`the answer says that it is not good (${okWhen.pointer})`);
  const price = readNumber(pricePointer, entry);
  if (!price) return new UnreadableAnswer(`there is no number at ${pricePointer.pointer}`);
  const conf = confPointer ? readNumber(confPointer, entry) : null;
  if (conf === undefined) return new UnreadableAnswer(`there is no number at ${confPointer?.pointer}`);
  const stated = readTime(time.unit, entry, time.pointer);
  if (stated === undefined) return new UnreadableAnswer(`there is no time at ${time.pointer}`);
  const observedAt = time.spanMs === undefined ? stated : Math.min(stated + time.spanMs, receivedAt);
  if (Math.max(stated, observedAt) > receivedAt + MAX_AHEAD_MS)
    return new UnreadableAnswer("its time lies in the future");
  return { price, conf, observedAt };
}

function isOk({ pointer, equals, notEquals }: NonNullable<HttpSource["okWhen"]>, entry: JsonValue): boolean {
  const found = resolvePointer(entry, pointer);
  return equals === undefined ? !isLiteral(found, notEquals) : isLiteral(found, equals);
}

function isLiteral(found: JsonValue | undefined, literal: Literal | undefined): boolean {
  return found instanceof NumberText ? Number(found.text) === literal : found === literal;
}

function readNumber({ pointer, expoPointer, andPointer }: NumberPointer, entry: JsonValue): Decimal | undefined {
  const [first, second] = [pointer, andPointer].map((place) => {
    const text = place === undefined ? undefined : numberTextAt(entry, place);
    return text === undefined ? undefined : parseDecimal(text);
  });
  if (!first || (andPointer !== undefined && !second)) return undefined;
  const value = second ? medianOf([first, second]) : first;
  if (expoPointer === undefined) return value;
  const power = numberTextAt(entry, expoPointer);
  return power !== undefined && /^-?\d{1,2}$/.test(power) ? scaleByTen(value, Number(power)) : undefined;
}

const PER_SECOND = { s: 1000n, ms: 1n, ns: 1n } as const;

function readTime(unit: HttpSource["time"]["unit"], entry: JsonValue, pointer: string): number | undefined {
  const text = numberTextAt(entry, pointer);
  if (text === undefined) return undefined;
  if (unit === "rfc3339") return parseTimestamp(text);
  if (unit === "date") return parseTimestamp(`${text}T00:00:00Z`);
  const value = parseDecimal(text);
  if (!value || value.units < 0n) return undefined;
  // Whole milliseconds, rounded down: an observation must not seem newer than it is.
  const scaled = (value.units * PER_SECOND[unit]) / (unit === "ns" ? 1_000_000n : 1n) / 10n ** BigInt(value.scale);
  const milliseconds = Number(scaled);
  return milliseconds <= 8.64e15 ? milliseconds : undefined;
}
