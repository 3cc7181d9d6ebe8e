import { z } from "zod";
import { OutgoingUrl as ContractUrl, httpUrl, text } from "../../contract/scalars.ts";
import { hostPattern, isLoopback } from "../../domain/access/networks.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import { MAX_AMOUNT_USD, microFromUsd } from "../../domain/money.ts";
import { formatSpan, UNIT_MS } from "../../domain/time/units.ts";
import { TENANT_ID } from "../selection/names.ts";
import { LABEL } from "../selection/selector.ts";

/** A list that is empty by default. */
export function listOf<Entry extends z.ZodType>(entry: Entry, most: number) {
  return z.array(entry).max(most).default([]);
}

export const TenantId = z.string().regex(TENANT_ID.pattern, TENANT_ID.rule);

const LabelText = z
  .string()
  .regex(
    LABEL,
    "must be a letter or a digit, then at most 62 of A-Z, a-z, 0-9, ., _, / and -, the last a letter or a digit",
  );

const MOST_LABELS = 32;

export const TenantLabels = z
  .record(LabelText, LabelText)
  .refine((labels) => Object.keys(labels).length <= MOST_LABELS, {
    error: `must have at most ${MOST_LABELS} labels`,
    params: { code: "OUT_OF_RANGE" },
  })
  .meta({ maxProperties: MOST_LABELS });

/** US dollars in a file. Callers convert them to micro-dollars, which is always possible with six decimals. */
export const UsdNumber = z
  .number()
  .min(0)
  .max(MAX_AMOUNT_USD)
  .refine((usd) => microFromUsd(usd) !== undefined, "must have at most 6 decimals");

/** `5s` in the file, milliseconds when decoded. */
export function duration(longestMs: number, { mayBeZero = false } = {}) {
  const span = mayBeZero ? /^(0|[1-9]\d{0,8})(ms|s|m|h|d)$/ : /^[1-9]\d{0,8}(ms|s|m|h|d)$/;
  return z
    .codec(z.string().regex(span, "must be a time span such as 5s, 10m or 1h"), z.number(), {
      decode: (span) => Number.parseInt(span, 10) * (UNIT_MS[span.replace(/^\d+/, "")] ?? 0),
      encode: (ms) => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`),
    })
    .refine((ms) => ms <= longestMs, {
      error: `must be at most ${formatSpan(longestMs)}`,
      params: { code: "OUT_OF_RANGE" },
    });
}

/** `0.5%` in the file, 0.005 when decoded. */
export const Percentage = z
  .codec(z.string().regex(/^\d{1,3}(\.\d{1,6})?%$/, "must be a percentage such as 0.5%"), z.number(), {
    decode: (percentage) => Number.parseFloat(percentage) / 100,
    encode: (ratio) => `${ratio * 100}%`,
  })
  .refine((ratio) => ratio <= 1, { error: "must be at most 100%", params: { code: "OUT_OF_RANGE" } });

/** A host, optionally with `*.` for one label. The decoded form is that of URLs. */
function hostLike(examples: string) {
  return z.codec(z.string().min(1).max(255), z.string(), {
    decode: (host, context) => {
      const pattern = hostPattern(host);
      if (pattern !== undefined) return pattern;
      const message = `must be a host such as ${examples}, without scheme and port`;
      context.issues.push({ code: "custom", input: host, message });
      return z.NEVER;
    },
    encode: (host) => host,
  });
}

/** A host that pmctl's own requests may go to. */
export const OutgoingHost = hostLike("prices.acme.example or *.feeds.example");

/** A host under which clients reach the tenant. */
export const ServedHost = hostLike("predict.acme.example or *.acme.example");

/** Like `httpUrl`; `writeOnly` keeps a refused address, which may contain credentials, out of error texts. */
function secretiveUrl(longest: number) {
  return httpUrl(longest).meta({ writeOnly: true });
}

/** An address that pmctl itself calls. A rule checks that `http` is used only for hosts in `network.allowPrivate`. */
export const OutgoingUrl = ContractUrl.meta({ writeOnly: true });

/** `https://www.acme.example`, exactly as a browser sends it in `Origin`. */
export const Origin = secretiveUrl(512).refine(
  (origin) => URL.canParse(origin) && new URL(origin).origin === origin && hasPlainHost(origin),
  "must be an origin such as https://www.acme.example, in lower case and without a path",
);

/**
 * Whether the host is a name of letters, digits and hyphens, or an IP address. Other hosts that URLs allow, such as
 * `a;b` and `*`, have a meaning of their own in a `Content-Security-Policy`.
 */
export function hasPlainHost(address: string): boolean {
  const { hostname } = new URL(address);
  return /^(\[[\da-f:.]+\]|[a-z\d_-]+(\.[a-z\d_-]+)*\.?)$/.test(hostname);
}

/** The tenant's own address. Decoded without a trailing slash, which people like to add. */
export const BaseUrl = z.codec(secretiveUrl(512), z.string(), {
  decode: (address, context) => {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    const fail = (message: string) => {
      context.issues.push({ code: "custom", input: address, message });
      return z.NEVER;
    };
    if (url?.pathname !== "/" || url.search !== "")
      return fail("must be an address such as https://predict.acme.example, without a path");
    if (url.protocol === "http:" && !isLoopback(url.hostname))
      return fail("must begin with https://; http:// is for loopback hosts only");
    return url.origin;
  },
  encode: (origin) => origin,
});

/** The error for a literal value in place of a reference to a secret. */
export const LITERAL = "must be a reference such as { env: ACME_KEY }; a literal secret does not belong in this file";

/**
 * A reference to a secret. `writeOnly` keeps a literal secret that is written here by mistake out of every error text.
 * Names of variables are in capitals, so that a literal secret in their place is recognised and not shown.
 */
export const SecretReference = z
  .union(
    [
      z.strictObject({
        env: z
          .string()
          .regex(/^[A-Z_][A-Z0-9_]{0,127}$/, "must be the name of an environment variable, in capitals")
          .meta({ description: "Name of the environment variable with the secret.", writeOnly: true }),
      }),
      z.strictObject({
        file: text(1024).describe("File with the secret, relative to the tenant's folder."),
      }),
      z.strictObject({
        exec: z
          // No pattern here, because error texts show a `writeOnly` value that matches its pattern.
          .array(z.string().min(1).max(1024).meta({ writeOnly: true }))
          .min(1)
          .max(64)
          .describe("Program and arguments that print the secret; needs --allow-exec."),
      }),
      z.strictObject({
        sops: text(1024).describe("SOPS file with the secret, relative to the tenant's folder."),
        path: text(512).describe("The secret's path in the SOPS file, such as stripe.secret."),
      }),
    ],
    { error: ({ input }) => (isMapping(input) ? undefined : input === undefined ? "is required" : LITERAL) },
  )
  .meta({ id: "SecretReference", description: "A reference to a secret; never the secret itself.", writeOnly: true });

export type SecretReference = z.output<typeof SecretReference>;

/** @param effect the remaining effect of these secrets, as the rest of a sentence */
export function previousSecrets(effect: string) {
  return listOf(SecretReference, 4).describe(`Secrets that are being replaced: ${effect} too.`);
}
