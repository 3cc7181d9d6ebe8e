import { Fault } from "../fault.ts";
import { type DaySums, NO_DAY } from "./running-sums.ts";

/** How long a held quote may be used. */
export const QUOTE_LIFE_MS = 10_000;

/** What a held quote promises to the user and the terms that it was made for. */
export interface HeldQuote {
  /** The last instant at which it executes, milliseconds since the epoch by the database's clock. */
  expiresAt: number;
  /** How far the user's trades in this side had come when it was made: see {@link markOf}. */
  mark: bigint;
  amountMicro: bigint;
  feeMicro: bigint;
  sharesMicro: bigint;
  yesPriceAfter: number;
}

/** A quote that came with a trade; `invalid` where it was not made by this tenant for this user and these terms. */
export type GivenQuote = HeldQuote | "invalid";

/**
 * @param now milliseconds since the epoch, by the clock that decides the trade
 * @throws Fault QUOTE_INVALID or QUOTE_EXPIRED
 */
export function inForce(quote: GivenQuote, now: number): HeldQuote {
  if (quote === "invalid") throw new Fault("QUOTE_INVALID", "The quote is not one for this user and these terms");
  if (now > quote.expiresAt)
    throw new Fault("QUOTE_EXPIRED", "The quote has expired", {
      detail: { limit: new Date(quote.expiresAt).toISOString(), value: new Date(now).toISOString() },
    });
  return quote;
}

/**
 * How far a user's trades in one side of a market have come: the start of the day of the last one, in milliseconds, and its
 * number on that day, of which there are fewer than the day has milliseconds. Each trade adds to it and nothing takes from
 * it, so the quote's own trade ends the quote, wherever the price goes afterwards; trades of others leave it alone.
 */
export function markOf({ day, dayTrades }: Pick<DaySums, "day" | "dayTrades"> = NO_DAY): bigint {
  return BigInt(day) + BigInt(dayTrades);
}

type Promised = Pick<HeldQuote, "amountMicro" | "feeMicro" | "sharesMicro" | "yesPriceAfter">;

/**
 * Computes a trade that is to come out as it was quoted.
 * @param mark how far the user's trades in this side have come by now
 * @param compute what the trade comes to now; a refusal of it says that price or fee are others than when it was quoted
 * @throws Fault QUOTE_MOVED
 */
export function asQuoted<Fill extends Promised>(quote: HeldQuote | undefined, mark: bigint, compute: () => Fill): Fill {
  if (quote === undefined) return compute();
  if (mark !== quote.mark) throw moved();
  let fill: Fill;
  try {
    fill = compute();
  } catch (cause) {
    if (cause instanceof Fault) throw moved(cause);
    throw cause;
  }
  if (!isAsPromised(fill, quote)) throw moved();
  return fill;
}

function isAsPromised(fill: Promised, quote: Promised): boolean {
  return (
    fill.amountMicro === quote.amountMicro &&
    fill.feeMicro === quote.feeMicro &&
    fill.sharesMicro === quote.sharesMicro &&
    fill.yesPriceAfter === quote.yesPriceAfter
  );
}

function moved(cause?: Fault): Fault {
  const message = "Price or fee have moved since the quote, or it has been used; nothing was traded";
  return new Fault("QUOTE_MOVED", message, { cause });
}
