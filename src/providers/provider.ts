import { placeOf, UNREADABLE_PLACE } from "../domain/policy/jurisdictions.ts";
import { kycVerdict } from "../domain/trader.ts";
import type { KycNews } from "../services/inbound.ts";
import { isHmac } from "./signature.ts";

/** A result of an identity check in the shape of the generic webhook. */
export interface KycResult {
  /** Undefined when the provider names no user; the contract then refuses the webhook. */
  userId: string | undefined;
  /** `passed` and words of refusal decide; any other status takes the user to a review. */
  status: string;
  provider: string;
  /** ISO 8601 with a zone. Undefined when the provider states no readable time. */
  verifiedAt: string | undefined;
  /** Where the user lives, which is not the country that issued a document. */
  jurisdiction?: string | undefined;
}

/** The content of a provider's webhook. */
export type KycFinding = KycResult | KycNews;

type Header = (name: string) => string | undefined;

/** A provider with a signature and a format of its own. */
export interface InboundProvider {
  /** The header that marks its webhooks, lower case. */
  header: string;
  /** Whether the provider signed the bytes that arrived. */
  verify(rawBody: Buffer, header: Header, nowMs: number): boolean;
  read(body: Record<string, unknown>): KycFinding;
}

/** A provider that sends the HMAC-SHA256 of the body in one header, in hex. No time is signed. */
export function signedByHmac(
  header: string,
  secrets: readonly string[],
  read: InboundProvider["read"],
): InboundProvider {
  return { header, verify: (rawBody, headerOf) => isHmac(rawBody, headerOf(header), secrets), read };
}

/** The text at a path of keys; undefined for an empty text or another value. */
export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = path.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string, unknown>)[key]
        : undefined,
    value,
  );
  return typeof found === "string" && found !== "" ? found : undefined;
}

/** The status for a provider's word; words that decide nothing stay as they are. */
export function statusOf(word: string | undefined, verdicts: ReadonlyMap<string, "passed" | "failed">): string {
  return verdicts.get(word ?? "") ?? word ?? "unknown";
}

/** The words of those providers that say `approved` and `declined`. */
export const APPROVED_OR_DECLINED: ReadonlyMap<string, "passed" | "failed"> = new Map([
  ["approved", "passed"],
  ["declined", "failed"],
]);

/**
 * A result that decides goes to the contract, which refuses it without a user or a time. One that decides nothing and
 * lacks either is only kept. A place that cannot be read is on record as such: left out, an earlier one would stay.
 */
export function resultOf({ jurisdiction, ...result }: KycResult): KycFinding {
  const { status, provider, userId, verifiedAt } = result;
  if (kycVerdict(status) === undefined && (userId === undefined || verifiedAt === undefined))
    return { news: status, provider, userId };
  return jurisdiction === undefined ? result : { ...result, jurisdiction: placeOf(jurisdiction) ?? UNREADABLE_PLACE };
}
