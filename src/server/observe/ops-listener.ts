import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { ConnectionLimits } from "../../domain/access/connection-limits.ts";
import type { IntegrityProblem } from "../../domain/audit/audit-link.ts";
import type { DatabaseState } from "../../domain/durability.ts";
import { withinDeadline } from "../../postgres/client.ts";
import type { LeaseStatus } from "../../services/background/leases.ts";
import { SERVER_ID } from "../../services/tenant/identifiers.ts";
import type { Connections } from "../connections/connections.ts";
import { createListener, type KeyPair } from "../connections/listener.ts";
import { nextRequestId } from "../exchange.ts";
import { errorBody } from "../responses.ts";
import type { Metrics } from "./metrics.ts";

export interface OpsOptions {
  tenantId: string;
  metrics: Metrics;
  isDraining(): boolean;
  isDatabaseUp(): Promise<boolean>;
  readiness(): Promise<Readiness>;
  /** Which leases this server holds. */
  leases(): readonly LeaseStatus[];
  /** The problem that this process has found in the audit log or the ledger; undefined for none. */
  integrityProblem(): IntegrityProblem | undefined;
}

/** What a server reports about writes and its database, at most 5 s old. */
export interface Readiness {
  /** Whether a change sent now would be tried. */
  writes: boolean;
  /** Null while the database is away. */
  database: DatabaseState | null;
}

const DATABASE_TIMEOUT_MS = 2000;
const MOST_CONNECTIONS = 256;
const SHARE_OF_DESCRIPTORS = 0.1;

/** The operations listener has few callers, which may all share the loopback address. */
export function opsLimits(limits: ConnectionLimits, descriptors: number): ConnectionLimits {
  const connections = Math.min(MOST_CONNECTIONS, Math.max(1, Math.floor(descriptors * SHARE_OF_DESCRIPTORS)));
  return { ...limits, connections, connectionsPerAddress: connections };
}

/** An answer of the operations listener. */
export interface OpsPage {
  status: number;
  body: string;
  /** JSON by default. */
  contentType?: string;
  headers?: Readonly<Record<string, string>>;
}

/** Answers a request, or returns false for one that is not meant for it. */
export type PageHandler = (req: IncomingMessage, res: ServerResponse) => boolean;

/**
 * For orchestrators and Prometheus: a second port without keys and limits, so it belongs on loopback or a closed network.
 * @param answer called with the path and query of a GET; returns undefined for an unknown path
 * @param pages answers the paths of consoles
 */
export function createOpsListener(
  answer: (path: string, query: URLSearchParams) => Promise<OpsPage | undefined>,
  connections: Connections,
  pages: PageHandler = () => false,
  keyPair?: KeyPair | undefined,
): Server {
  return createListener(
    async (req, res) => {
      try {
        if (pages(req, res)) return;
        // Node omits the body of an answer to HEAD.
        const isRead = req.method === "GET" || req.method === "HEAD";
        const [path = "", query] = req.url?.split("?", 2) ?? [];
        const parameters = new URLSearchParams(query);
        // A question about two tenants gets no answer: a load balancer would take one tenant's answer for the other's.
        const isTwice = new Set(parameters.keys()).size < parameters.size;
        if (isRead && isTwice)
          return sendPage(res, { status: 400, body: errorBody("A query parameter is given twice") });
        const page = isRead ? await answer(path, parameters) : undefined;
        sendPage(res, page ?? NOT_FOUND);
      } catch {
        sendPage(res, { status: 500, body: errorBody("Unexpected failure") });
      }
    },
    connections,
    keyPair,
  );
}

const NOT_FOUND: OpsPage = { status: 404, body: errorBody("Not found"), headers: { "error-code": "NOT_FOUND" } };

/** The answers of one tenant's operations listener. */
export async function tenantOps(options: OpsOptions, path: string): Promise<OpsPage | undefined> {
  const { tenantId: tenant, metrics } = options;
  if (path === "/livez") return { status: 200, body: JSON.stringify({ ok: true, tenant }) };
  if (path === "/metrics") return { status: 200, body: await metrics.text(), contentType: metrics.contentType };
  return path === "/readyz" ? readyPage(options) : undefined;
}

async function readyPage(options: OpsOptions): Promise<OpsPage> {
  const draining = options.isDraining();
  // A probe that hangs counts as an unavailable database.
  const [db, { writes, database }] = await Promise.all([
    withinDeadline(options.isDatabaseUp(), DATABASE_TIMEOUT_MS).catch(() => false),
    options.readiness(),
  ]);
  const integrity = options.integrityProblem() ?? "ok";
  const ok = db && !draining && integrity === "ok";
  const [tenant, leases] = [options.tenantId, options.leases()];
  const body = JSON.stringify({ ok, tenant, db, draining, integrity, server: SERVER_ID, writes, leases, database });
  return { status: ok ? 200 : 503, body };
}

/** Sends a page that caches must not store. */
export function sendPage(
  res: ServerResponse,
  { status, body, contentType = "application/json", headers }: OpsPage,
): void {
  res.writeHead(status, {
    ...headers,
    "content-type": contentType,
    "cache-control": "no-store",
    "request-id": nextRequestId(),
    "content-length": Buffer.byteLength(body),
  });
  res.end(body);
}
