import { Webhook } from "standardwebhooks";

/** The headers of the Standard Webhooks scheme. */
export interface SignedHeaders extends Record<string, string> {
  "webhook-id": string;
  "webhook-timestamp": string;
  "webhook-signature": string;
}

const PREFIX = "whsec_";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/**
 * Signs a message under every secret that is active, so that the receiver may hold any of them while one is replaced.
 *
 * `whsec_` and base64 is a key as the scheme writes it. Any other secret is its UTF-8 bytes; one that happens to be
 * base64 too is signed both ways, because the scheme's libraries would decode it and plain HMAC code would not.
 * @param atMs the attempt's own time, milliseconds since the epoch
 */
export function signMessage(id: string, body: string, atMs: number, secrets: readonly string[]): SignedHeaders {
  const at = new Date(atMs);
  const signatures = secrets.flatMap(keysOf).map((key) => key.sign(id, at, body));
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(atMs / 1000)),
    "webhook-signature": [...new Set(signatures)].join(" "),
  };
}

/** The key of a secret for verification: the base64 behind `whsec_`, or else the secret's UTF-8 bytes. */
export function messageKey(secret: string): Buffer {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : undefined;
  return encoded !== undefined && BASE64.test(encoded) ? Buffer.from(encoded, "base64") : Buffer.from(secret);
}

function keysOf(secret: string): Webhook[] {
  const decoded = decodedKey(secret);
  if (decoded && secret.startsWith(PREFIX)) return [decoded];
  const raw = new Webhook(new TextEncoder().encode(secret), { format: "raw" });
  return decoded ? [raw, decoded] : [raw];
}

/** The key that the library decodes; undefined where it throws, as the secret is not base64. */
function decodedKey(secret: string): Webhook | undefined {
  try {
    return new Webhook(secret);
  } catch {
    return undefined;
  }
}
