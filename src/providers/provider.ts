import type { KycNews } from "../services/inbound.ts";
import { isHmac } from "./signature.ts";

/** A result of an identity check in the shape of the generic webhook. */
export interface KycResult {
  /** Undefined when the provider names no user, which the contract refuses. */
  userId: string | undefined;
  /** `passed` and `failed` decide; anything else is kept and changes nothing. */
  status: string;
  provider: string;
  /** ISO 8601 with a zone. Undefined when the provider states no time that can be read. */
  verifiedAt: string | undefined;
  /** Where the user lives. The country that issued a document is not that. */
  jurisdiction?: string | undefined;
}

/** What a provider's webhook says. */
export type KycFinding = KycResult | KycNews;

type Header = (name: string) => string | undefined;

/** A provider that signs and speaks in its own way. */
export interface InboundProvider {
  /** The header by which its webhooks are known, lower case. */
  header: string;
  /** Whether the bytes that arrived are the provider's. */
  verify(rawBody: Buffer, header: Header, nowMs: number): boolean;
  /** What they say. */
  read(body: Record<string, unknown>): KycFinding;
}

/** A provider that puts the HMAC-SHA256 of the body into one header, in hex. No time is signed. */
export function signedByHmac(
  header: string,
  secrets: readonly string[],
  read: InboundProvider["read"],
): InboundProvider {
  return { header, verify: (rawBody, headerOf) => isHmac(rawBody, headerOf(header), secrets), read };
}

/** The text at a path of keys; undefined for anything else that may stand there. */
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

/** What a provider's word means here; words that decide nothing stay as they are. */
export function statusOf(word: string | undefined, verdicts: ReadonlyMap<string, "passed" | "failed">): string {
  return verdicts.get(word ?? "") ?? word ?? "unknown";
}

/** The words of several providers. */
export const APPROVED_OR_DECLINED: ReadonlyMap<string, "passed" | "failed"> = new Map([
  ["approved", "passed"],
  ["declined", "failed"],
]);

const COUNTRY = /^[a-z]{2}(-[a-z0-9]{1,3})?$/i;

/**
 * A result that decides and names no user is refused by the contract. One that decides nothing is only kept, with or without
 * a user. A country in an unknown spelling counts as none stated.
 */
export function resultOf({ jurisdiction, ...result }: KycResult): KycFinding {
  const { status, provider, userId, verifiedAt } = result;
  const decides = status === "passed" || status === "failed";
  if (!decides && (userId === undefined || verifiedAt === undefined)) return { news: status, provider, userId };
  return jurisdiction !== undefined && COUNTRY.test(jurisdiction) ? { ...result, jurisdiction } : result;
}
