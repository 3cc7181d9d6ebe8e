import { z } from "zod";

/*
 * Schemas of stored values in answers. Input schemas state what is accepted; these state what can be returned: an answer is
 * given whatever a row holds, and sums may exceed what any one input accepts.
 */

/** Text of any length, with any character. */
export const StoredText = z.string();

export const StoredQuestion = StoredText.meta({
  description: "The question as traders see it.",
  examples: ["Will BTC close above 100,000?"],
});
export const StoredReference = StoredText.meta({
  description: "The source that decides the outcome, in readable form.",
  examples: ["pm:btc > 100000"],
});
export const StoredCategory = StoredText.meta({ description: "The market's category.", examples: ["crypto"] });
export const StoredName = StoredText.meta({ description: "The name of the API key.", examples: ["ops"] });
export const StoredUserId = StoredText.meta({
  description: "The user's identifier, the `sub` of its JWT.",
  examples: ["usr_1"],
});

export const StoredMeta = z
  .record(z.string(), z.json())
  .meta({ id: "StoredMeta", description: "The market's key-value metadata." });

export const AveragePrice = z
  .number()
  .min(0)
  .meta({
    id: "AveragePrice",
    description: "US dollars per share, fee included.",
    examples: [0.511224],
  });

export const StoredHedgeRef = z
  .object({
    symbol: StoredText,
    direction: z.enum(["long", "short"]),
    notional: z.number().meta({ description: "Minor units (cents)." }),
    externalRef: StoredText,
  })
  .meta({ id: "StoredHedgeRef", description: "The external leveraged position that the trade hedges." });
