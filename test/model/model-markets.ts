import { anyId, Between } from "./match.ts";
import { openMaker, priceOf, type Side, yesPrice } from "./model-makers.ts";
import { decimal, ONE, sum } from "./model-numbers.ts";
import { waitingFor } from "./model-proposals.ts";
import {
  amountOf,
  type Market,
  marketOf,
  type Outcome,
  type Request,
  refuse,
  type State,
  statusesOf,
  unchanged,
} from "./model-state.ts";

const SLUG = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/i;
const ZONED = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** F goes from the treasury into the market; the pool opens at p0. */
export function judgeCreation(state: State, { body, actor, during }: Request): Outcome[] {
  const { question, category, kind, p0, closeAt, resolutionRef, meta = {}, liquidityUsd } = body;
  const isText = (value: unknown) => typeof value === "string" && value.length >= 1 && value.length <= 500;
  const p0Given = typeof p0 === "number" && p0 >= 0.001 && p0 <= 0.999 ? p0 : undefined;
  const closes = typeof closeAt === "string" && ZONED.test(closeAt) ? Date.parse(closeAt) : Number.NaN;
  const fund = liquidityUsd === undefined ? state.liquidity : amountOf(liquidityUsd);
  if (!isText(question) || !isText(resolutionRef) || typeof category !== "string" || !SLUG.test(category))
    return refuse("BAD_REQUEST");
  if ((kind !== "cpmm" && kind !== "lmsr") || p0Given === undefined || fund === undefined) return refuse("BAD_REQUEST");
  if (!(closes > during.from)) return refuse("BAD_REQUEST");
  const maker = openMaker(kind, fund, BigInt(Math.round(p0Given * 1e6)));
  if (maker.yes === 0n || maker.no === 0n) return refuse("BAD_REQUEST");
  if (fund > state.treasury) return refuse("TREASURY_INSUFFICIENT");
  const { numerator, denominator } = yesPrice(maker);
  const answer = {
    id: anyId,
    status: "open",
    yesPrice: priceOf(numerator, denominator),
    createdAt: new Between(during.from, during.to),
  };
  return [
    {
      answer,
      commit: (answered) => {
        const { id, createdAt } = answered as { id: string; createdAt: string };
        state.treasury -= fund;
        state.markets.push({
          id,
          question: String(question),
          category,
          resolutionRef: String(resolutionRef),
          meta: meta as Record<string, unknown>,
          closeAt: closes,
          createdAt,
          status: "open",
          closingRecorded: false,
          outcome: null,
          settledAt: null,
          reason: null,
          corrections: [],
          clarifications: [],
          maker,
        });
        const payload = { marketId: id, question, category, kind, resolutionRef, liquidity: decimal(fund) };
        return [{ type: "market.created", actor, payload }];
      },
    },
  ];
}

/** From open only; suspending or resuming again changes nothing. A proposal to end it keeps a market suspended. */
export function judgeHalt(state: State, { operation, params, actor, during }: Request): Outcome[] {
  const market = marketOf(state, params.id);
  if (!market) return refuse("MARKET_NOT_FOUND");
  const wanted = operation === "suspendMarket" ? "suspended" : "open";
  return statusesOf(market, during).flatMap((status): Outcome[] => {
    if (status === "settled" || status === "closed") return refuse(`MARKET_${status.toUpperCase()}`);
    const answer = { id: market.id, status: wanted };
    if (market.status === wanted) return unchanged(answer);
    if (wanted === "open" && waitingFor(state, `market:${market.id}`)) return refuse("PROPOSAL_PENDING");
    const type = wanted === "suspended" ? "market.suspended" : "market.resumed";
    const commit = () => {
      market.status = wanted;
      return [{ type, actor, payload: { marketId: market.id } }];
    };
    return [{ answer, commit }];
  });
}

/** A text of 1 to 1000 characters is added to any market but a settled one, and the twentieth is the last. */
export function judgeClarification(state: State, { params, body, actor, during }: Request): Outcome[] {
  const { text } = body;
  if (typeof text !== "string" || text.trim() === "" || text.length > 1000) return refuse("BAD_REQUEST");
  const market = marketOf(state, params.id);
  if (!market) return refuse("MARKET_NOT_FOUND");
  if (market.status === "settled") return refuse("MARKET_SETTLED");
  if (market.clarifications.length >= 20) return refuse("LIMIT_REACHED");
  const answer = { id: anyId, marketId: market.id, text, at: new Between(during.from, during.to) };
  return [
    {
      answer,
      commit: (answered) => {
        const { id, at } = answered as { id: string; at: string };
        market.clarifications.push({ id, text, at });
        return [{ type: "market.clarified", actor, payload: { marketId: market.id, id, text } }];
      },
    },
  ];
}

/** How many YES and NO shares traders hold. */
export const heldOf = (state: State, id: string, wanted: Side): bigint =>
  sum(state.positions.filter(({ marketId, side }) => marketId === id && side === wanted).map(({ shares }) => shares));

/** A price that one YES share has now, on the wire. */
export function pricesOf({ maker }: Market) {
  const { numerator, denominator } = yesPrice(maker);
  return { yes: priceOf(numerator, denominator), no: priceOf(denominator - numerator, denominator) };
}

/** What holdings are worth at a price in millionths. */
export const worth = (shares: bigint, ppm: bigint): bigint => (shares * ppm) / ONE;
