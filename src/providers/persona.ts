import { type InboundProvider, type KycFinding, resultOf, statusOf, textAt } from "./provider.ts";
import { isHmac } from "./signature.ts";

const TOLERANCE_SEC = 5 * 60;
const PAIR = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/i;
/** Persona sends two pairs while a secret is rotated; a header with many more is not Persona's. */
const MAX_PAIRS = 5;

const VERDICTS: ReadonlyMap<string, "passed" | "failed"> = new Map([
  ["inquiry.approved", "passed"],
  ["inquiry.declined", "failed"],
  ["inquiry.failed", "failed"],
]);
/** The events that end an inquiry, or leave it to a person; the others tell how far it is. */
const DECISIONS = new Set([...VERDICTS.keys(), "inquiry.marked-for-review"]);

/**
 * Persona signs `<t>.<body>` and sends `t=<seconds>,v1=<hex>`, and two such pairs with a space between them while a
 * secret is rotated.
 * @see https://docs.withpersona.com/webhooks
 */
export function persona(secrets: readonly string[]): InboundProvider {
  return {
    header: "persona-signature",
    verify: (rawBody, header, nowMs) => {
      const pairs = (header("persona-signature") ?? "").split(" ");
      // Every pair is checked, so that the time taken does not tell which one is valid.
      return pairs.length <= MAX_PAIRS && pairs.map((pair) => isSigned(pair, rawBody, secrets, nowMs)).includes(true);
    },
    read: readPersona,
  };
}

function isSigned(pair: string, rawBody: Buffer, secrets: readonly string[], nowMs: number): boolean {
  const [, time = "", signature] = PAIR.exec(pair) ?? [];
  const authentic = isHmac(Buffer.concat([Buffer.from(`${time}.`), rawBody]), signature, secrets);
  return Math.abs(nowMs / 1000 - Number(time)) <= TOLERANCE_SEC && authentic;
}

/**
 * The event, and in its payload the inquiry, whose `reference-id` is ours. Other resources name no user.
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
    status: statusOf(name, VERDICTS),
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
