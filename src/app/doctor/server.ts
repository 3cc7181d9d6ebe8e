import { createServer } from "node:net";
import { isErrno } from "../../config/environment.ts";
import { findServer, unprovenFault } from "../doors/find-server.ts";
import { tenantFetch } from "../doors/trust.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import { type Check, type CheckGroup, fail, ok, skipped, warn } from "./check.ts";

export const serverGroup: CheckGroup = {
  name: "server",
  run: async (context) => evaluateServer(await collectServer(context)),
};

export interface ServerFacts {
  /** The ports of the tenant file; 0 takes any free one. */
  ports: { field: string; port: number; problem: string | undefined }[];
  /** The running server of this tenant; undefined when none runs here. */
  running: { url: string; health: string; ready?: string | undefined; integrity?: string | undefined } | undefined;
  /** About a process that says it is this tenant's server and does not prove it. */
  unproven?: { problem: string; remedy: string };
  /** About a house that cannot serve it. */
  failing?: { url: string; problem: string };
}

const TIMEOUT_MS = 3000;
const GOOD = "200";
const UNPROVEN_REMEDY =
  "No key is sent to it. If it is yours, serve from this directory, or with a certificate that an authority signed; if not, find out whose it is";
const OLDER_REMEDY = "No key is sent to it. Stop it, bring the database up to date with pmctl apply, and serve again";
const REMEDY = "Look at the server's log; pmctl db status says whether the database is there";
const FAILING_REMEDY = "Mend that; the tenant is tried again within a minute, other tenants of that server go on";
const LEDGER_REMEDY = "pmctl reconcile --explain shows where";
const AUDIT_REMEDY = "pmctl audit status tells more";

async function collectServer(tenant: OperatorTenant): Promise<ServerFacts> {
  const { host, port, opsPort, opsHost } = tenant.config.server;
  const { found: server, unproven, failing } = await findServer(tenant);
  if (server)
    return {
      ports: [],
      running: {
        url: server.url,
        health: (await answerOf(await tenantFetch(tenant, server), `${server.url}/health`)).status,
        ...(server.opsUrl === undefined ? {} : await readinessOf(`${server.opsUrl}/readyz?tenant=${tenant.id}`)),
      },
    };
  if (failing) return { ports: [], running: undefined, failing };
  return {
    ports: [
      { field: "server.port", port, problem: await problemOfPort(host, port) },
      { field: "server.opsPort", port: opsPort, problem: await problemOfPort(opsHost, opsPort) },
    ],
    running: undefined,
    ...(unproven && {
      unproven: {
        problem: unprovenFault(tenant.id, unproven).message,
        remedy: unproven.older === undefined ? UNPROVEN_REMEDY : OLDER_REMEDY,
      },
    }),
  };
}

export function evaluateServer({ ports, running, unproven, failing }: ServerFacts): Check[] {
  if (failing)
    return [fail("server", `the server at ${failing.url} cannot serve it: ${failing.problem}`, FAILING_REMEDY)];
  if (unproven !== undefined) return [warn("server", unproven.problem, unproven.remedy)];
  if (!running) return [...ports.map(evaluatePort), skipped("server", "no server of this tenant runs on this machine")];
  const { url, health } = running;
  return [
    ok("ports", "served by this tenant"),
    health === GOOD ? ok("health", `${url}/health is good`) : fail("health", `/health answers ${health}`, REMEDY),
    evaluateReadiness(running),
  ];
}

function evaluateReadiness({ ready, integrity }: NonNullable<ServerFacts["running"]>): Check {
  if (ready === undefined) return skipped("readiness", "the server tells it on its own machine only");
  if (ready === GOOD) return ok("readiness", "/readyz is good");
  if (integrity === "ledger")
    return fail("ledger", `/readyz answers ${ready}, and the ledger does not add up`, LEDGER_REMEDY);
  return integrity === undefined || integrity === "ok"
    ? fail("readiness", `/readyz answers ${ready}`, REMEDY)
    : fail("readiness", `/readyz answers ${ready}, and the audit log does not hold (${integrity})`, AUDIT_REMEDY);
}

function evaluatePort({ field, port, problem }: ServerFacts["ports"][number]): Check {
  if (problem === undefined) return ok(field, port === 0 ? "any free port" : `port ${port} is free`);
  const remedy = `Set ${field} to another port, or stop what uses it`;
  return fail(field, `port ${port} cannot be had (${problem}), and it is not this tenant's server`, remedy);
}

/** Found out by listening: it depends on the user, the host and other programs. */
function problemOfPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error) => resolve(isErrno(error) ? error.code : error.message));
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
}

async function readinessOf(url: string): Promise<{ ready: string; integrity: string | undefined }> {
  const { status, body } = await answerOf(fetch, url);
  return { ready: status, integrity: /"integrity":"([a-z-]+)"/.exec(body)?.[1] };
}

async function answerOf(request: typeof fetch, url: string): Promise<{ status: string; body: string }> {
  try {
    const response = await request(url, { redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: String(response.status), body: await response.text() };
  } catch {
    return { status: "nothing", body: "" };
  }
}
