import { DAY_MS } from "../domain/time/units.ts";

/** What the frame tells its page's author in rare cases: this part is loaded only then. */

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

/** Said of a token that ends before the widget would ask for the next one. */
export const ENDS_SOON = "its token ends too soon, within 70 seconds: sign it for longer";

/**
 * Why the page around may not trade.
 * @param apiKey the service's public one
 * @param host the page's origin; undefined without a loader
 */
export function reasonOf(apiKey: string | null, host: string | undefined): string {
  if (apiKey === null) return "the service has no public key in force";
  if (host === undefined) return "a bare frame gets no token; use the script or the element";
  return `the service's embed.allowedOrigins lacks ${host}`;
}

/** What the page's `getToken` answered in place of a token; the loader sends it as text. */
export function mistakeIn(answer: string): string {
  if (/^\[object /.test(answer)) return "getToken answered an object, not text";
  if (/^bearer /i.test(answer)) return "getToken answered a text that begins with Bearer: leave out Bearer";
  return "getToken answered text that is no JWT";
}
