import { type OperationId, operationIds, operations } from "../contract/operations.ts";
import { Fault } from "../domain/fault.ts";
import { encodeResult } from "../services/answers.ts";
import type { Handlers } from "../services/invoke.ts";
import { authenticate, type Identities } from "./authenticate.ts";
import { wallClockMs } from "./clock.ts";
import { ok } from "./responses.ts";
import type { Route } from "./routes.ts";
import { clearedCookie, MAX_COOKIE_TOKEN, sessionCookie } from "./session-cookie.ts";

/** The session operations (decision 12). The cookie holds the token itself: nothing is stored, so nothing outlives it. */
export function sessionRoutes({ identities }: { identities: Identities }): Route[] {
  const { createSession, deleteSession } = operations;
  return [
    {
      method: createSession.method,
      path: createSession.path,
      forBrowsers: true,
      async answer(exchange) {
        const authorization = exchange.header("authorization");
        // A cookie must not renew itself, and no page may put its own user's cookie into somebody's browser.
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
      forBrowsers: true,
      async answer(exchange) {
        if (exchange.header("cookie") !== undefined) identities.origins.require(exchange);
        await authenticate(exchange, deleteSession, identities);
        return ok(encodeResult("deleteSession", { ended: true }), [["set-cookie", clearedCookie()]]);
      },
    },
  ];
}

/** Marks operations as served that the server answers without a service behind them. */
export function servedHere(handlers: Handlers, routes: readonly Route[]): Handlers {
  const isHere = (id: OperationId): boolean => {
    const { method, path } = operations[id];
    return routes.some((route) => route.method === method && route.path === path);
  };
  const unreachable = async () => {
    throw new Fault("NOT_FOUND", "Not found");
  };
  const here = operationIds.filter(isHere);
  return { ...handlers, ...Object.fromEntries(here.map((id) => [id, unreachable])) };
}
