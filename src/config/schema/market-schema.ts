import { z } from "zod";
import { ConfigMarketInput } from "../../contract/resources/config-document.ts";
import { MarketId } from "../../contract/scalars.ts";

const { key, state } = ConfigMarketInput.shape;

/** A market in a file: the body of `POST /v1/markets` with an identity and a wanted state. */
export const MarketEntrySchema = ConfigMarketInput.extend({
  key: key.meta({
    description: "The market's identity in the files, unique per tenant; never reuse one.",
    examples: ["rain-2030"],
  }),
  state: state.default("open").describe("Whether the market trades."),
  moved: key.optional().meta({
    description: "The market's previous key, for a rename. May stay after the apply.",
    examples: ["old-key"],
  }),
  import: MarketId.optional().meta({
    description:
      "The id of an existing market without a key: it gets this key, and no market is created. May stay after the apply.",
    examples: ["mkt_019f2c3a7b"],
  }),
})
  .strict()
  .meta({ id: "MarketEntry", description: "A market: created once, never settled or deleted by a file." });

/** More in one file are a mistake, or a job for the API. */
export const MAX_MARKETS_PER_FILE = 1000;

/** `tenants/<id>/markets/*.yaml`: one market, or a list of them. */
export const MarketFileSchema = z
  .union([MarketEntrySchema, z.array(MarketEntrySchema).max(MAX_MARKETS_PER_FILE)])
  .meta({ title: "pmctl market file", description: "One market, or a list of markets." });

export type MarketEntry = z.output<typeof MarketEntrySchema>;
