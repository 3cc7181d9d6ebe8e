import type { ResolvedJwt } from "../../config/resolve-tenant.ts";
import type { OutgoingRules } from "../../domain/access/networks.ts";
import { counted } from "../../domain/text.ts";
import { OutgoingHttp } from "../../outgoing/guarded-fetch.ts";
import { keySetLoader } from "../../server/access/key-set.ts";
import { type Examined, type Finding, fail, ok, skipped } from "./check.ts";

export async function examineKeySet({ config, secrets }: Examined): Promise<Finding[]> {
  if (!secrets) return [skipped("user tokens", "some secrets are missing")];
  return [evaluateKeySet(await collectKeySet(secrets.jwt, config.network))];
}

type KeySetFacts =
  | { kind: "shared secret" }
  | { kind: "key set"; where: string; problem: string }
  /** `usable` counts the keys that fit the tenant's algorithm. */
  | { kind: "key set"; where: string; keys: number; usable: number };

/** The key type of each algorithm (RFC 7518, RFC 8037). */
const KEY_TYPES = { ES256: "EC", EdDSA: "OKP", RS256: "RSA" } as const;

async function collectKeySet(jwt: ResolvedJwt, network: OutgoingRules): Promise<KeySetFacts> {
  if (jwt.algorithm === "HS256") return { kind: "shared secret" };
  const where = "url" in jwt.jwks ? jwt.jwks.url : jwt.jwks.file;
  // Fetched as the server fetches it: private addresses and redirects are refused here too.
  const outgoing = new OutgoingHttp(network);
  try {
    const keys = keysOf(await keySetLoader(jwt.jwks, outgoing)());
    const usable = keys.filter(({ kty }) => kty === KEY_TYPES[jwt.algorithm]);
    return { kind: "key set", where, keys: keys.length, usable: usable.length };
  } catch (error) {
    return { kind: "key set", where, problem: (error as Error).message };
  } finally {
    await outgoing.close();
  }
}

function keysOf(text: string): { kty?: unknown }[] {
  const set: unknown = JSON.parse(text);
  if (typeof set === "object" && set !== null && "keys" in set && Array.isArray(set.keys)) return set.keys;
  throw new Error("it is not a JSON Web Key Set");
}

export function evaluateKeySet(facts: KeySetFacts): Finding {
  if (facts.kind === "shared secret") return ok("user tokens", "signed with a shared secret");
  const { where } = facts;
  if ("problem" in facts)
    return fail("user tokens", `${where} gives no key set: ${facts.problem}`, "Without it every user token is refused");
  if (facts.usable > 0)
    return ok("user tokens", `${facts.usable} of ${counted(facts.keys, "key")} at ${where} can be used`);
  return fail(
    "user tokens",
    `none of ${counted(facts.keys, "key")} at ${where} fits auth.jwt.algorithm`,
    "Name the algorithm that your token issuer signs with",
  );
}
