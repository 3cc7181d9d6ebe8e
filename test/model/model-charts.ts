import { type Expected, Like, OneOf } from "./match.ts";
import { buy, type Maker, type Side, spendTo, yesMillionths } from "./model-makers.ts";
import { ONE, usd } from "./model-numbers.ts";
import { type Market, type Moment, type State, statusesOf } from "./model-state.ts";

const CENT = 10_000n;
const HIGHEST = 999_000n;
const HOUR_MS = 3_600_000;

/** The ladder of both sides; a market that takes no trades has nothing on offer. */
export function depthOf(market: Market, during: Moment): Expected {
  const statuses = statusesOf(market, during);
  const open = { yes: ladder(market.maker, "yes"), no: ladder(market.maker, "no") };
  const none = { yes: [], no: [] };
  if (!statuses.includes("open")) return none;
  return statuses.length === 1 ? open : new OneOf([open, none]);
}

/** To the next whole cent above the price, then cent by cent, ten levels at most and never past 0.999. */
function ladder(maker: Maker, side: Side): Expected {
  const yes = yesMillionths(maker);
  const price = side === "yes" ? yes : ONE - yes;
  const first = (price / CENT + 1n) * CENT;
  const rungs = Array.from({ length: 10 }, (_, index) => first + BigInt(index) * CENT)
    .map((rung) => (rung > HIGHEST ? HIGHEST : rung))
    .filter((rung, index, all) => rung > price && rung !== all[index - 1]);
  const levels: { price: number; size: bigint }[] = [];
  let bought = 0n;
  for (const rung of rungs) {
    const net = spendTo(maker, side, rung) >> 160n;
    const shares = net > 0n ? (buy(maker, side, net)[0]?.out ?? 0n) : 0n;
    if (shares <= bought) continue;
    levels.push({ price: Number(rung) / 1e6, size: shares - bought });
    bought = shares;
  }
  return new Ladder(levels);
}

/** The spend up to a cent is no integer, so that a level may be off by the shares of a few micro-dollars. */
class Ladder extends Like {
  constructor(levels: readonly { price: number; size: bigint }[]) {
    super(`the ladder ${levels.map(({ price, size }) => `${price}: ${usd(size)}`).join(", ")}`, (actual) => {
      if (!Array.isArray(actual)) return false;
      const near = (index: number, size: unknown) => {
        const exact = usd(levels[index]?.size ?? 0n);
        return typeof size === "number" && Math.abs(size - exact) <= 0.01 + exact * 1e-9;
      };
      const tiny = levels.filter(({ size }) => size < 10_000n).length;
      if (Math.abs(actual.length - levels.length) > tiny) return false;
      return (
        tiny > 0 || actual.every((level, index) => level.price === levels[index]?.price && near(index, level.size))
      );
    });
  }
}

/** A server keeps a history for five seconds, unless something happens to the market. */
const OLDEST_END_MS = 6000;

/** p0 at creation, the price that held at each full hour since, and the latest one last. */
export function historyOf(state: State, market: Market, { from, to }: Moment): Expected {
  return new Like(`the prices of ${market.id}`, (actual) => {
    if (!Array.isArray(actual)) return false;
    const points = actual as { t: string; yes: number; no: number }[];
    const created = Date.parse(market.createdAt);
    const last = points.at(-1);
    const end = market.settledAt ? Date.parse(market.settledAt) : Date.parse(last?.t ?? "");
    if (!market.settledAt && !(end >= from - OLDEST_END_MS && end <= to + 1000)) return false;
    const hours = [];
    for (let hour = (Math.floor(created / HOUR_MS) + 1) * HOUR_MS; hour < end; hour += HOUR_MS) hours.push(hour);
    const expected = [
      { t: created, yes: market.maker.p0 },
      ...hours.map((t) => ({ t, yes: priceBefore(state, market, t) })),
      { t: end, yes: yesMillionths(market.maker) },
    ];
    return (
      points.length === expected.length &&
      expected.every(({ t, yes }, index) => {
        const point = points[index];
        const isNear = (value = 0, ppm: bigint) => Math.abs(value - Number(ppm) / 1e6) < 1.5e-6;
        return (
          point !== undefined && Date.parse(point.t) === t && isNear(point.yes, yes) && isNear(point.no, ONE - yes)
        );
      })
    );
  });
}

function priceBefore(state: State, { id, maker }: Market, t: number): bigint {
  const before = state.trades.findLast(({ marketId, ts }) => marketId === id && Date.parse(ts) < t);
  return before?.yesAfter ?? maker.p0;
}
