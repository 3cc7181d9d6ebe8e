import { type RequestListener, STATUS_CODES } from "node:http";
import { H3 } from "h3";
import { FastResponse } from "srvx";
import { NodeRequest } from "srvx/node";
import { operationIds } from "../contract/operations.ts";
import { Fault } from "../domain/fault.ts";
import type { Cors } from "./cors.ts";
import { nextRequestId } from "./exchange.ts";
import type { FrontDoor } from "./front-door.ts";
import { errorBody, SECURITY_HEADERS, sendRest, toFault } from "./responses.ts";
import { isAnsweredBy, operationRoute, type Route, type RouteServices } from "./routes.ts";

export interface AppOptions {
  door: FrontDoor;
  cors: Cors;
  services: RouteServices;
  /** Routes beyond the operations of the contract. */
  documents: readonly Route[];
}

/** Every operation that has a handler, the preflights of their paths, and a 404 for the rest. */
export function createApp({ door, cors, services, documents }: AppOptions): H3 {
  // Path segments are decoded, and refused, where they are read; h3 would refuse before the request is counted.
  const app = new H3({ silent: true, allowMalformedURL: true, onError: (error) => answerOutsideRoutes(error.cause) });
  const served = operationIds.filter((id) => services.handlers[id] !== undefined && !isAnsweredBy(documents, id));
  const routes = [...served.flatMap((id) => operationRoute(id, services) ?? []), ...documents];
  for (const route of [...routes, ...headRoutes(routes), ...preflightRoutes(routes, cors), unknownRoute()])
    app.on(route.method, route.path, door.handler(route));
  return app;
}

/**
 * Passes Node's requests to h3. h3's own listener ends each response once more, and waits for that; here all but streams
 * have been written when their handler returns.
 * @throws what h3 throws before it calls a handler
 */
export function listenerOf({ fetch: handle }: H3): RequestListener {
  return (req, res) => {
    const answered = handle(new NodeRequest({ req, res }));
    if (answered instanceof Promise) void answered.then((response) => sendRest(res, response));
    else sendRest(res, answered);
  };
}

/** HEAD is answered wherever GET is, by the same route; the front door leaves the body out. */
function headRoutes(routes: readonly Route[]): Route[] {
  return routes.filter(({ method }) => method === "GET").map((route) => ({ ...route, method: "HEAD" }));
}

/** A preflight is answered for the paths that pages may use, and names only the methods that they may. HEAD needs no mention (Fetch, 4.8). */
function preflightRoutes(routes: readonly Route[], cors: Cors): Route[] {
  const methodsByPath = new Map<string, string[]>();
  for (const { path, method, forBrowsers } of routes)
    if (forBrowsers) methodsByPath.set(path, [...(methodsByPath.get(path) ?? []), method]);
  return [...methodsByPath].map(([path, methods]) => ({
    method: "OPTIONS",
    path,
    forBrowsers: false,
    async answer(exchange) {
      return { status: 204, body: "", headers: cors.preflightHeaders(exchange.header("origin"), methods) };
    },
  }));
}

/** Unknown paths and wrong methods get the same answer whatever the key is, and it never repeats the URL. */
function unknownRoute(): Route {
  return {
    method: "",
    path: "/**",
    forBrowsers: false,
    async answer() {
      throw new Fault("NOT_FOUND", "Not found");
    },
  };
}

/** The handlers above never throw; should h3 itself fail, its error body must not be seen. */
function answerOutsideRoutes(cause: unknown): Response {
  const { status, message, code } = toFault(cause);
  const headers = [...SECURITY_HEADERS, ["request-id", nextRequestId()], ["error-code", code]] as [string, string][];
  return new FastResponse(errorBody(message), { status, statusText: STATUS_CODES[status] ?? "", headers });
}
