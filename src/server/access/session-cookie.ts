import type { Exchange } from "../exchange.ts";

const NAME = "__Host-pm_session";
/** `Partitioned` keeps the sessions of two pages that embed the same tenant apart; the prefix binds the cookie to this host. */
const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=None; Partitioned";
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Browsers keep 4096 bytes of name, value and attributes. */
export const MAX_COOKIE_TOKEN = 3800;

/** `Set-Cookie` that keeps a token until it expires. */
export function sessionCookie(token: string, maxAgeSec: number): string {
  return `${NAME}=${token}; Max-Age=${maxAgeSec}; ${ATTRIBUTES}`;
}

/** `Set-Cookie` that removes the token. */
export function clearedCookie(): string {
  return `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;
}

/** The token in a `Cookie` header; undefined if the header has none, or more than one. */
export function tokenFromCookies(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const values = header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${NAME}=`))
    .map((pair) => pair.slice(NAME.length + 1));
  const [token] = values;
  return values.length === 1 && token !== undefined && TOKEN.test(token) ? token : undefined;
}

/** Whether a request carries a user token, in its header or in the session cookie. */
export function hasUserToken(exchange: Exchange): boolean {
  return exchange.header("authorization") !== undefined || tokenFromCookies(exchange.header("cookie")) !== undefined;
}
