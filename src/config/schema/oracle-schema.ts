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
  "JSON pointer to the power of ten by which to multiply the number, such as /expo.",
);

const ScaledNumber = z.strictObject({
  pointer: Pointer.describe("JSON pointer to a number, or to a text with a number."),
  expoPointer,
});

const Time = z.strictObject({
  pointer: Pointer.describe("JSON pointer to the time of the observation."),
  unit: z
    .enum(["s", "ms", "ns", "rfc3339"])
    .describe("Seconds, milliseconds or nanoseconds since 1970, or an RFC 3339 text."),
});

const answerValue = z.union([z.string().max(512), z.number(), z.boolean(), z.null()]);

const OkWhen = z
  .strictObject({
    pointer: Pointer.describe("JSON pointer to the status."),
    equals: answerValue.optional().describe("The response is valid only with this value."),
    notEquals: answerValue.optional().describe("The response is valid only with another value."),
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
  requests: z.number().int().min(1).max(1_000_000).describe("Largest number of requests in the period."),
  per: duration(DAY_MS).describe("The period, such as 1m."),
});

const Headers = z.record(
  z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "must be the name of a header"),
  z.union([SecretReference, z.string().max(512)]).meta({ writeOnly: true }),
);

/** Every field is optional, because a source with a preset's name states only its changes; a rule checks the rest. */
const Source = z
  .strictObject({
    url: OutgoingUrl.optional().meta({
      description: "Address of a price; {id} is replaced by the feed's id at this source.",
      examples: ["https://prices.acme.example/{id}"],
    }),
    headers: Headers.optional().describe(
      "Request headers as secret references; only accept and user-agent may be literal.",
    ),
    query: z
      .record(z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "must be the name of a parameter"), SecretReference)
      .optional()
      .describe("Parameters of the address by secret reference, for sources that take their key there."),
    price: ScaledNumber.optional().describe("Where the price is in the response."),
    conf: ScaledNumber.optional().describe("Where the confidence interval is in the response."),
    time: Time.optional().describe("Where the time of the price is in the response."),
    okWhen: OkWhen.optional().describe("When a response is valid; some sources report errors with status 200."),
    timeout: duration(30_000).optional().describe("Timeout of a request; the default is 5s."),
    limit: Limit.optional().describe(
      "Largest number of requests in a period, by your plan at the source; further requests wait.",
    ),
    upstream: Name.optional().describe(
      "The origin of the source's prices; sources with the same upstream count once for a quorum.",
    ),
    push: z.literal(true).optional().describe("You send signed prices yourself, to /oracle/inbound/<tenant>."),
    simulated: Simulated.optional().describe("Invented prices instead of an address; needs sandbox: true."),
  })
  .describe("A source of prices.");

const FeedSource = z.strictObject({
  use: Name.meta({ description: "Name of a source: one of oracle.sources or a preset.", examples: ["pyth"] }),
  id: text(256).meta({ description: "The source's name of the instrument.", examples: ["BTCUSD"] }),
});

/** In decoded form, spans are milliseconds and percentages ratios. Unstated values come from the built-in feed. */
const Feed = z
  .strictObject({
    sources: z.array(FeedSource).min(1).max(16).optional().describe("The sources, best first."),
    quorum: z.number().int().min(1).max(16).optional().describe("Number of sources that must answer."),
    aggregate: z.enum(["median", "first"]).optional().describe("The median of the answers, or the first source's."),
    maxAge: duration(7 * DAY_MS)
      .optional()
      .describe("Largest age of a price at the instant that it decides, such as 60s."),
    maxSpread: Percentage.optional().describe("Largest difference between sources, such as 0.5%."),
    maxJump: Percentage.optional().describe("Largest difference from the last valid price, such as 10%."),
    maxConf: Percentage.optional().describe("Largest confidence interval, relative to the price."),
    bounds: z
      .tuple([z.number(), z.number()])
      .refine(([low, high]) => low < high, "must be [lowest, highest]")
      .optional()
      .describe("Lowest and highest plausible price; outside, the oracle holds the market."),
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
    "Signs requests to resolution_url; the default is the shared inbound webhook secrets.",
  ),
  previousResolutionSecrets: previousSecrets("requests to resolution_url are signed with them"),
  sources: z.record(Name, Source).default({}).describe("Sources of prices, and changes of presets, by name."),
  venues: z
    .record(VenueName, z.record(InstrumentName, Feed))
    .default({})
    .describe("Feeds by venue and instrument. pm is the built-in venue; other venues add feeds."),
});
