import { DAY_MS } from "../domain/time/units.ts";

/** As the service allows it to clocks. */
const LEEWAY_MS = 30_000;

/**
 * The service's refusal of a token, with what the token's own claims show. Only the service verifies a token, and it names no claim to
 * callers, so the rest is for its operator.
 */
export function faultIn({ sub, iat, exp }: { sub?: unknown; iat?: unknown; exp?: unknown }, nowMs: number): string {
  const fault = evidentFault(sub, iat, exp, nowMs);
  const unseen =
    "its signature, iss, aud or another claim is wrong, and `pmctl audit security` names it to the operator";
  return `USER_REQUIRED: A valid user token is required; ${fault ?? unseen}`;
}

function evidentFault(sub: unknown, iat: unknown, exp: unknown, nowMs: number): string | undefined {
  if (sub === undefined && exp === undefined) return "it is no JWT with sub and exp";
  if (typeof sub !== "string" || sub === "") return "its sub names no user";
  if (typeof iat !== "number") return "its iat is missing";
  if (typeof exp !== "number") return "its exp is missing";
  if (exp * 1000 <= nowMs - LEEWAY_MS) return "its exp is past";
  if (iat * 1000 > nowMs + LEEWAY_MS) return "its iat is in the future";
  if ((exp - iat) * 1000 > DAY_MS) return "its exp is more than 24 hours after its iat";
  return undefined;
}

/** What the page's `getToken` answered in place of a token; the loader sends it as text. */
export function mistakeIn(answer: string): string {
  if (/^\[object /.test(answer)) return "getToken answered an object, not text";
  if (/^bearer /i.test(answer)) return "getToken answered a text that begins with Bearer: leave out Bearer";
  return "getToken answered text that is no JWT";
}
