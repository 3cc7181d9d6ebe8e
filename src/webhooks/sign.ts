import { Webhook } from "standardwebhooks";

/** The headers of the Standard Webhooks scheme. */
export interface SignedHeaders extends Record<string, string> {
  "webhook-id": string;
  "webhook-timestamp": string;
  "webhook-signature": string;
}

const PREFIX = "whsec_";

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

function keysOf(secret: string): Webhook[] {
  const decoded = decodedKey(secret);
  if (decoded && secret.startsWith(PREFIX)) return [decoded];
  const raw = new Webhook(new TextEncoder().encode(secret), { format: "raw" });
  return decoded ? [raw, decoded] : [raw];
}

/** The library throws for what is no base64. */
function decodedKey(secret: string): Webhook | undefined {
  try {
    return new Webhook(secret);
  } catch {
    return undefined;
  }
}
