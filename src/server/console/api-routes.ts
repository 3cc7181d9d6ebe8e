import type { Operation } from "../../contract/operation.ts";
import { type OperationId, operationIds, operations } from "../../contract/operations.ts";
import { requireScopes } from "../../domain/access/scopes.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import type { Reader } from "../../postgres/pool.ts";
import { AdminHosts } from "../access/admin-hosts.ts";
import { type Authenticated, type Identity, scopesFor } from "../access/authenticate.ts";
import type { Exchange } from "../exchange.ts";
import { operationRoute, type Route, type RouteServices } from "../routes.ts";
import { auditRoute } from "../streams/audit-route.ts";
import { type StreamServices, streamRoute } from "../streams/stream-route.ts";
import { requireOperator, type SignedInParts } from "./session-routes.ts";

interface ApiParts extends SignedInParts {
  services: RouteServices;
  /** Reads the log for answers in lines. */
  checks: Reader | undefined;
  stream: StreamServices | undefined;
}

/** The operations as the API answers them, for the operator who is signed in. */
export function consoleApi(parts: ApiParts, base: string): Route[] {
  const root = `${base}/console/api`;
  const mounted = (route: Route): Route => ({
    ...route,
    path: root + route.path,
    name: `/console/api${route.path}`,
    forBrowsers: false,
    async answer(exchange) {
      exchange.key = (await requireOperator(exchange, parts)).key;
      const { cacheControl: _, ...answer } = await route.answer(exchange);
      return answer;
    },
  });
  return [
    ...operationIds.flatMap((id) => routeOf(id, parts) ?? []).map(mounted),
    ...(parts.stream ? [streamOf(parts.stream, parts, root)] : []),
    mounted({ ...OTHERS, path: "/**", answer: async () => refuse("NOT_FOUND", "Not found") }),
  ];
}

const OTHERS = { method: "", forBrowsers: false } as const;

function routeOf(id: OperationId, { services, checks }: ApiParts): Route | undefined {
  const operation: Operation = operations[id];
  const { method, path, auth } = operation;
  const isOthers = auth === "user" || auth === "signature" || id === "deleteSession";
  if (isOthers)
    return { ...OTHERS, method, path, answer: async () => refuse("FORBIDDEN", "Operators do not call this operation") };
  if (services.handlers[id] === undefined) return undefined;
  const own = { ...services, adminHosts: new AdminHosts([]), identify: identityOf };
  return id === "listAudit" && checks ? auditRoute(own, checks) : operationRoute(id, own);
}

/** The session has established the key, which may do what it may do in the API. */
function identityOf(exchange: Exchange, operation: Authenticated & Pick<Operation, "writes">): Identity {
  const { key } = exchange;
  invariant(key, "a mounted route has required its operator");
  requireScopes(key.scopes, scopesFor(operation));
  // Two tabs and a lost connection must not act twice.
  const isChange = operation.writes || operation === operations.sweepOracle;
  if (operation.method === "POST" && isChange && exchange.header("idempotency-key") === undefined)
    throw new Fault("BAD_REQUEST", "Idempotency-Key is required");
  return { key };
}

/** It is no use of a session, or an open page would keep it alive. */
function streamOf(stream: StreamServices, parts: SignedInParts, root: string): Route {
  const route = streamRoute({
    ...stream,
    identify: async (exchange) => ({ key: (await requireOperator(exchange, parts, { isUse: false })).key }),
  });
  return { ...route, path: root + route.path, name: `/console/api${route.path}`, forBrowsers: false };
}

function refuse(code: "NOT_FOUND" | "FORBIDDEN", message: string): never {
  throw new Fault(code, message);
}
