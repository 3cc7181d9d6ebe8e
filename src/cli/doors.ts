import { loadEnvironment, serverUrl, serverUrlVariable } from "../config/environment.ts";
import { Fault } from "../domain/fault.ts";
import { auditKey } from "../engine/seal.ts";
import { auditSecretsOf, type OperatorTenant } from "./operator-tenant.ts";
import { findServers } from "./run-file.ts";

export type Via = "auto" | "db" | "http";

/** Which way a command goes to its tenant; `asked` when the operator named it, so that there is no other to fall back to. */
export type Door = { kind: "db" } | { kind: "http"; url: string; asked?: true };

/**
 * Where nothing listens, the refusal comes at once. Whoever accepts and does not answer is busy or stopped, and going past
 * a server that only was busy is worse than a wait.
 */
const PROBE_TIMEOUT_MS = 2000;
/** A server that left a run file is alive. Passed over, the command would act past it, as somebody else. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Chooses the way: HTTP when `--url` or the tenant's variable names a server or one of this tenant answers here, else the
 * database.
 *
 * @param note told of a server that runs here and was passed by
 * @throws Fault USAGE for options that contradict each other, UNREACHABLE when HTTP was asked for and nobody answers
 */
export async function chooseDoor(
  tenant: OperatorTenant,
  via: Via,
  url: string | undefined,
  note: (message: string) => void = () => {},
): Promise<Door> {
  if (url !== undefined) {
    if (via === "db")
      throw new Fault("USAGE", "--url names a server, and --via db asks for the database: leave one out");
    return { kind: "http", url: checkUrl(url), asked: true };
  }
  if (via === "db") return { kind: "db" };
  const usual = serverUrl(tenant.id, loadEnvironment(tenant.directory));
  if (usual !== undefined) return { kind: "http", url: checkUrl(usual, serverUrlVariable(tenant.id)), asked: true };
  const { found, silent } = await probeServers(tenant);
  if (found !== undefined) return { kind: "http", url: found.url, ...(via === "http" ? { asked: true } : {}) };
  if (via === "http") throw noServer(tenant.id, silent);
  if (silent !== undefined) note(`${describeSilence(tenant.id, silent)}: going straight to the database`);
  return { kind: "db" };
}

function noServer(tenant: string, silent: Candidate | undefined): Fault {
  return new Fault(
    "UNREACHABLE",
    silent === undefined
      ? `No server of ${tenant} answers on this machine: start one, or name it with --url`
      : `${describeSilence(tenant, silent)}: try again, or stop it`,
  );
}

function describeSilence(tenant: string, { pid }: Candidate): string {
  return `The server of ${tenant} (process ${pid}) runs and did not answer within ${BUSY_TIMEOUT_MS / 1000} s`;
}

/** Where a server may be. */
interface Candidate {
  url: string;
  opsUrl: string;
  /** Of its process, which is alive; undefined for what only the tenant file says. */
  pid?: number;
}

/** The addresses of a server on this machine that says it serves this tenant. */
export async function findRunningServer(tenant: OperatorTenant): Promise<Candidate | undefined> {
  return (await probeServers(tenant)).found;
}

/** Asks all at once. The first of the list that is ours decides, and those behind it are not waited for. */
async function probeServers(
  tenant: OperatorTenant,
): Promise<{ found: Candidate | undefined; silent: Candidate | undefined }> {
  const { id, directory, config } = tenant;
  const candidates: Candidate[] = [...(await findServers(directory, id)), ...configuredServer(config)];
  const enough = new AbortController();
  const probes = candidates.map((candidate) => ({ candidate, answer: probe(candidate, tenant, enough.signal) }));
  let silent: Candidate | undefined;
  try {
    for (const { candidate, answer } of probes) {
      const seen = await answer;
      if (typeof seen === "object") return { found: seen, silent };
      if (seen === "silent" && candidate.pid !== undefined) silent ??= candidate;
    }
    return { found: undefined, silent };
  } finally {
    enough.abort();
  }
}

/** Where the tenant file says that the server listens: one that another directory or a container started has no run file. */
function configuredServer({ server: { host, port, opsPort, tls } }: OperatorTenant["config"]): Candidate[] {
  if (port === 0 || opsPort === 0) return [];
  const scheme = tls === undefined ? "http" : "https";
  return [{ url: `${scheme}://${reachable(host)}:${port}`, opsUrl: `http://127.0.0.1:${opsPort}` }];
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
 * @returns the addresses with the scheme that the server states; "silent" when it accepted and did not answer in time
 */
async function probe(
  { url, opsUrl, pid }: Candidate,
  tenant: OperatorTenant,
  enough: AbortSignal,
): Promise<Candidate | "silent" | "none"> {
  const timeout = AbortSignal.timeout(pid === undefined ? PROBE_TIMEOUT_MS : BUSY_TIMEOUT_MS);
  try {
    const response = await fetch(`${opsUrl.replace(/\/+$/, "")}/livez`, {
      redirect: "error",
      signal: AbortSignal.any([timeout, enough]),
    });
    const body: unknown = await response.json();
    if (!response.ok || typeof body !== "object" || body === null) return "none";
    const keyId = response.headers.get("audit-key-id");
    const isOurs = "tenant" in body && body.tenant === tenant.id && (keyId === null || isOurKey(keyId, tenant));
    if (!isOurs) return "none";
    const scheme = response.headers.get("api-scheme") ?? "";
    // Upwards only: whoever answers in the place of a server that speaks TLS must not make the key travel in the clear.
    const stated = scheme === "https" ? url.replace(/^http:/, "https:") : url;
    return { url: stated, opsUrl, ...(pid === undefined ? {} : { pid }) };
  } catch {
    return timeout.aborted ? "silent" : "none";
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

/** @param name of where the address stands */
export function checkUrl(text: string, name = "--url"): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isFit =
    url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" && url.search === "";
  if (!isFit) throw new Fault("USAGE", `${name} must be an address such as https://predict.acme.example`);
  return url.href.replace(/\/+$/, "");
}
