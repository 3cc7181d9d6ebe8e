import { placeOf, UNREADABLE_PLACE } from "../domain/policy/jurisdictions.ts";
import { kycVerdict } from "../domain/policy/kyc-verdict.ts";
import type { KycNews } from "../services/webhooks/inbound.ts";
import { isHmac } from "./signature.ts";

/** The result of an identity check in the form of the generic webhook. */
interface KycResult {
  /** Undefined if the provider names no user; the contract then refuses the webhook. */
  userId: string | undefined;
  /** `passed` and failure statuses decide; any other status leads to a review. */
  status: string;
  provider: string;
  /** ISO 8601 with a zone. Undefined if the provider states no readable time. */
  verifiedAt: string | undefined;
  /** The user's residence, which may differ from the country that issued a document. */
  jurisdiction?: string | undefined;
}

/** The content of a provider's webhook. */
export type KycFinding = KycResult | KycNews;

type Header = (name: string) => string | undefined;

/** A provider with its own signature and format. */
export interface InboundProvider {
  /** The header that marks its webhooks, lower case. */
  header: string;
  /** Whether the provider signed the received bytes. */
  verify(rawBody: Buffer, header: Header, nowMs: number): boolean;
  read(body: Record<string, unknown>): KycFinding;
}

/** A provider that sends the HMAC-SHA256 of the body in one header, in hex. No time is signed. */
function signedByHmac(header: string, secrets: readonly string[], read: InboundProvider["read"]): InboundProvider {
  return { header, verify: (rawBody, headerOf) => isHmac(rawBody, headerOf(header), secrets), read };
}

/** The text at a path of keys; undefined for empty text or another value. */
function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string, unknown>)[key]
        : undefined,
    value,
  );
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** The status for a provider's word; undecided words stay unchanged. */
function statusOf(word: string | undefined, verdicts: ReadonlyMap<string, "passed" | "failed">): string {
  return verdicts.get(word ?? "") ?? word ?? "unknown";
}

/** The words of providers that use `approved` and `declined`. */
const APPROVED_OR_DECLINED: ReadonlyMap<string, "passed" | "failed"> = new Map([
  ["approved", "passed"],
  ["declined", "failed"],
]);

/**
 * A decisive result goes to the contract, which refuses it without a user or a time. An undecided result without them
 * is only stored. An unreadable place is recorded as such: if it were omitted, an earlier place would stay.
 */
function resultOf({ jurisdiction, ...result }: KycResult): KycFinding {
  const { status, provider, userId, verifiedAt } = result;
  if (kycVerdict(status) === undefined && (userId === undefined || verifiedAt === undefined))
    return { news: status, provider, userId };
  return jurisdiction === undefined ? result : { ...result, jurisdiction: placeOf(jurisdiction) ?? UNREADABLE_PLACE };
}

const ALGORITHMS: Readonly<Record<string, "sha256" | "sha512">> = {
  HMAC_SHA256_HEX: "sha256",
  HMAC_SHA512_HEX: "sha512",
};

/** The types with a verdict: of a level, or of a whole workflow. Operators subscribe to the type that they use. */
const SUMSUB_VERDICTS = ["applicantReviewed", "applicantWorkflowCompleted"];

/**
 * Sumsub sends an HMAC of the body in hex, and its algorithm in a second header. No time is signed, and a repeat may
 * come 18 hours later, but its `createdAtMs` prevents any effect.
 * @see https://docs.sumsub.com/docs/webhook-manager
 */
export function sumsub(secrets: readonly string[]): InboundProvider {
  return {
    header: "x-payload-digest",
    verify: (rawBody, header) => {
      const algorithm = ALGORITHMS[header("x-payload-digest-alg") ?? "HMAC_SHA256_HEX"];
      return algorithm !== undefined && isHmac(rawBody, header("x-payload-digest"), secrets, algorithm);
    },
    read: readSumsub,
  };
}

/** @see https://docs.sumsub.com/docs/user-verification-webhooks */
export function readSumsub(body: Record<string, unknown>): KycFinding {
  const type = textAt(body, "type") ?? "unknown";
  const userId = textAt(body, "externalUserId");
  if (!SUMSUB_VERDICTS.includes(type)) return { news: type, provider: "sumsub", userId };
  return resultOf({
    userId,
    status: sumsubVerdict(body),
    provider: "sumsub",
    verifiedAt: sumsubTime(textAt(body, "createdAtMs") ?? textAt(body, "createdAt")),
  });
}

/** Red is final unless it states that the user may retry. */
function sumsubVerdict(body: Record<string, unknown>): string {
  const answer = textAt(body, "reviewResult", "reviewAnswer");
  if (answer === "GREEN") return "passed";
  if (answer !== "RED") return "unknown";
  return textAt(body, "reviewResult", "reviewRejectType") === "RETRY" ? "retry" : "failed";
}

/** `2027-01-31 18:00:00.123` in UTC, optionally followed by a zone such as `+0000`. */
function sumsubTime(text: string | undefined): string | undefined {
  const [, date, time, sign, hours, minutes] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?:Z|([+-])(\d\d):?(\d\d))?$/.exec(text ?? "") ?? [];
  return date && `${date}T${time}${sign ? `${sign}${hours}:${minutes}` : "Z"}`;
}

const TOLERANCE_SEC = 5 * 60;
const PAIR = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/i;
/** Persona sends two pairs during a rotation; a header with many more is not from Persona. */
const MAX_PAIRS = 5;

const PERSONA_VERDICTS: ReadonlyMap<string, "passed" | "failed"> = new Map([
  ["inquiry.approved", "passed"],
  ["inquiry.declined", "failed"],
  ["inquiry.failed", "failed"],
]);
/** The events that end an inquiry or leave it to a person; the others report progress. */
const DECISIONS = new Set([...PERSONA_VERDICTS.keys(), "inquiry.marked-for-review"]);

/**
 * Persona signs `<t>.<body>` and sends `t=<seconds>,v1=<hex>`, or two such pairs separated by a space during a rotation
 * of the secret.
 * @see https://docs.withpersona.com/webhooks
 */
export function persona(secrets: readonly string[]): InboundProvider {
  return {
    header: "persona-signature",
    verify: (rawBody, header, nowMs) => {
      const pairs = (header("persona-signature") ?? "").split(" ");
      // Checks every pair, so that the duration does not reveal which pair is valid.
      return (
        pairs.length <= MAX_PAIRS && pairs.map((pair) => isPersonaPair(pair, rawBody, secrets, nowMs)).includes(true)
      );
    },
    read: readPersona,
  };
}

function isPersonaPair(pair: string, rawBody: Buffer, secrets: readonly string[], nowMs: number): boolean {
  const [, time = "", signature] = PAIR.exec(pair) ?? [];
  const authentic = isHmac(Buffer.concat([Buffer.from(`${time}.`), rawBody]), signature, secrets);
  return Math.abs(nowMs / 1000 - Number(time)) <= TOLERANCE_SEC && authentic;
}

/**
 * The event, whose payload is the inquiry with our `reference-id`. Other resources name no user.
 * @see https://docs.withpersona.com/api-key-inflection
 */
export function readPersona(body: Record<string, unknown>): KycFinding {
  const event = ["data", "attributes"];
  const name = textAt(body, ...event, "name");
  const inquiry = [...event, "payload", "data"];
  if (textAt(body, ...inquiry, "type") !== "inquiry") return { news: name ?? "unknown", provider: "persona" };
  const userId = inAnyCase("reference-id", (key) => textAt(body, ...inquiry, "attributes", key));
  if (!DECISIONS.has(name ?? "")) return { news: name ?? "unknown", provider: "persona", userId };
  return resultOf({
    userId,
    status: statusOf(name, PERSONA_VERDICTS),
    provider: "persona",
    verifiedAt: inAnyCase("created-at", (key) => textAt(body, ...event, key)),
    jurisdiction: inAnyCase("address-country-code", (key) =>
      textAt(body, ...inquiry, "attributes", "fields", key, "value"),
    ),
  });
}

/** The value under a key in kebab, camel or snake case: the tenant chooses the webhook's case at Persona. */
function inAnyCase(key: string, read: (key: string) => string | undefined): string | undefined {
  const camel = key.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return read(key) ?? read(camel) ?? read(key.replaceAll("-", "_"));
}

/**
 * Veriff signs under the shared secret.
 * @see https://devdocs.veriff.com/docs/webhooks-guide
 */
export function veriff(secrets: readonly string[]): InboundProvider {
  return signedByHmac("x-hmac-signature", secrets, readVeriff);
}

/**
 * The decision webhook, or that of the fully automatic plan. The event webhook, which reports a started or submitted
 * session, decides nothing.
 * @see https://devdocs.veriff.com/docs/decision-webhook
 */
export function readVeriff(body: Record<string, unknown>): KycFinding {
  const status = textAt(body, "verification", "status") ?? textAt(body, "data", "verification", "decision");
  if (status === undefined) return { news: textAt(body, "action") ?? "unknown", provider: "veriff" };
  return resultOf({
    userId: textAt(body, "verification", "vendorData") ?? textAt(body, "vendorData"),
    status: statusOf(status, APPROVED_OR_DECLINED),
    provider: "veriff",
    verifiedAt:
      textAt(body, "verification", "decisionTime") ??
      textAt(body, "time") ??
      textAt(body, "verification", "acceptanceTime") ??
      textAt(body, "acceptanceTime"),
  });
}

/**
 * Onfido signs under the webhook's token.
 * @see https://documentation.onfido.com/api/latest/#webhooks
 */
export function onfido(secrets: readonly string[]): InboundProvider {
  return signedByHmac("x-sha2-signature", secrets, readOnfido);
}

/**
 * A completed workflow run of Studio: its event contains the run with its user. The event of a check contains neither a
 * verdict nor a user, so checks should be part of a workflow.
 */
export function readOnfido(body: Record<string, unknown>): KycFinding {
  const action = textAt(body, "payload", "action");
  if (action !== "workflow_run.completed") return { news: action ?? "unknown", provider: "onfido" };
  const status = textAt(body, "payload", "resource", "status") ?? textAt(body, "payload", "object", "status");
  return resultOf({
    userId: textAt(body, "payload", "resource", "customer_user_id"),
    status: statusOf(status, APPROVED_OR_DECLINED),
    provider: "onfido",
    verifiedAt:
      textAt(body, "payload", "object", "completed_at_iso8601") ?? textAt(body, "payload", "resource", "updated_at"),
    // The outputs of a workflow are defined by its author.
    jurisdiction: textAt(body, "payload", "resource", "output", "jurisdiction"),
  });
}

const PROVIDERS = { sumsub, persona, veriff, onfido } as const;

/** The adapter for the provider in the tenant file. */
export function kycProvider(chosen: { provider: keyof typeof PROVIDERS; secrets: readonly string[] }): InboundProvider {
  return PROVIDERS[chosen.provider](chosen.secrets);
}
