import type { Fetch } from "../../client/fetch.ts";
import { socketFetch } from "../../client/server-by-socket.ts";
import { ownListener } from "../../config/schema/console-schema.ts";
import { Fault } from "../../domain/fault.ts";
import { readLeases } from "../../ledger/unchained/leases.ts";
import { adminKey } from "../tenant/admin-key.ts";
import { isServed, serversHere } from "../tenant/servers-here.ts";
import { type Examined, type Finding, fail, ok, skipped, warn } from "./check.ts";
import { explainUnserved, problemOfPort, type Unserved } from "./ports.ts";

export interface ServerFacts {
  /** The ports of the tenant file; 0 takes any free one. */
  ports: { field: string; port: number; problem: string | undefined }[];
  /** The running server of this tenant; undefined when none runs here. */
  running: { url: string; health: string; ready: string; integrity?: string | undefined } | undefined;
  /** Why the process that listens for this tenant's commands cannot be trusted. */
  unproven?: string;
  /** Address of a server that seals with another key than the tenant's here. */
  foreign?: string;
  /** The name of the admin key's secret, where the running server rejects its value. */
  adminKey?: string | undefined;
  /** Set if no server runs for the tenant, although its file expects one. */
  unserved?: Unserved | undefined;
  /** A process that cannot serve the tenant. */
  failing?: { url: string; problem: string };
}

const TIMEOUT_MS = 3000;
const GOOD = "200";
const UNPROVEN_REMEDY = "No key is sent to it, and commands go straight to the database";
const REMEDY = "Read the server's log, and see whether the database answers";
const FAILING_REMEDY = "Fix that; the tenant is tried again within a minute, other tenants of that server go on";

export async function collectServer(tenant: Examined): Promise<ServerFacts> {
  const { host, port, opsPort, opsHost, console: settings } = tenant.config.server;
  const own = settings ? ownListener(settings) : undefined;
  const { servers, failing, foreign, unproven } = await serversHere(tenant);
  const [server] = servers;
  if (server) {
    const request = socketFetch(server.socket);
    const { status, body } = await answerOf(request, "http://localhost/readyz");
    const integrity = /"integrity":"([a-z-]+)"/.exec(body)?.[1];
    const health = (await answerOf(request, "http://localhost/health")).status;
    return {
      ports: [],
      running: { url: server.url, health, ready: status, integrity },
      adminKey: await refusedKey(tenant, request),
    };
  }
  if (failing[0])
    return { ports: [], running: undefined, failing: { url: failing[0].url, problem: failing[0].problem ?? "" } };
  if (foreign[0]) return { ports: [], running: undefined, foreign: foreign[0].url };
  const { sql } = tenant;
  const isMissing =
    tenant.config.server.expected && !(await isServed(tenant, async () => (sql ? readLeases(sql) : [])));
  return {
    unserved: isMissing ? await explainUnserved(tenant) : undefined,
    ports: [
      { field: "server.port", port, problem: await problemOfPort(host, port) },
      { field: "server.opsPort", port: opsPort, problem: await problemOfPort(opsHost, opsPort) },
      ...(own
        ? [{ field: "server.console.port", port: own.port, problem: await problemOfPort(own.host, own.port) }]
        : []),
    ],
    running: undefined,
    ...(unproven !== undefined && { unproven }),
  };
}

export function evaluateServer(
  { ports, running, unproven, failing, foreign, unserved, adminKey: refused }: ServerFacts,
  tenant: string,
): Finding[] {
  if (failing)
    return [fail("server", `the server at ${failing.url} cannot serve the tenant: ${failing.problem}`, FAILING_REMEDY)];
  if (unproven !== undefined) return [warn("server", unproven, UNPROVEN_REMEDY)];
  if (foreign !== undefined)
    return [skipped("server", `the server at ${foreign} has another audit key: it is another environment's`)];
  const none = unserved
    ? fail("server", unserved.problem, unserved.remedy, ...(unserved.command === undefined ? [] : [unserved.command]))
    : skipped("server", "no server of this tenant runs on this machine");
  if (!running) return [none, ...ports.map(evaluatePort)];
  const { url, health } = running;
  return [
    ok("ports", "served by this tenant"),
    health === GOOD
      ? ok("health", `${url}/health is good`)
      : fail("health", `/health answers ${health}`, REMEDY, statusCommand(tenant)),
    evaluateReadiness(running, tenant),
    ...(refused === undefined
      ? []
      : [
          fail(
            "admin key",
            `the server rejects the value of ${refused}`,
            `Put back the value that the server knows, or apply the new value straight at the database. A value that was ended as leaked is refused for ever: put a new one into ${refused} first`,
            `pmctl apply ${tenant} --via db`,
          ),
        ]),
  ];
}

/** The command that shows whether the database answers. */
function statusCommand(tenant: string): string {
  return `pmctl db status -t ${tenant}`;
}

function evaluateReadiness({ ready, integrity }: NonNullable<ServerFacts["running"]>, tenant: string): Finding {
  if (ready === GOOD) return ok("readiness", "/readyz is good");
  if (integrity === "ledger")
    return fail(
      "ledger",
      `/readyz answers ${ready}, and the ledger does not add up`,
      "See where",
      `pmctl reconcile --explain -t ${tenant}`,
    );
  return integrity === undefined || integrity === "ok"
    ? fail("readiness", `/readyz answers ${ready}`, REMEDY, statusCommand(tenant))
    : fail(
        "readiness",
        `/readyz answers ${ready}, and the audit log does not hold (${integrity})`,
        "See more",
        `pmctl audit status -t ${tenant}`,
      );
}

function evaluatePort({ field, port, problem }: ServerFacts["ports"][number]): Finding {
  if (problem === undefined) return ok(field, port === 0 ? "any free port" : `port ${port} is free`);
  const remedy = `Set ${field} to another port, or stop what uses it`;
  return fail(field, `cannot listen on port ${port} (${problem}), and this tenant's server does not use it`, remedy);
}

/** The name of the admin key's secret, where the server rejects its value. */
async function refusedKey(tenant: Examined, request: Fetch): Promise<string | undefined> {
  try {
    const { value, secretName = "keys.admin" } = adminKey(tenant, undefined);
    const { status } = await answerOf(request, "http://localhost/v1/keys", { "x-api-key": value });
    return status === "401" ? secretName.replace(/^env /, "") : undefined;
  } catch (error) {
    // Another check reports a missing value.
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

async function answerOf(
  request: Fetch,
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: string; body: string }> {
  try {
    const response = await request(url, { headers, redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) });
    return { status: String(response.status), body: await response.text() };
  } catch {
    return { status: "nothing", body: "" };
  }
}
