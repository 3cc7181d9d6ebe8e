import { Fault } from "../fault.ts";

/** How long a held quote may be used. */
export const QUOTE_LIFE_MS = 10_000;

/** What a held quote promises to the user and the terms that it was made for. */
export interface HeldQuote {
  /** The last instant at which it executes, milliseconds since the epoch by the database's clock. */
  expiresAt: number;
  /**
   * The market's volume when it was made. Each trade adds to it and nothing takes from it, so the quote's own trade is among
   * those that end the quote, wherever the price goes afterwards.
   */
  volumeMicro: bigint;
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

type Promised = Pick<HeldQuote, "amountMicro" | "feeMicro" | "sharesMicro" | "yesPriceAfter">;

/**
 * Computes a trade that is to come out as it was quoted.
 * @param compute what the trade comes to now; a refusal of it says that price or fee are others than when it was quoted
 * @throws Fault QUOTE_MOVED
 */
export function asQuoted<Fill extends Promised>(
  quote: HeldQuote | undefined,
  marketVolumeMicro: bigint,
  compute: () => Fill,
): Fill {
  if (quote === undefined) return compute();
  if (marketVolumeMicro !== quote.volumeMicro) throw moved();
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
