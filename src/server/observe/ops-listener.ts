import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { IntegrityProblem } from "../../domain/audit/audit-link.ts";
import type { DatabaseState } from "../../domain/durability.ts";
import { withinDeadline } from "../../postgres/client.ts";
import type { LeaseStatus } from "../../services/leases.ts";
import { SERVER_ID } from "../../services/tenant/server-id.ts";
import type { Connections } from "../connections/connections.ts";
import { createListener } from "../connections/listener.ts";
import { nextRequestId } from "../exchange.ts";
import { errorBody } from "../responses.ts";
import type { Metrics } from "./metrics.ts";

export interface OpsOptions {
  tenantId: string;
  /** Tells commands on the same machine which environment of the tenant this is; it is public, audit entries state it. */
  auditKeyId?: string | undefined;
  /** The scheme of the API's port, for commands that know only this listener. */
  scheme: "http" | "https";
  metrics: Metrics;
  isDraining(): boolean;
  isDatabaseUp(): Promise<boolean>;
  readiness(): Promise<Readiness>;
  /** Who does the work that one server of a tenant does at a time. */
  leases(): readonly LeaseStatus[];
  /** What is wrong with the audit log or the ledger, as far as this process has found; undefined when nothing is. */
  integrityProblem(): IntegrityProblem | undefined;
}

/** What a server tells of its changes, at most 5 s old. */
export interface Readiness {
  /** A change sent now would be tried. */
  writes: boolean;
  /** Null while it is away. */
  database: DatabaseState | null;
}

const DATABASE_TIMEOUT_MS = 2000;

/** For orchestrators and Prometheus: a second port without keys and limits, so it belongs on loopback or a closed network. */
export function createOpsListener(options: OpsOptions, connections: Connections): Server {
  return createListener(async (req, res) => {
    try {
      await answer(options, req, res);
    } catch {
      send(res, 500, errorBody("Unexpected failure"));
    }
  }, connections);
}

async function answer(options: OpsOptions, req: IncomingMessage, res: ServerResponse): Promise<void> {
  // Node leaves out the body of an answer to HEAD.
  const path = req.method === "GET" || req.method === "HEAD" ? req.url?.split("?", 1)[0] : undefined;
  const { tenantId: tenant, auditKeyId, scheme, metrics } = options;
  res.setHeader("api-scheme", scheme);
  if (auditKeyId !== undefined) res.setHeader("audit-key-id", auditKeyId);
  if (path === "/livez") return send(res, 200, JSON.stringify({ ok: true, tenant }));
  if (path === "/metrics") return send(res, 200, await metrics.text(), metrics.contentType);
  if (path !== "/readyz") return send(res, 404, errorBody("Not found"));
  const draining = options.isDraining();
  // A probe that hangs counts as an unavailable database.
  const [db, { writes, database }] = await Promise.all([
    withinDeadline(options.isDatabaseUp(), DATABASE_TIMEOUT_MS).catch(() => false),
    options.readiness(),
  ]);
  const integrity = options.integrityProblem() ?? "ok";
  const ok = db && !draining && integrity === "ok";
  const leases = options.leases();
  send(
    res,
    ok ? 200 : 503,
    JSON.stringify({ ok, tenant, db, draining, integrity, server: SERVER_ID, writes, leases, database }),
  );
}

function send(res: ServerResponse, status: number, body: string, contentType = "application/json"): void {
  res.writeHead(status, {
    "content-type": contentType,
    "cache-control": "no-store",
    "request-id": nextRequestId(),
    "content-length": Buffer.byteLength(body),
  });
  res.end(body);
}
