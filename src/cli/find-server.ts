import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { isCertificateRefusal } from "../client/http-answer.ts";
import { PROOF_TIMEOUT, unproven } from "../client/proven-connector.ts";
import { ConfigError } from "../config/config-error.ts";
import { Fault } from "../domain/fault.ts";
import { auditKey } from "../engine/seal.ts";
import { auditSecretsOf, type OperatorTenant } from "./operator-tenant.ts";
import { findServers, type RunFile } from "./run-file.ts";
import { type ServerAddress, tryConnection } from "./trust.ts";

/** Where the tenant file says that a server is, or a run file that proves nothing. */
type Claim = Pick<RunFile, "url" | "opsUrl" | "adminHost"> & Partial<Pick<RunFile, "pid" | "isOlder">>;

export interface FoundServer extends ServerAddress {
  opsUrl: string;
}

/** What was found and is not talked to; `older` is the process of a server of a version that could not prove itself yet. */
export interface Unproven {
  url: string;
  older?: number;
}

/** What stands where a server of the tenant is to be looked for; of several, the first of a kind. */
export interface Search {
  found?: FoundServer;
  /** Runs here, and took a connection without answering. */
  silent?: RunFile;
  /** Says that it is the tenant's server, or stands in its place, and cannot prove it. */
  unproven?: Unproven;
}

type Seen = FoundServer | "silent" | "unproven" | "none";

/** A port of the tenant file may be any program's, and one that accepts and stays silent is no server. */
const CLAIM_TIMEOUT_MS = 2000;
/** A server that left a run file is alive. Passed over while it is busy, the command would act past it. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Looks for a server of this tenant that is shown to be it: by the secret of its run file, else by its certificate.
 * @throws ConfigError when none of this machine is, and the tenant file names another machine without TLS
 */
export async function findServer(tenant: OperatorTenant): Promise<Search> {
  const search: Search = {};
  const note = (seen: Exclude<Seen, FoundServer>, server: RunFile | Claim): void => {
    if (seen === "silent" && server.pid !== undefined) search.silent ??= server as RunFile;
    if (seen === "unproven") search.unproven ??= strangerOf(server);
  };
  for (const server of await findServers(tenant.directory, tenant.id)) {
    const seen = await (server.secret === undefined ? probeClaim(server, tenant) : probeRunning(server, tenant));
    if (typeof seen === "object") return { ...search, found: seen };
    note(seen, server);
  }
  const claim = await configuredServer(tenant.config);
  const seen = claim === undefined ? "none" : await probeClaim(claim, tenant);
  if (typeof seen === "object") return { ...search, found: seen };
  if (claim !== undefined) note(seen, claim);
  return search;
}

function strangerOf({ url, pid, isOlder }: Claim): Unproven {
  return { url, ...(isOlder === true && pid !== undefined ? { older: pid } : {}) };
}

/** The refusal of what was found. */
export function unprovenFault(tenant: string, { url, older }: Unproven): Fault {
  const { host } = new URL(url);
  if (older === undefined) return unproven(tenant, host);
  return new Fault(
    "SERVER_UNPROVEN",
    `a server of ${tenant} of an older version runs at ${host} (process ${older}) and cannot prove itself: start it again with this version`,
  );
}

/** Staging and production of one directory differ by the key of their audit log, and are not each other's to talk to. */
async function probeRunning({ url, opsUrl, auditKeyId, adminHost }: RunFile, tenant: OperatorTenant): Promise<Seen> {
  if (auditKeyId !== undefined && !isOurKey(auditKeyId, tenant)) return "none";
  return probeConnection({ url, opsUrl, proven: true, ...askedUnder(adminHost) }, tenant);
}

function askedUnder(host: string | undefined): Pick<ServerAddress, "host"> {
  return host === undefined ? {} : { host };
}

async function probeConnection(server: FoundServer, tenant: OperatorTenant): Promise<Seen> {
  try {
    await tryConnection(tenant, server);
    return server;
  } catch (error) {
    if (error instanceof Fault) return "unproven";
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === PROOF_TIMEOUT || code === "UND_ERR_CONNECT_TIMEOUT") return "silent";
    return isCertificateRefusal(code) ? "unproven" : "none";
  }
}

/**
 * Asks the operations listener, which is never rate limited, whether it is this tenant's at all: that is only said, so a
 * certificate has to show it.
 */
async function probeClaim({ url, opsUrl, pid, adminHost }: Claim, tenant: OperatorTenant): Promise<Seen> {
  const signal = AbortSignal.timeout(pid === undefined ? CLAIM_TIMEOUT_MS : BUSY_TIMEOUT_MS);
  try {
    const response = await fetch(`${opsUrl.replace(/\/+$/, "")}/livez`, { redirect: "error", signal });
    const body: unknown = await response.json();
    if (!response.ok || typeof body !== "object" || body === null) return "none";
    const keyId = response.headers.get("audit-key-id");
    const isOurs = "tenant" in body && body.tenant === tenant.id && (keyId === null || isOurKey(keyId, tenant));
    if (!isOurs) return "none";
    // Upwards only: whatever answers in the place of a server that speaks TLS must not make the key travel in the clear.
    const isTls = url.startsWith("https:") || response.headers.get("api-scheme") === "https";
    if (!isTls) return "unproven";
    return probeConnection({ url: url.replace(/^http:/, "https:"), opsUrl, ...askedUnder(adminHost) }, tenant);
  } catch {
    return signal.aborted && pid !== undefined ? "silent" : "none";
  }
}

/** Where audit keys are not at hand, the tenant's name decides alone. */
function isOurKey(keyId: string, tenant: OperatorTenant): boolean {
  try {
    return auditSecretsOf(tenant).some((secret) => auditKey(secret).id === keyId);
  } catch (error) {
    if (error instanceof Fault) return true;
    throw error;
  }
}

/** A server that another directory or a container started has no run file here. */
async function configuredServer({ server, source }: OperatorTenant["config"]): Promise<Claim | undefined> {
  const { host, port, opsPort, tls, adminHosts } = server;
  if (tls === undefined && !(await isThisMachine(host))) {
    const message = `is not this machine (${host}), so server.tls has to be set: a key may not travel there in the clear; --url names a server for one command, --via db goes past it`;
    throw new ConfigError(source.problems([{ path: ["server", "host"], message }]));
  }
  if (port === 0 || opsPort === 0) return undefined;
  const scheme = tls === undefined ? "http" : "https";
  const url = `${scheme}://${dialledHost(host)}:${port}`;
  return { url, opsUrl: `http://127.0.0.1:${opsPort}`, ...adminHostOf(adminHosts) };
}

/** Where admin operations exist under some names only, commands ask under the first of them. */
export function adminHostOf([name]: readonly string[]): Pick<RunFile, "adminHost"> {
  if (name === undefined) return {};
  return { adminHost: name.includes(":") && !name.startsWith("[") ? `[${name}]` : name };
}

async function isThisMachine(host: string): Promise<boolean> {
  const found = await lookup(host, { all: true }).catch(() => []);
  const own = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);
  return found.length > 0 && found.every(({ address }) => isEverywhereHere(address) || own.includes(address));
}

/** `127.0.0.1` and its like, and the addresses that mean all of this machine's. */
function isEverywhereHere(address: string): boolean {
  return ipaddr.isValid(address) && /^(loopback|unspecified)$/.test(ipaddr.process(address).range());
}

/** A host as it stands in a URL. What listens everywhere is dialled over loopback. */
export function dialledHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
