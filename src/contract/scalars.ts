import { z } from "zod";
import { normalRange } from "../domain/access/networks.ts";
import { MARKET_KINDS, MARKET_MAKERS } from "../domain/market/market-makers.ts";
import { type Fraction, type Outcome as MarketOutcome, outcomeIn, outcomeOf } from "../domain/market/outcome.ts";
import { STATUS_WORDS, statusWordsProblem } from "../domain/market/status-filter.ts";
import { MAX_AMOUNT_USD, microFromUsd, usdFromMicro } from "../domain/money.ts";
import { PLAIN_LINE, unplainIn } from "../domain/text.ts";
import { formatTimestamp, parseTimestamp } from "../domain/time/timestamp.ts";
import { jsonFromMicro } from "./exact-number.ts";
import { unlessMissing } from "./issue-sentence.ts";

/** A visible character: neither a blank nor a mark without width. */
const VISIBLE = /[^\p{Z}\p{Cf}\s]/u;

/** PostgreSQL refuses NUL characters, and would store another character for half of a surrogate pair. */
const isStorable = (value: string) => !value.includes("\0") && value.isWellFormed();

/** Text of bounded length. */
export function text(maxLength: number, minLength = 1) {
  return z.string().min(minLength).max(maxLength).refine(isStorable, "must be well-formed text without NUL characters");
}

/**
 * A number in a query or path: plain digits only, because `Number` would also read `1e1`, `0x10` and blanks. Callers
 * within the process pass numbers.
 */
export function queryNumber<Schema extends z.ZodType>(schema: Schema, digits = /^-?(0|[1-9]\d*)(\.\d+)?$/) {
  const plain = (value: unknown) => (typeof value === "string" && digits.test(value) ? Number(value) : value);
  return z.preprocess(plain, schema);
}

/** A whole number in a query or path: `010` and `1.0` are refused. */
export const queryInteger = <Schema extends z.ZodType>(schema: Schema) => queryNumber(schema, /^-?(0|[1-9]\d*)$/);

/** @param legal characters that are shown like a blank */
function plain(maxLength: number, what: string, legal: RegExp) {
  const blanked = (value: string) => value.replace(legal, " ");
  return z
    .string()
    .min(1)
    .max(maxLength)
    .refine((value) => PLAIN_LINE.test(blanked(value)), {
      error: ({ input }) => `must be ${what}: it holds ${unplainIn(blanked(String(input)))}`,
    })
    .refine((value) => VISIBLE.test(value), "must not be blank");
}

/** One line of text that a terminal, a page and a log all show unchanged. */
export const line = (maxLength: number) => plain(maxLength, "one line of plain text", /(?!)/g);
/** The same for text of several lines: newlines and tabs are legal. */
export const paragraphs = (maxLength: number) => plain(maxLength, "plain text", /[\n\t]/g);

/** Names of keys, webhooks and sources. Audit entries contain them, so no spaces and no control characters. */
export const Name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "must be a name of letters, digits, dots, - and _ (at most 64)");

/** An address range or a single address. The decoded form always has a prefix length. */
export const Cidr = z.codec(z.string().min(1).max(64), z.string(), {
  decode: (range, context) => {
    const normal = normalRange(range);
    if (normal !== undefined) return normal;
    context.issues.push({
      code: "custom",
      input: range,
      message: "must be an address range such as 10.0.0.0/8 or fd00::/8",
    });
    return z.NEVER;
  },
  encode: (range) => range,
});

const URL_HINT = "must be an https address without credentials";

/**
 * An http(s) address without credentials, whether before an `@` or in a parameter such as `apikey=`: the address is
 * stored and shown in clear text.
 */
export function httpUrl(maxLength: number) {
  return line(maxLength).regex(
    /^https?:\/\/(?!.*(key|Key|KEY|token|Token|TOKEN|secret|Secret|SECRET|password|Password)=[^{])[^\s/?#@]+([/?][^\s#]*)?$/,
    { message: URL_HINT, abort: true },
  );
}

/**
 * An address that pmctl itself calls; `{id}` is a placeholder. The tenant's settings decide whether http is allowed.
 */
export const OutgoingUrl = httpUrl(2048).refine((address) => URL.canParse(address.replaceAll("{id}", "id")), URL_HINT);

const AT_MOST = `must be at most ${MAX_AMOUNT_USD}`;

const moneyFromJson = (value: number, context: z.core.ParsePayload<number>): bigint => {
  const micro = microFromUsd(value);
  if (micro !== undefined) return micro;
  const message = Math.abs(value) > MAX_AMOUNT_USD ? AT_MOST : "must have at most 6 decimals";
  context.issues.push({ code: "custom", input: value, message });
  return z.NEVER;
};

/** US dollars greater than zero: a JSON number outside, micro-dollars inside. */
export const UsdAmount = z
  .codec(z.number().positive().max(MAX_AMOUNT_USD, AT_MOST), z.bigint(), {
    decode: moneyFromJson,
    encode: usdFromMicro,
  })
  .meta({ id: "UsdAmount", description: "US dollars, greater than 0, at most six decimals.", examples: [25] });

/** A number in JSON. zod's own number type would refuse a sum that no double can hold. */
const sumInJson = (bounds: { minimum?: number }) =>
  z.unknown().meta({ type: "number", ...bounds }) as unknown as z.ZodType<number, number>;

/** A sum of any size, rounded to the micro-dollar, so that no answer fails because of its digits. */
const sumFromJson = (value: number, context: z.core.ParsePayload<number>): bigint => {
  const micro = typeof value === "number" ? microFromUsd(value) : undefined;
  if (micro !== undefined) return micro;
  const sum = Number(value);
  if (Number.isFinite(sum) && typeof value !== "string") return BigInt(Math.round(sum * 1e6));
  context.issues.push({ code: "invalid_type", expected: "number", input: value });
  return z.NEVER;
};

/** US dollars of either sign in an answer. */
export const Usd = z
  .codec(sumInJson({}), z.bigint(), { decode: sumFromJson, encode: jsonFromMicro })
  .meta({ id: "Usd", description: "US dollars, at most six decimals.", examples: [12.5] });

/** The total that a caller expects to be paid out. */
export const UsdTotal = z
  .codec(z.number(), z.bigint(), { decode: moneyFromJson, encode: usdFromMicro })
  .meta({ id: "UsdTotal", description: "US dollars, at most six decimals.", examples: [12.5] });

/** US dollars, not below zero. */
export const UsdOrNone = z
  .codec(z.number().min(0).max(MAX_AMOUNT_USD, AT_MOST), z.bigint(), { decode: moneyFromJson, encode: usdFromMicro })
  .meta({ id: "UsdOrNone", description: "US dollars, 0 or more, at most six decimals.", examples: [1000] });

export const Sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in hex")
  .meta({ id: "Sha256", description: "SHA-256 in hex.", examples: ["0".repeat(64)] });

/** Outcome shares in an answer: a JSON number outside, micro-shares inside. */
export const Shares = z
  .codec(sumInJson({ minimum: 0 }), z.bigint(), { decode: sumFromJson, encode: jsonFromMicro })
  .meta({ id: "Shares", description: "Outcome shares; a winning share pays 1 USD.", examples: [48.902232] });

/** Outcome shares greater than zero, as an input. */
export const ShareAmount = z
  .codec(z.number().positive().max(MAX_AMOUNT_USD, AT_MOST), z.bigint(), {
    decode: moneyFromJson,
    encode: usdFromMicro,
  })
  .meta({ id: "ShareAmount", description: "Outcome shares, greater than 0, at most six decimals.", examples: [10] });

export const Price = z
  .number()
  .min(0)
  .max(1)
  .meta({ id: "Price", description: "A price or probability from 0 to 1, six decimals.", examples: [0.512222] });

/** ISO 8601 in UTC outside, milliseconds since the epoch inside. */
export const Timestamp = z
  .codec(z.string(), z.number(), {
    decode: (value, context) => {
      const instant = parseTimestamp(value);
      if (instant !== undefined) return instant;
      context.issues.push({
        code: "custom",
        input: value,
        message: "must be an ISO 8601 timestamp with a zone, such as 2027-01-31T18:00:00Z",
      });
      return z.NEVER;
    },
    encode: formatTimestamp,
  })
  .meta({
    id: "Timestamp",
    description: "ISO 8601 with a zone; UTC in responses.",
    examples: ["2027-01-31T18:00:00.000Z"],
  });

export const MarketId = text(64).meta({
  id: "MarketId",
  description: "Opaque market identifier.",
  examples: ["mkt_019f2c3a7b"],
});

/** 1 to 255 characters, none of them a control character. */
export const UserId = z
  .string()
  .min(1)
  .max(255)
  .regex(/^\P{Cc}*$/u, "must not contain control characters")
  .refine(isStorable, "must be well-formed text")
  .meta({ id: "UserId", description: "The user's identifier, the `sub` of its JWT.", examples: ["usr_1"] });

/** A key that looks like an id could redirect a command that is meant for another market. */
export const MarketKey = z.string().regex(/^(?!mkt_)[a-z0-9][a-z0-9._-]{0,63}$/, {
  error: ({ input }) =>
    String(input).startsWith("mkt_")
      ? "must not begin with mkt_, as the ids of markets do"
      : "must be lower-case letters, digits, dots, - and _ (at most 64)",
});

export const Side = z.enum(["yes", "no"]).meta({ id: "Side", description: "A side of a binary market." });

const takes = (sides: string) => unlessMissing(`must be ${sides}, or {"yes": q} with 0 < q < 1, at most six decimals`);
/** A decimal text inside, such as "0.4"; an object with a number outside. */
const FractionOutcome = z.codec(
  z.strictObject({
    yes: z
      .number()
      .refine((part) => part > 0 && part < 1 && Math.round(part * 1e6) / 1e6 === part)
      .meta({ description: "What a YES share is paid in USD; a NO share is paid the rest of 1.", examples: [0.4] }),
  }),
  z.string().regex(/^0\.\d{1,6}$/) as unknown as z.ZodType<Fraction, Fraction>,
  {
    decode: (shape) => outcomeOf(shape),
    encode: (fraction) => ({ yes: Number(fraction) }),
  },
);

/** An outcome that pays the shares. */
export const SettledOutcome = z.union([Side, FractionOutcome], takes("yes, no")).meta({
  id: "SettledOutcome",
  description: "The side that wins; or `{yes: q}`, by which a YES share is paid q USD and a NO share 1 - q.",
});
/** Any end of a market. */
export const Outcome = z.union([Side, z.literal("void"), FractionOutcome], takes("yes, no, void")).meta({
  id: "Outcome",
  description:
    "`yes`, `no`, `void` (open positions get back what they cost), or `{yes: q}`, by which a YES share is paid q USD.",
});

/** An outcome in a query or flag: a fraction is `yes=0.4`. */
export const OutcomeText = z
  .codec(z.string().max(16), z.string() as unknown as z.ZodType<MarketOutcome, MarketOutcome>, {
    decode: (text, context) => {
      const outcome = outcomeIn(text);
      if (outcome) return outcome;
      context.issues.push({
        code: "custom",
        input: text,
        message: "must be yes, no, void, or a fraction such as yes=0.4",
      });
      return z.NEVER;
    },
    encode: (outcome) => (outcome.startsWith("0.") ? `yes=${outcome}` : outcome),
  })
  .meta({ description: "`yes`, `no`, `void`, or a fraction such as `yes=0.4`.", examples: ["yes"] });

const kinds = MARKET_KINDS.map((kind) => `\`${kind}\` (${MARKET_MAKERS[kind].title})`);
export const MarketKind = z.enum(MARKET_KINDS).meta({ id: "MarketKind", description: `${kinds.join(" or ")}.` });
export const MarketStatus = z.enum(["open", "suspended", "closed", "settled"]).meta({ id: "MarketStatus" });

/** The market states that a list includes. */
export const StatusWords = z
  .string()
  .max(128)
  .check((context) => {
    const message = statusWordsProblem(context.value);
    if (message) context.issues.push({ code: "custom", input: context.value, message });
  })
  .meta({
    description: `Extension: states, separated by commas: ${STATUS_WORDS.join(", ")}. \`unsettled\` means the first three, and \`waiting\` the markets that need a person: closed without an oracle, or held. States other than \`open\` require an admin key. Items then include their state.`,
    examples: ["closed,suspended"],
  });

export const CategorySlug = z
  .string()
  .regex(/^[a-z0-9]+(?:[-_][a-z0-9]+)*$/, "must be a slug of lower-case letters, digits, - and _")
  .max(64)
  .meta({ id: "CategorySlug", description: "Category slug.", examples: ["crypto"] });

export const Question = line(500).meta({
  description: "The question that traders answer.",
  examples: ["Will BTC close above 100,000?"],
});
export const ResolutionRef = line(500).meta({
  description: "The source that decides the outcome, in readable form.",
  examples: ["pm:btc > 100000"],
});

export const AveragePrice = z
  .number()
  .min(0)
  .meta({ id: "AveragePrice", description: "US dollars per share, fee included.", examples: [0.511224] });

export const PageLimit = queryInteger(z.number().int().min(1).max(200)).meta({
  description: "The largest number of items to return; the default is 50.",
  examples: [50],
});
export const PageCursor = z
  .string()
  .min(1)
  .max(512)
  .describe("Where the page begins: the cursor from the previous page.");
/** The query fields of a paged list. */
export const paging = { limit: PageLimit.default(50), cursor: PageCursor.optional() };
