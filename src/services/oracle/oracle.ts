import type { Input, Result } from "../../contract/operations.ts";
import { contentOf } from "../../domain/audit/audit-payloads.ts";
import { type Decimal, decimalText, medianOf, parseDecimal, subtractDecimals } from "../../domain/decimal.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import { numberTextAt, parseExactJson } from "../../domain/json/exact-json.ts";
import { MAX_AHEAD_MS, SETTLING_MS } from "../../domain/market/resolution.ts";
import { decodeTerms, type MarketTerms } from "../../domain/market/terms.ts";
import { recordTicks } from "../../ledger/unchained/oracle-ticks.ts";
import { readClock } from "../../postgres/database-time.ts";
import {
  listHeldMarkets,
  listSamples,
  type ResolutionRow,
  readLatestPrice,
  readOracleFigures,
  type SampleRow,
} from "../../queries/oracle.ts";
import { type ServiceContext, submit } from "../context.ts";
import type { Answered, Caller, Handlers } from "../invoke.ts";
import { feedLines, namedFeeds } from "./feeds.ts";

const RECENT = 50;
const MAX_HELD = 200;

/** The oracle's state, read from the database, so that any process can answer, whichever process sweeps. */
export function oracleHandlers(context: ServiceContext) {
  return {
    getOracleStatus: () => status(context),
    listHeldMarkets: ({ marketId }) => held(context, marketId),
    listLatestPrices: ({ feeds }) =>
      context.pool.snapshot((sql) =>
        Promise.all(
          feeds.map(async ({ key, sources }) => ({ key, price: (await readLatestPrice(sql, sources)) ?? null })),
        ),
      ),
    listFeeds: async () => feedLines(context.oracle),
    listFeedSamples: (input) => samples(context, input),
    checkFeeds: ({ feeds }) => checkNow(context, feeds),
    sweepOracle: (_, caller) => sweepNow(context, caller),
    receivePrice: (event, { webhook }) => receivePrice(context, event, webhook),
  } satisfies Handlers;
}

async function status({ pool, oracle }: ServiceContext): Promise<Result<"getOracleStatus">> {
  const { eligibleMarkets, sweptAt, resolutions } = await pool.snapshot((sql) => readOracleFigures(sql, RECENT));
  return {
    supportedFeeds: oracle.feeds.size,
    eligibleMarkets,
    lastSweepAt: sweptAt,
    recentResolutions: resolutions.flatMap(resolution),
  };
}

/** @throws Fault NOT_FOUND for an unknown feed */
async function samples(
  { pool, oracle }: ServiceContext,
  { feed: name, limit }: Input<"listFeedSamples">,
): Promise<Result<"listFeedSamples">> {
  const [feed] = namedFeeds(oracle, [name]);
  invariant(feed, "a name that is known has a feed");
  const rows = await pool.read((sql) => listSamples(sql, feed.sources, limit));
  const found = feed.sources.map(({ use, id }) => ({
    source: use,
    symbol: id,
    rows: rows.filter(({ source, symbol }) => source === use && symbol === id),
  }));
  const newest = found.flatMap(({ rows: own }) => newestPrice(own) ?? []);
  const [first, ...others] = newest;
  const middle = first && medianOf([first, ...others]);
  const sources = found.map(({ rows: own, ...source }) => {
    const price = newestPrice(own);
    return {
      ...source,
      apart: price && middle ? decimalText(subtractDecimals(price, middle)) : null,
      confirmedAt: own.at(-1)?.confirmedAt ?? null,
      samples: own.map(({ observedAt, receivedAt, price: text }) => ({ observedAt, receivedAt, price: text })),
    };
  });
  return { feed: feed.key, sources };
}

function newestPrice(rows: readonly SampleRow[]): Decimal | undefined {
  return parseDecimal(rows.at(-1)?.price ?? "");
}

/** @throws Fault NOT_FOUND for an unknown feed, REFUSED in a process without the tenant's sources */
async function checkNow({ oracle, sweeps }: ServiceContext, names: readonly string[]): Promise<Result<"checkFeeds">> {
  const feeds = namedFeeds(oracle, names);
  if (!sweeps.check) throw noSources();
  return sweeps.check(feeds);
}

/** @throws Fault REFUSED in a process without the tenant's sources, or the first failure of a market */
async function sweepNow(context: ServiceContext, caller: Caller): Promise<Result<"sweepOracle"> | Answered> {
  const { sweeps } = context;
  if (!sweeps.run) throw noSources();
  const { failures, ...report } = await sweeps.run();
  if (failures.length > 0) throw failures[0];
  const { watched, asked, settled, held } = report;
  const result = { watched, asked, settled, held };
  // A timer may sweep each minute: without a reason, what came of nothing is not recorded.
  if (caller.reason === undefined && settled.length + held.length === 0) return result;
  const payload = { watched, settled: settled.length, held: held.length };
  return submit(
    context,
    "sweepOracle",
    { type: "recordAct", act: { type: "oracle.swept", payload } },
    caller,
    () => result,
  );
}

function noSources(): Fault {
  return new Fault("REFUSED", "This process has no price sources: they need pmctl serve");
}

/** A custom oracle may resolve a market without a feed or a price. Such a resolution is only in the audit log. */
function resolution({
  seq,
  ts,
  question,
  terms,
  payload,
}: ResolutionRow): Result<"getOracleStatus">["recentResolutions"] {
  const content = contentOf({ type: "oracle.resolved", payloadText: payload });
  if (content?.type !== "oracle.resolved") return [];
  const { marketId, ref, price, strike, outcome } = content.payload;
  if (!marketId || !ref || price === undefined || strike === undefined) return [];
  const strikes = strikesOf(Number(strike), terms === null ? undefined : decodeTerms(terms));
  return [
    {
      sequence: Number(seq),
      ts: Date.parse(ts),
      marketId,
      ref,
      price: Number(price),
      strike: Number(strike),
      strikes,
      outcome: outcome === "yes" ? 1 : 0,
      question,
    },
  ];
}

/** A custom oracle may have used another strike than the market's own; then only that strike is known. */
function strikesOf(strike: number, terms: MarketTerms | undefined): number[] {
  const upper = terms && Number(terms.strike) === strike ? terms.upperStrike : undefined;
  return upper ? [strike, Number(upper)] : [strike];
}

async function held({ pool }: ServiceContext, id: string | undefined): Promise<Result<"listHeldMarkets">> {
  const rows = await pool.read((sql) => listHeldMarkets(sql, { id, limit: MAX_HELD }));
  return rows.map(({ id: marketId, ...row }) => ({ marketId, ...row }));
}

/** The price is stored before the answer. It needs no place in the order of commits, because it moves no money. */
async function receivePrice(
  { pool, oracle, auditKey }: ServiceContext,
  { source, id, price, observedAt }: Input<"receivePrice">,
  arrived: Caller["webhook"],
): Promise<Result<"receivePrice">> {
  // The signed bytes contain every digit of a number; the parsed value has only the digits of a double.
  const stated = arrived ? numberTextAt(parseExactJson(arrived.body), "/price") : String(price);
  const value = parseDecimal(stated ?? "");
  if (!value) throw new Fault("BAD_REQUEST", "price: must be a plain decimal");
  if (!oracle.pushSources.has(source))
    throw new Fault("BAD_REQUEST", "source: the tenant file has no source of kind push with this name");
  const now = await pool.read(readClock);
  if (observedAt > now + MAX_AHEAD_MS) throw new Fault("BAD_REQUEST", "observedAt: must not be in the future");
  const tick = { source, symbol: id, observedAt, price: decimalText(value), conf: null };
  // Deliveries may be late, so the time of arrival proves nothing. Only an observation at or after an instant shows
  // that no earlier observation is missing.
  const confirmedAt = observedAt + SETTLING_MS;
  await pool.write((sql) => recordTicks(sql, [{ ...tick, receivedAt: now, confirmedAt }], auditKey));
  return { received: true };
}
