import { z } from "zod";
import { Name, text } from "../../contract/scalars.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { duration, OutgoingUrl, Percentage, previousSecrets, SecretReference } from "./scalars.ts";

/** RFC 6901, plus `*` (the only key) and `-1` (the last element). */
const Pointer = z
  .string()
  .max(512)
  .regex(/^(\/([^~/]|~[01])*)*$/, "must be a JSON pointer such as /result/*/-1/4");

const expoPointer = Pointer.optional().describe(
  "Where the power of ten stands that the number is multiplied with, such as /expo.",
);

const ScaledNumber = z.strictObject({
  pointer: Pointer.describe("Where the number is in the answer; a number or a numeric text."),
  expoPointer,
});

const Time = z.strictObject({
  pointer: Pointer.describe("Where the time of the observation is in the answer."),
  unit: z.enum(["s", "ms", "ns", "rfc3339"]).describe("Seconds, milliseconds or nanoseconds since 1970, or a text."),
});

const answerValue = z.union([z.string().max(512), z.number(), z.boolean(), z.null()]);

const OkWhen = z
  .strictObject({
    pointer: Pointer.describe("Where the status is in the answer."),
    equals: answerValue.optional().describe("The answer counts only with this value."),
    notEquals: answerValue.optional().describe("The answer counts only with another value."),
  })
  .refine(
    ({ equals, notEquals }) => (equals === undefined) !== (notEquals === undefined),
    "needs exactly one of equals and notEquals",
  );

const Simulated = z.strictObject({
  start: z.number().positive().describe("The first price."),
  volatility: z.number().min(0).max(10).default(0.02).describe("Typical relative change in a day; 0.02 is 2 %."),
  seed: z.number().int().default(1).describe("The same seed gives the same prices."),
});

const Limit = z.strictObject({
  requests: z.number().int().min(1).max(1_000_000).describe("Largest number of requests within the time."),
  per: duration(DAY_MS).describe("The time that the number is for, such as 1m."),
});

const Headers = z.record(
  z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "must be the name of a header"),
  z.union([SecretReference, z.string().max(512)]).meta({ writeOnly: true }),
);

/** Every field is optional, because a source with a preset's name states only what it changes; a rule checks the rest. */
const Source = z
  .strictObject({
    url: OutgoingUrl.optional().meta({
      description: "Address of a price; {id} becomes the feed's id at this source.",
      examples: ["https://prices.acme.example/{id}"],
    }),
    headers: Headers.optional().describe(
      "Request headers by secret reference; only accept and user-agent may be literal.",
    ),
    query: z
      .record(z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "must be the name of a parameter"), SecretReference)
      .optional()
      .describe("Parameters of the address by secret reference, for sources that take their key there."),
    price: ScaledNumber.optional().describe("Where the price is in the answer."),
    conf: ScaledNumber.optional().describe("Where the confidence interval is in the answer."),
    time: Time.optional().describe("Where the time of the price is in the answer."),
    okWhen: OkWhen.optional().describe("When an answer counts; some sources report errors with status 200."),
    timeout: duration(30_000).optional().describe("How long to wait for an answer; 5s unless given."),
    limit: Limit.optional().describe(
      "How many requests may go out within a time, as the plan at the source has it; the rest waits.",
    ),
    upstream: Name.optional().describe(
      "Where the source has its prices from; sources of one upstream count once for a quorum.",
    ),
    push: z.literal(true).optional().describe("Prices that you send yourself, signed, to /oracle/inbound/<tenant>."),
    simulated: Simulated.optional().describe("Invented prices instead of an address; needs sandbox: true."),
  })
  .describe("Where prices come from.");

const FeedSource = z.strictObject({
  use: Name.meta({ description: "Name of a source: one of oracle.sources or a preset.", examples: ["pyth"] }),
  id: text(256).meta({ description: "What the source calls the instrument.", examples: ["BTCUSD"] }),
});

/** Decoded: spans are milliseconds, percentages are ratios. What is not stated keeps the built-in feed's value. */
const Feed = z
  .strictObject({
    sources: z.array(FeedSource).min(1).max(16).optional().describe("The sources to ask, the best first."),
    quorum: z.number().int().min(1).max(16).optional().describe("How many sources must answer."),
    aggregate: z.enum(["median", "first"]).optional().describe("The median of the answers, or the first source's."),
    maxAge: duration(7 * DAY_MS)
      .optional()
      .describe("How old a price may be at the instant it decides, such as 60s."),
    maxSpread: Percentage.optional().describe("How far the sources may lie apart, such as 0.5%."),
    maxJump: Percentage.optional().describe("How far a price may be from the last good one, such as 10%."),
    maxConf: Percentage.optional().describe("How wide the confidence interval may be, relative to the price."),
    bounds: z
      .tuple([z.number(), z.number()])
      .refine(([low, high]) => low < high, "must be [lowest, highest]")
      .optional()
      .describe("Lowest and highest plausible price; outside, a market is held."),
  })
  .describe("One instrument of a venue.");

const VenueName = z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, "must be a venue name in lower case such as acme");
const InstrumentName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,31}$/, "must be an instrument name in lower case such as btc");

/** The `oracle` section of the tenant file. */
export const OracleSection = z.strictObject({
  sweepSeconds: z.number().int().min(1).max(3600).default(30).describe("Seconds between two sweeps."),
  resolutionSecret: SecretReference.optional().describe(
    "Signs requests to resolution_url; without it the shared inbound webhook secrets do.",
  ),
  previousResolutionSecrets: previousSecrets("requests to resolution_url are signed with them"),
  sources: z.record(Name, Source).default({}).describe("Sources of prices, and changes to the presets, by name."),
  venues: z
    .record(VenueName, z.record(InstrumentName, Feed))
    .default({})
    .describe("Feeds by venue and instrument; pm is the built-in venue, others add feeds."),
});
