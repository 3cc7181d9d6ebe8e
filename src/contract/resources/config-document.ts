import { z } from "zod";
import { MARKET_KINDS } from "../../domain/market/market-makers.ts";
import { MAX_AMOUNT_USD } from "../../domain/money.ts";
import { text } from "../scalars.ts";
import { MarketInput } from "./markets.ts";
import { PolicyPatchSchema } from "./policy.ts";

/** A market's identity in the files. */
export const MarketKey = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "must be lower-case letters, digits, dots, - and _ (at most 64)");

const State = z.enum(["open", "suspended"]);

/** A market that a file declares, to be created with the state that it wants. */
export const ConfigMarketInput = MarketInput.extend({ key: MarketKey, state: State }).meta({ id: "ConfigMarketInput" });

const usd = z.number().min(0).max(MAX_AMOUNT_USD);

/** A market's terms as a document keeps them: dollars, and instants in milliseconds. */
const DeclaredTerms = z
  .object({
    question: text(500),
    category: text(64),
    kind: z.enum(MARKET_KINDS),
    p0: z.number().min(0).max(1),
    closeAt: z.number().int(),
    resolutionRef: text(500),
    meta: z.record(z.string(), z.json()),
    liquidityUsd: usd.optional(),
    state: State,
  })
  .catchall(z.json());

/**
 * The document of an apply, as far as later plans read it; the other sections are those of the tenant file. Nothing here
 * changes a value, because documents are compared by their text.
 */
export const ConfigDocumentInput = z
  .object({
    tenant: text(64),
    kyc: z.object({ required: z.boolean() }).catchall(z.json()),
    treasury: z.object({ capitalUsd: usd }).catchall(z.json()),
    markets: z.object({ liquidityUsd: usd }).catchall(z.json()),
    policy: PolicyPatchSchema,
    keyring: z.record(text(64), text(2000)),
    declared: z.record(text(64), DeclaredTerms),
    adopted: z.record(text(200), z.json()),
  })
  .catchall(z.json())
  .meta({
    id: "ConfigDocument",
    description: "What the files say, without secrets, for later plans to compare with.",
  });
