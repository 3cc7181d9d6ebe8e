import { Fault, type FaultCode } from "../../domain/fault.ts";
import { Answered, type Handlers } from "../../services/invoke.ts";

export const HELD_QUOTE_RESULTS = ["issued", "executed", "moved", "expired", "invalid"] as const;
export type HeldQuoteResult = (typeof HELD_QUOTE_RESULTS)[number];

const REFUSED: Partial<Record<FaultCode, HeldQuoteResult>> = {
  QUOTE_MOVED: "moved",
  QUOTE_EXPIRED: "expired",
  QUOTE_INVALID: "invalid",
};

/** The same handlers, which count what becomes of held quotes. */
export function countingHeldQuotes(
  handlers: Handlers,
  metrics: { countHeldQuote(result: HeldQuoteResult): void },
): Handlers {
  const { quoteTrade, placeTrade } = handlers;
  if (!quoteTrade || !placeTrade) return handlers;
  return {
    ...handlers,
    async quoteTrade(input, caller) {
      const quote = await quoteTrade(input, caller);
      if (input.hold) metrics.countHeldQuote("issued");
      return quote;
    },
    async placeTrade(input, caller) {
      if (input.quote === undefined) return placeTrade(input, caller);
      try {
        const trade = await placeTrade(input, caller);
        const isRepeated = trade instanceof Answered && trade.replayed;
        if (!isRepeated) metrics.countHeldQuote("executed");
        return trade;
      } catch (error) {
        const result = error instanceof Fault ? REFUSED[error.code] : undefined;
        if (result) metrics.countHeldQuote(result);
        throw error;
      }
    },
  };
}
