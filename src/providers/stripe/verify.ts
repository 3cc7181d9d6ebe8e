import { isUtf8 } from "node:buffer";
import { invariant } from "../../domain/fault.ts";
import { isHmac } from "../signature.ts";

const TOLERANCE_SEC = 5 * 60;
const TIMESTAMP = /(?:^|,)t=(\d{1,12})(?=,|$)/g;
const SIGNATURE = /(?:^|,)v1=([^,]*)/g;

type Verifier = (payload: string, header: string, secret: string, toleranceSec: number, nowMs: number) => boolean;

let loading: Promise<Verifier> | undefined;

/** Loads the library at the first event: it is large, and most processes never get an event. */
function loadVerifier(): Promise<Verifier> {
  loading ??= import("stripe").then(({ default: Stripe }) => {
    const { signature } = Stripe.webhooks;
    invariant(signature, "the library verifies signatures");
    return (payload, header, secret, toleranceSec, nowMs) =>
      signature.verifyHeader(payload, header, secret, toleranceSec, undefined, nowMs);
  });
  return loading;
}

/** The `Stripe-Signature` that Stripe would send with this body. */
export async function signAsStripe(payload: string, secret: string, nowMs: number): Promise<string> {
  const { default: Stripe } = await import("stripe");
  return Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: Math.floor(nowMs / 1000) });
}

/**
 * Whether `Stripe-Signature` is valid for the received bytes under one of the active secrets, at most five minutes old,
 * and not in the future, which the library would accept.
 */
export async function verifyStripeSignature(
  rawBody: Uint8Array,
  header: string | undefined,
  secrets: readonly string[],
  nowMs: number,
): Promise<boolean> {
  if (header === undefined || secrets.length === 0) return false;
  const [timestamp, ...others] = [...header.matchAll(TIMESTAMP)];
  // The library uses the last of several times.
  if (!timestamp || others.length > 0 || Number(timestamp[1]) - nowMs / 1000 > TOLERANCE_SEC) return false;
  if (rawBody.length === 0 || !isUtf8(rawBody))
    return isSignedUnreadable(rawBody, header, Number(timestamp[1]), secrets, nowMs);
  const verify = await loadVerifier();
  const payload = Buffer.from(rawBody).toString();
  return secrets.some((secret) => {
    try {
      return verify(payload, header, secret, TOLERANCE_SEC, nowMs);
    } catch {
      return false;
    }
  });
}

/**
 * Verifies a body that the library cannot: it refuses an empty body, and decodes others as text, which changes invalid
 * UTF-8. Such a body is never an event; the signature over its bytes shows whether Stripe sent it.
 */
function isSignedUnreadable(
  rawBody: Uint8Array,
  header: string,
  timestampSec: number,
  secrets: readonly string[],
  nowMs: number,
): boolean {
  if (Math.floor(nowMs / 1000) - timestampSec > TOLERANCE_SEC) return false;
  const message = Buffer.concat([Buffer.from(`${timestampSec}.`), rawBody]);
  // Checks every signature, so that the duration does not reveal which one is valid.
  return [...header.matchAll(SIGNATURE)].map(([, hex]) => isHmac(message, hex, secrets)).includes(true);
}
