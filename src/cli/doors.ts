import { Fault } from "../domain/fault.ts";
import { auditKey } from "../engine/seal.ts";
import { auditSecretsOf, type OperatorTenant } from "./operator-tenant.ts";
import { findServers } from "./run-file.ts";

export type Via = "auto" | "db" | "http";

/** Which way a command goes to its tenant. */
export type Door = { kind: "db" } | { kind: "http"; url: string };

/** Where only the tenant file says that a server listens, there may be none; a longer wait would show in every command. */
const PROBE_TIMEOUT_MS = 300;
/** A server that left a run file is alive, and may be busy. Passed over, the command would act past it, as somebody else. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Chooses the way: HTTP when `--url` is given or a server of this tenant answers here, else the database.
 *
 * @throws Fault USAGE for options that contradict each other, UNREACHABLE when HTTP was asked for and nobody answers
 */
export async function chooseDoor(tenant: OperatorTenant, via: Via, url: string | undefined): Promise<Door> {
  if (url !== undefined) {
    if (via === "db")
      throw new Fault("USAGE", "--url names a server, and --via db asks for the database: leave one out");
    return { kind: "http", url: checkUrl(url) };
  }
  if (via === "db") return { kind: "db" };
  const running = await findRunningServer(tenant);
  if (running !== undefined) return { kind: "http", url: running.url };
  if (via === "auto") return { kind: "db" };
  throw new Fault("UNREACHABLE", `No server of ${tenant.id} answers on this machine: start one, or name it with --url`);
}

/** The addresses of a server on this machine that says it serves this tenant. */
export async function findRunningServer(tenant: OperatorTenant): Promise<{ url: string; opsUrl: string } | undefined> {
  const { id, directory, config } = tenant;
  const candidates = [
    ...(await findServers(directory, id)).map((server) => ({ server, timeoutMs: BUSY_TIMEOUT_MS })),
    ...configuredServer(config.server).map((server) => ({ server, timeoutMs: PROBE_TIMEOUT_MS })),
  ];
  const answers = await Promise.all(
    candidates.map(({ server, timeoutMs }) => serves(server.opsUrl, tenant, timeoutMs)),
  );
  return candidates.find((_, index) => answers[index])?.server;
}

/** Where the tenant file says that the server listens: one that another directory or a container started has no run file. */
function configuredServer(server: OperatorTenant["config"]["server"]): { url: string; opsUrl: string }[] {
  const { host, port, opsPort } = server;
  if (port === 0 || opsPort === 0) return [];
  return [{ url: `http://${reachable(host)}:${port}`, opsUrl: `http://127.0.0.1:${opsPort}` }];
}

/** A server that listens everywhere is reached over loopback. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

/**
 * Asks the operations listener, which is never rate limited. Another tenant's server is not ours to talk to, and neither
 * is that of a tenant of the same name: staging and production on one machine differ by the key of their audit log.
 */
async function serves(opsUrl: string, tenant: OperatorTenant, timeoutMs: number): Promise<boolean> {
  try {
    const response = await fetch(`${opsUrl.replace(/\/+$/, "")}/livez`, {
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    const body: unknown = await response.json();
    if (!response.ok || typeof body !== "object" || body === null) return false;
    const keyId = response.headers.get("audit-key-id");
    return "tenant" in body && body.tenant === tenant.id && (keyId === null || isOurKey(keyId, tenant));
  } catch {
    return false;
  }
}

/** Whoever has no audit key at hand goes by the tenant's name alone. */
function isOurKey(keyId: string, tenant: OperatorTenant): boolean {
  try {
    return auditSecretsOf(tenant).some((secret) => auditKey(secret).id === keyId);
  } catch (error) {
    if (error instanceof Fault) return true;
    throw error;
  }
}

export function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isFit =
    url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" && url.search === "";
  if (!isFit) throw new Fault("USAGE", "--url must be an address such as https://predict.acme.example");
  return url.href.replace(/\/+$/, "");
}
