import { createHmac } from "node:crypto";
import type { InboundScheme } from "../contract/resources/webhooks.ts";
import type { SignatureFault } from "../domain/access/signature-faults.ts";
import { messageKey, type SignedHeaders } from "../outgoing/sign.ts";
import { isMac, isTimely, verifySignature } from "./signature.ts";

/** How the generic webhooks of one endpoint are verified. */
export interface EndpointSecrets {
  /** The active secrets, several during a rotation; without secrets the endpoint refuses every webhook. */
  secrets: readonly string[];
  scheme: InboundScheme;
}

type Header = (name: string) => string | undefined;

const TOLERANCE_SEC = 5 * 60;
/** The dot separates the signed parts, so an id contains none. */
const ID = /^[\x21-\x2d\x2f-\x7e]{1,255}$/;
const SECONDS = /^\d{1,12}$/;
/** The base64 of 32 bytes. */
const SIGNATURE = /^v1,([A-Za-z0-9+/]{43}=)$/;

/**
 * The fault of a generic webhook's signature; undefined if one of the endpoint's secrets signed it. If it has a
 * `webhook-signature`, only that counts: it covers the time, while an `x-signature` would allow changing the time.
 */
export function inboundFault(
  rawBody: Uint8Array,
  header: Header,
  { secrets, scheme }: EndpointSecrets,
  nowMs: number,
): SignatureFault | undefined {
  if (secrets.length === 0) return "no-secret";
  if (header("webhook-signature") !== undefined) return messageFault(rawBody, header, secrets, nowMs);
  if (header("x-signature") === undefined) return "signature-missing";
  if (scheme === "v2") return "scheme-old";
  if (!verifySignature(rawBody, header("x-signature"), secrets)) return "signature-wrong";
  return isTimely(header("x-timestamp"), nowMs) ? undefined : "time-off";
}

/**
 * The scheme of Standard Webhooks over the received bytes: its library would decode them as text first.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
function messageFault(
  rawBody: Uint8Array,
  header: Header,
  secrets: readonly string[],
  nowMs: number,
): SignatureFault | undefined {
  const id = header("webhook-id") ?? "";
  const time = header("webhook-timestamp") ?? "";
  if (!ID.test(id)) return "id-invalid";
  if (!SECONDS.test(time)) return "time-invalid";
  const given = (header("webhook-signature") ?? "").split(" ").flatMap((each) => {
    const [, base64] = SIGNATURE.exec(each) ?? [];
    return base64 === undefined ? [] : [Buffer.from(base64, "base64")];
  });
  if (!isMac(messageOf(id, time, rawBody), given, secrets.map(messageKey))) return "signature-wrong";
  // Compared in whole seconds, as the scheme's libraries do.
  return Math.abs(Math.floor(nowMs / 1000) - Number(time)) <= TOLERANCE_SEC ? undefined : "time-off";
}

/** The bytes that the scheme signs. */
function messageOf(id: string, time: string, rawBody: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${id}.${time}.`), rawBody]);
}

/**
 * The headers that a provider would send with these bytes.
 * @param id 1 to 255 visible ASCII characters without a dot
 * @param timeSec seconds since the epoch
 * @throws RangeError for an empty key
 */
export function signInbound(id: string, rawBody: Uint8Array, timeSec: number, secret: string): SignedHeaders {
  const key = messageKey(secret);
  if (key.length === 0) throw new RangeError("an empty secret signs nothing");
  const mac = createHmac("sha256", key).update(messageOf(id, String(timeSec), rawBody));
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timeSec),
    "webhook-signature": `v1,${mac.digest("base64")}`,
  };
}

/** Whether a text can be a `webhook-id`. */
export function isMessageId(text: string): boolean {
  return ID.test(text);
}
