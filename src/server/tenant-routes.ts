import { type RequestListener, STATUS_CODES } from "node:http";
import { H3 } from "h3";
import { FastResponse } from "srvx";
import { NodeRequest } from "srvx/node";
import { operationIds, operations } from "../contract/operations.ts";
import { HostNames } from "../domain/access/host-names.ts";
import { Fault, invariant } from "../domain/fault.ts";
import { Languages } from "../locales/languages.ts";
import type { Cors } from "./access/cors.ts";
import { Origins } from "./access/origins.ts";
import { sessionRoutes } from "./access/session.ts";
import { nextRequestId } from "./exchange.ts";
import type { FrontDoor } from "./front-door.ts";
import { openApiRoute } from "./openapi/document-routes.ts";
import { assetRoutes, readAssets } from "./pages/assets.ts";
import { docsRoutes } from "./pages/docs.ts";
import { FrameReader } from "./pages/embed-data.ts";
import { embedRoutes } from "./pages/embed-page.ts";
import { marketRoutes } from "./pages/market/market-routes.ts";
import { playgroundRoute } from "./pages/playground-page.ts";
import { ReaderAddress } from "./pages/reader-address.ts";
import { errorBody, SECURITY_HEADERS, sendRest, toFault } from "./responses.ts";
import { operationRoute, type Route, type RouteServices } from "./routes.ts";
import { auditRoute } from "./streams/audit-route.ts";
import type { TenantOptions } from "./tenant-options.ts";

/**
 * All routes of a tenant: special routes first, then every other operation that has a handler.
 * @param stream the route of the event stream, if the tenant has one
 */
export function tenantRoutes(options: TenantOptions, services: RouteServices, stream: Route | undefined): Route[] {
  const { baseUrl, tenantId, hosts = [] } = options;
  const { addresses } = services.identities;
  const readers = new ReaderAddress({ baseUrl, hosts: new HostNames(hosts), addresses });
  const { checks } = options.services;
  const own = [
    ...sessionRoutes(services),
    ...(stream ? [stream] : []),
    ...(checks ? [auditRoute(services, checks)] : []),
  ];
  const isOwn = (id: (typeof operationIds)[number]) =>
    own.some(({ method, path }) => method === operations[id].method && path === operations[id].path);
  const served = operationIds.filter((id) => services.handlers[id] !== undefined || isOwn(id));
  return [
    ...served.flatMap((id) => (isOwn(id) ? [] : (operationRoute(id, services) ?? []))),
    ...own,
    openApiRoute({ served, tenantId, stream: stream !== undefined }, readers),
    ...docsRoutes({ readers, tenantId }),
    ...readerRoutes(options, services, stream, readers),
  ];
}

/** The routes for readers: the widget, the routes that its frames read under separate addresses, and the market pages. */
function readerRoutes(
  { embed: options, playground, pool, services: { cursors, views, publicReads = pool } }: TenantOptions,
  routeServices: RouteServices,
  stream: Route | undefined,
  readers: ReaderAddress,
): Route[] {
  if (!options) return [];
  const { handlers, identities } = routeServices;
  invariant(cursors && views, "where the widget is served, its lists can be paged and its answers kept");
  const assets = readAssets();
  const { languages = new Languages({ words: options.theme?.words }) } = options;
  const traders = new Origins(options.allowedOrigins, options.baseUrl);
  const listed = options.allowedOrigins.find((origin) => !origin.includes("*"));
  const tradeAt = (marketId?: string): string | undefined =>
    playground ? `/playground${marketId ? `?${new URLSearchParams({ market: marketId })}` : ""}` : listed;
  const reader = new FrameReader(publicReads, cursors, views);
  const services = { options, assets, reader, keys: identities.keys, traders, tradeAt, languages };
  const portfolio = operationRoute("getPortfolio", routeServices);
  return [
    ...assetRoutes(assets),
    ...embedRoutes(services),
    ...(stream ? [inFrame(stream, "/embed/stream")] : []),
    ...(portfolio ? [inFrame(portfolio, "/embed/data/portfolio")] : []),
    ...marketRoutes({ ...options, languages, signInAt: tradeAt }, handlers, reader),
    ...(playground ? [playgroundRoute(services, playground, readers)] : []),
  ];
}

/** The same answers for frames of this origin only, counted in the widget's bucket. */
function inFrame(route: Route, path: string): Route {
  return { ...route, path, forBrowsers: false, bucket: "embed" };
}

/**
 * Passes Node's requests to their routes with h3's router: HEAD and preflights are added, and the rest gets a 404. h3's
 * own listener would end each response again and wait for that; here all answers but streams are written when their
 * handler returns.
 */
export function routed(routes: readonly Route[], door: FrontDoor, cors: Cors): RequestListener {
  // Handlers decode path segments and refuse bad ones; h3 would refuse them before the request is counted.
  const app = new H3({ silent: true, allowMalformedURL: true, onError: (error) => answerOutsideRoutes(error.cause) });
  for (const route of [...routes, ...headRoutes(routes), ...preflightRoutes(routes, cors), UNKNOWN])
    app.on(route.method, route.path, door.handler(route));
  const { fetch: handle } = app;
  return (req, res) => {
    const answered = handle(new NodeRequest({ req, res }));
    if (answered instanceof Promise) void answered.then((response) => sendRest(res, response));
    else sendRest(res, answered);
  };
}

/** HEAD is answered wherever GET is, by the same route; the front door omits the body. */
function headRoutes(routes: readonly Route[]): Route[] {
  return routes.filter(({ method }) => method === "GET").map((route) => ({ ...route, method: "HEAD" }));
}

/** Preflights exist for the paths that pages may use, and name only the allowed methods. HEAD needs no mention (Fetch, 4.8). */
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
const UNKNOWN: Route = {
  method: "",
  path: "/**",
  forBrowsers: false,
  async answer() {
    throw new Fault("NOT_FOUND", "Not found");
  },
};

/** The handlers above never throw. If h3 itself fails, its error body must not be sent. */
function answerOutsideRoutes(cause: unknown): Response {
  const { status, message, code } = toFault(cause);
  const headers = [...SECURITY_HEADERS, ["request-id", nextRequestId()], ["error-code", code]] as [string, string][];
  return new FastResponse(errorBody(message), { status, statusText: STATUS_CODES[status] ?? "", headers });
}
