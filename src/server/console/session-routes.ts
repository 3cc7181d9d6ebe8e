import { hashApiKey } from "../../domain/access/api-key.ts";
import { SIGN_IN_ROUTE } from "../../domain/access/security.ts";
import { Fault } from "../../domain/fault.ts";
import { isInNetworks, requireKey } from "../access/authenticate.ts";
import { parseJsonObject, readBody, requireJson } from "../body.ts";
import type { Exchange } from "../exchange.ts";
import { type Answer, ok } from "../responses.ts";
import type { Route, RouteServices } from "../routes.ts";
import { type ConsoleCookie, csrfTokenOf, isCsrfTokenOf } from "./cookie.ts";
import { actorOf, type ConsoleSessions, type ConsoleUser } from "./sessions.ts";
import type { SignInLimit } from "./sign-in-limit.ts";

const BODY_LIMIT_BYTES = 64 * 1024;

export interface SignedInParts {
  tenantId: string;
  identities: Pick<RouteServices["identities"], "keys" | "addresses" | "uses">;
  cookie: ConsoleCookie;
  sessions: ConsoleSessions;
}

/**
 * The signed-in operator of a request. Only the cookie counts, whatever other credentials are sent.
 * @param isUse false for the stream and its checks
 * @throws Fault SESSION_REQUIRED, then CSRF_INVALID
 */
export async function requireOperator(
  exchange: Exchange,
  { cookie, sessions, identities }: SignedInParts,
  { isUse = exchange.header("x-background") !== "1" } = {},
): Promise<ConsoleUser> {
  const user = await sessions.require(cookie.read(exchange.header("cookie")), { isUse });
  if (!isInNetworks(exchange, user.key, identities.addresses))
    throw new Fault("SESSION_REQUIRED", "Sign in to the console");
  exchange.key = user.key;
  identities.uses?.note(user.key.hash);
  const { method } = exchange.req;
  if (method !== "GET" && method !== "HEAD" && !isCsrfTokenOf(user.token, exchange.header("x-csrf-token")))
    throw new Fault("CSRF_INVALID", "x-csrf-token must be the token of this session");
  return user;
}

/** Signing in, looking who is signed in, and signing out. */
export function sessionRoutes(parts: SignedInParts & { limit: SignInLimit }, base: string): Route[] {
  const { cookie, sessions, tenantId } = parts;
  const at = { path: `${base}/console/session`, name: SIGN_IN_ROUTE, forBrowsers: false } as const;
  const shown = ({ token, key, createdAt, idleEndsAt, endsAt }: ConsoleUser) => ({
    tenant: tenantId,
    actor: actorOf(key.name),
    scopes: key.scopes,
    csrfToken: csrfTokenOf(token),
    createdAt: new Date(createdAt).toISOString(),
    idleEndsAt: new Date(idleEndsAt).toISOString(),
    endsAt: new Date(endsAt).toISOString(),
  });
  return [
    {
      ...at,
      method: "POST",
      async answer(exchange) {
        const user = await signIn(exchange, parts);
        const before = cookie.read(exchange.header("cookie"));
        if (before !== undefined) await sessions.end(before, "replaced");
        return ok(shown(user), [["set-cookie", cookie.set(user.token)]]);
      },
    },
    { ...at, method: "GET", answer: async (exchange) => ok(shown(await requireOperator(exchange, parts))) },
    {
      ...at,
      method: "DELETE",
      async answer(exchange): Promise<Answer> {
        const { token } = await requireOperator(exchange, parts);
        await sessions.end(token, "signed out");
        return ok({ ended: true }, [["set-cookie", cookie.cleared()]]);
      },
    },
  ];
}

/** @throws Fault BAD_REQUEST, RATE_LIMITED, KEY_INVALID or FORBIDDEN */
async function signIn(
  exchange: Exchange,
  { identities, limit, sessions }: SignedInParts & { limit: SignInLimit },
): Promise<ConsoleUser> {
  const { address } = exchange;
  limit.require(address);
  requireJson(exchange.header("content-type"));
  const { key: text, ...others } = parseJsonObject(await readBody(exchange.req, BODY_LIMIT_BYTES));
  // Before anything that costs: what is no sign-in is not counted, so it must learn and use nothing.
  if (typeof text !== "string" || Object.keys(others).length > 0)
    throw new Fault("BAD_REQUEST", "The body must be a key: { key }");
  await limit.requireShared(address);
  const { keys } = identities;
  await keys.ready();
  if (!keys.find(text)) {
    // This process's copy of the keys may be a second old, and people use a key as soon as they have it.
    keys.forget();
    await keys.ready();
  }
  limit.require(address);
  try {
    exchange.presentedSha256 = hashApiKey(text);
    const key = requireKey(
      exchange,
      text,
      identities,
      "The admin key is unknown, has ended, or may not be used from here",
    );
    exchange.key = key;
    if (key.type !== "admin") throw new Fault("FORBIDDEN", "This needs an admin key");
    return await sessions.open(key, address);
  } catch (error) {
    const isRefused = error instanceof Fault && (error.code === "KEY_INVALID" || error.code === "FORBIDDEN");
    if (isRefused) await limit.refused(address);
    throw error;
  }
}
