import { operations } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { encodeResult } from "../../services/answers.ts";
import { withDatabaseFaults } from "../../services/invoke.ts";
import type { Exchange } from "../exchange.ts";
import { originOf } from "../observe/security-watch.ts";
import { ok } from "../responses.ts";
import type { Route, RouteServices } from "../routes.ts";
import { authenticate, type Identities } from "./authenticate.ts";
import { clearedCookie, MAX_COOKIE_TOKEN, sessionCookie, tokenFromCookies } from "./session-cookie.ts";
import type { VerifiedToken } from "./user-tokens.ts";

/**
 * The session operations. The cookie contains the token itself, so creating a session stores nothing. Ending a session
 * records its token's hash.
 */
export function sessionRoutes({ identities, security }: RouteServices): Route[] {
  const { createSession, deleteSession } = operations;
  return [
    {
      method: createSession.method,
      path: createSession.path,
      operation: "createSession",
      forBrowsers: true,
      async answer(exchange) {
        const authorization = exchange.header("authorization");
        // A cookie must not renew itself, and no page may plant its own user's cookie in another user's browser.
        if (exchange.header("origin") !== undefined) identities.origins.require(exchange);
        await authenticate(exchange, createSession, identities, { cookies: false });
        const { user, expiresAtMs } = await identities.tokens.read(authorization);
        const token = authorization?.split(" ").at(-1) ?? "";
        if (token.length > MAX_COOKIE_TOKEN) throw new Fault("BAD_REQUEST", "The token is too long for a cookie");
        const maxAgeSec = Math.max(0, Math.floor((expiresAtMs - wallClockMs()) / 1000));
        const session = encodeResult("createSession", { userId: user.id, expiresAt: expiresAtMs });
        return ok(session, [["set-cookie", sessionCookie(token, maxAgeSec)]]);
      },
    },
    {
      method: deleteSession.method,
      path: deleteSession.path,
      operation: "deleteSession",
      forBrowsers: true,
      async answer(exchange) {
        if (exchange.header("cookie") !== undefined) identities.origins.require(exchange);
        await authenticate(exchange, deleteSession, identities);
        for (const token of await tokensOf(exchange, identities)) {
          const isNew = await withDatabaseFaults(identities.ended.end(token));
          if (isNew) security.note("session.revoked", "logout", originOf(exchange));
        }
        return ok(encodeResult("deleteSession", { ended: true }), [["set-cookie", clearedCookie()]]);
      },
    },
  ];
}

/**
 * The tokens whose sessions a request ends: those in the cookie and in the header. A token that fails verification is
 * skipped. An already ended session is ended again, since the first attempt may not have reached the database.
 */
async function tokensOf(exchange: Exchange, { tokens }: Identities): Promise<VerifiedToken[]> {
  const cookie = tokenFromCookies(exchange.header("cookie"));
  const given = [cookie === undefined ? undefined : `Bearer ${cookie}`, exchange.header("authorization")];
  const verified = given.map(async (one) => (one === undefined ? undefined : tokens.identify(one)));
  const settled = await Promise.allSettled(verified);
  return settled.flatMap((one) => {
    if (one.status === "fulfilled") return one.value ?? [];
    if (one.reason instanceof Fault && one.reason.code === "USER_REQUIRED") return [];
    throw one.reason;
  });
}
