import type { RequestListener } from "node:http";
import { HostNames } from "../../domain/access/host-names.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import type { Sequencer } from "../../ledger/sequencer/sequencer.ts";
import type { Pool, Reader } from "../../postgres/pool.ts";
import { Cors } from "../access/cors.ts";
import type { Connections } from "../connections/connections.ts";
import { FrontDoor, type FrontDoorOptions } from "../front-door.ts";
import type { Header } from "../responses.ts";
import type { RouteServices } from "../routes.ts";
import type { StreamServices } from "../streams/stream-route.ts";
import { routed } from "../tenant-routes.ts";
import { consoleApi } from "./api-routes.ts";
import { ConsoleCookie } from "./cookie.ts";
import type { ConsoleOptions } from "./options.ts";
import { OriginGuard } from "./origin-guard.ts";
import { consolePages } from "./pages.ts";
import { sessionRoutes } from "./session-routes.ts";
import { ConsoleSessions } from "./sessions.ts";
import { SignInLimit } from "./sign-in-limit.ts";

export interface ConsoleParts extends ConsoleOptions {
  services: RouteServices;
  sequencer: Sequencer;
  auditKeys: readonly AuditKey[];
  pool: Pool;
  checks: Reader | undefined;
  stream: StreamServices | undefined;
  door: Omit<FrontDoorOptions, "connections" | "hosts" | "cors" | "admit" | "headers">;
}

/** A console behind one listener. */
export interface Console {
  handle: RequestListener;
  door: FrontDoor;
}

/** The rest of these headers is in every answer of the server. */
const HEADERS: readonly Header[] = [
  ["x-frame-options", "DENY"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
];

/**
 * The operator's console: a page, the session behind it, and the operations for who is signed in. It has no rights of its own.
 * @returns makes the console of one listener; all of them share the sessions
 */
export function createConsole(parts: ConsoleParts): (connections: Connections) => Console {
  const { services, sequencer, auditKeys, pool, session: limits, base = "", checks, stream } = parts;
  const { tenantId, identities } = services;
  const onEnded = () => stream?.hub.endInvalid();
  const sessions = new ConsoleSessions({ pool, sequencer, auditKeys, keys: identities.keys, limits, onEnded });
  const signedIn = { tenantId, identities, cookie: new ConsoleCookie(tenantId), sessions };
  const guard = new OriginGuard(parts.origins);
  const routes = [
    ...sessionRoutes({ ...signedIn, limit: new SignInLimit(pool) }, base),
    ...consoleApi({ ...signedIn, services, checks, stream }, base),
    ...consolePages(tenantId, base),
  ];
  const cors = new Cors([]);
  const pages = new Set(["/console", "/console/**"]);
  return (connections) => {
    const door: FrontDoor = new FrontDoor({
      ...parts.door,
      ...{ connections, cors, hosts: new HostNames([]), headers: HEADERS },
      admit(exchange, route) {
        guard.require(exchange, pages.has(route.name ?? ""));
        if (door.draining) throw new Fault("OVERLOADED", "The server is stopping", { status: 503 });
      },
    });
    return { door, handle: routed(routes, door, cors) };
  };
}
