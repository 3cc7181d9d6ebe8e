import { z } from "zod";

/*
 * What answers hold that was stored: perhaps by an older version under other rules, or added up beyond what any one input
 * may be. Inputs state what is accepted; these state what can come.
 */

/** Text as it was stored, of any length and with any character. */
export const StoredText = z.string();

export const StoredQuestion = StoredText.meta({
  description: "Shown to traders.",
  examples: ["Will BTC close above 100,000?"],
});
export const StoredReference = StoredText.meta({
  description: "Human-readable resolution source.",
  examples: ["pm:btc > 100000"],
});
export const StoredCategory = StoredText.meta({ description: "Category.", examples: ["crypto"] });
export const StoredName = StoredText.meta({ description: "Name of a key.", examples: ["ops"] });
export const StoredUserId = StoredText.meta({
  description: "The user's identifier, the `sub` of its JWT.",
  examples: ["usr_1"],
});

export const StoredMeta = z
  .record(z.string(), z.json())
  .meta({ id: "StoredMeta", description: "Key-value metadata as it was stored." });

/** Older versions sold shares for more than the dollar that they can pay. */
export const AveragePrice = z
  .number()
  .min(0)
  .meta({
    id: "AveragePrice",
    description: "US dollars per share, fee included; above 1 only for what older versions sold so dear.",
    examples: [0.516378],
  });

export const StoredHedgeRef = z
  .object({
    symbol: StoredText,
    direction: z.enum(["long", "short"]),
    notional: z.number().meta({ description: "Minor units (cents)." }),
    externalRef: StoredText,
  })
  .meta({ id: "StoredHedgeRef", description: "The external leveraged position that the trade hedges." });
