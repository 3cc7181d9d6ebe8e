import { isCertificateRefusal } from "../../client/http-answer.ts";
import { PROOF_TIMEOUT, unproven } from "../../client/proven-connector.ts";
import { isThisMachine } from "../../client/this-machine.ts";
import { ConfigError } from "../../config/config-error.ts";
import { serverUrlVariable } from "../../config/environment.ts";
import { commandHost, servedHosts } from "../../config/hosts.ts";
import { OPERATOR_FILE, secretBounds } from "../../config/operator-file.ts";
import { destinationLine, mayBeSentTo } from "../../config/secrets/secret-destinations.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import { auditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { adminKey } from "../tenant/admin-key.ts";
import { auditSecretsOf, type OperatorTenant } from "../tenant/operator-tenant.ts";
import { findServers, type RunFile } from "./run-file.ts";
import { type ServerAddress, tryConnection } from "./trust.ts";

/** A server's address from the tenant file, or from a run file without a secret. */
type Claim = Pick<RunFile, "url" | "opsUrl" | "adminHost"> & Partial<Pick<RunFile, "pid" | "isOlder">>;

export interface FoundServer extends ServerAddress {
  /** Undefined for one on another machine. */
  opsUrl?: string;
}

/** A process that no secret is sent to. */
export interface Unproven {
  url: string;
  /** The process id of a server of an older version, which cannot prove itself. */
  older?: number;
  /** What the operator can do to let a secret go there. */
  remedy?: string | undefined;
}

/** What a search for the tenant's server found; of several, the first of a kind. */
export interface Search {
  found?: FoundServer;
  /** It runs here and accepts connections without answering. */
  silent?: { pid: number };
  /** It runs here and cannot serve this tenant, though perhaps others. */
  failing?: { url: string; problem: string };
  /** It answers as the tenant's server, or at its address, and cannot prove it. */
  unproven?: Unproven;
}

/** Gives the name in `pmctl.yaml` of the secret that a command sends, or signs with. */
type SecretName = () => string | undefined;

/** A port of the tenant file may be another program's, and one that accepts and stays silent is no server. */
const CLAIM_TIMEOUT_MS = 2000;
/** A server with a run file is alive: if the command gave up on it while it is busy, it would act past the server. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Looks for a server that proves to be this tenant's: by the secret of its run file, else by its certificate; on another
 * machine `pmctl.yaml` must allow the secret to go there as well.
 * @throws ConfigError when none of this machine is, and the tenant file names another machine without TLS
 */
export async function findServer(
  tenant: OperatorTenant,
  secretName: SecretName = () => adminKey(tenant, undefined).secretName,
): Promise<Search> {
  let search: Search = {};
  for (const server of await findServers(tenant.directory, tenant.id)) {
    const probe = server.secret === undefined ? probeClaim : probeRunning;
    search = { ...(await probe(server, tenant, secretName)), ...search };
    if (search.found) return search;
  }
  const claim = configuredServer(tenant.config);
  return claim === undefined ? search : { ...(await probeClaim(claim, tenant, secretName)), ...search };
}

/**
 * The tenant's server of this directory at an address of this machine, by the secret of its run file.
 * @throws Fault SERVER_UNPROVEN for whatever else may listen there
 */
export async function provenServerAt(tenant: OperatorTenant, url: string): Promise<FoundServer> {
  for (const server of await findServers(tenant.directory, tenant.id)) {
    if (server.secret === undefined || !isSamePlace(server.url, url)) continue;
    const { found } = await probeRunning(server, tenant);
    if (found) return found;
  }
  const remedy = "over http:// only a server that this directory started proves itself; state any other by https://";
  throw unprovenFault(tenant.id, { url, remedy });
}

/** Any loopback name will do, since the address of the run file is what is dialled, and the connection is proven. */
function isSamePlace(served: string, stated: string): boolean {
  const [a, b] = [new URL(served), new URL(stated)];
  return a.protocol === b.protocol && a.port === b.port && isLoopback(b.hostname);
}

/** The refusal of what was found. */
export function unprovenFault(tenant: string, { url, older, remedy }: Unproven): Fault {
  const { host } = new URL(url);
  if (older === undefined) return unproven(tenant, host, remedy);
  return new Fault(
    "SERVER_UNPROVEN",
    `a server of ${tenant} of an older version runs at ${host} (process ${older}) and cannot prove itself: start it again with this version`,
  );
}

/** Staging and production of one directory differ by the key of their audit log, and are not each other's to talk to. */
async function probeRunning(server: RunFile, tenant: OperatorTenant): Promise<Search> {
  const { url, opsUrl, auditKeyId, adminHost, pid } = server;
  if (auditKeyId !== undefined && !isOurKey(auditKeyId, tenant)) return {};
  const probe = () => probeConnection({ url, opsUrl, proven: true, ...hostOf(adminHost) }, tenant, pid);
  let search = await probe();
  // The first client that asks for an idle tenant by TLS is why its certificate is signed, after this side has looked for it.
  if (search.unproven && url.startsWith("https:")) search = await probe();
  if (search.unproven) {
    const problem = await problemOf(tenant.id, opsUrl);
    return problem === undefined ? search : { failing: { url, problem } };
  }
  if (!search.found || auditKeyId !== undefined) return search;
  // The proof has opened an idle tenant, and its key is known now.
  const opened = (await findServers(tenant.directory, tenant.id)).find((each) => each.pid === pid);
  return opened?.auditKeyId === undefined || isOurKey(opened.auditKeyId, tenant) ? search : {};
}

/** Why a house cannot serve a tenant of it, as its operations listener says; undefined where it says nothing of the kind. */
async function problemOf(tenant: string, opsUrl: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(BUSY_TIMEOUT_MS);
    const url = `${opsUrl.replace(/\/+$/, "")}/readyz?tenant=${tenant}`;
    const body: unknown = await (await fetch(url, { redirect: "error", signal })).json();
    if (typeof body !== "object" || body === null || !("problem" in body)) return undefined;
    return typeof body.problem === "string" ? body.problem : undefined;
  } catch {
    return undefined;
  }
}

function hostOf(host: string | undefined): Pick<ServerAddress, "host"> {
  return host === undefined ? {} : { host };
}

async function probeConnection(server: FoundServer, tenant: OperatorTenant, pid?: number): Promise<Search> {
  try {
    await tryConnection(tenant, server);
    return { found: server };
  } catch (error) {
    const { url } = server;
    if (error instanceof Fault) return { unproven: { url } };
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === PROOF_TIMEOUT || code === "UND_ERR_CONNECT_TIMEOUT") return silence(pid);
    return isCertificateRefusal(code) ? { unproven: { url } } : {};
  }
}

/** Without a run file a silent port counts for nothing: it may be another program's. */
function silence(pid: number | undefined): Search {
  return pid === undefined ? {} : { silent: { pid } };
}

/** The operations listener answers on its own machine only, so a server elsewhere cannot be asked through it. */
async function probeClaim(claim: Claim, tenant: OperatorTenant, secretName: SecretName): Promise<Search> {
  const { url, pid, isOlder } = claim;
  const isHere = isThisMachine(new URL(url).hostname);
  const seen = await (isHere ? probeHere(claim, tenant) : probeElsewhere(claim, tenant, secretName));
  if (!seen.unproven) return seen;
  const older = isOlder === true && pid !== undefined ? { older: pid } : {};
  return { ...seen, unproven: { ...seen.unproven, url, ...older } };
}

/**
 * Asks the operations listener, which is never rate limited, whether it is this tenant's. Any process can claim that, so
 * a certificate has to prove it.
 */
async function probeHere({ url, opsUrl, pid, adminHost }: Claim, tenant: OperatorTenant): Promise<Search> {
  const signal = AbortSignal.timeout(pid === undefined ? CLAIM_TIMEOUT_MS : BUSY_TIMEOUT_MS);
  try {
    const response = await fetch(`${opsUrl.replace(/\/+$/, "")}/livez`, { redirect: "error", signal });
    const body: unknown = await response.json();
    if (!response.ok || typeof body !== "object" || body === null) return {};
    const keyId = response.headers.get("audit-key-id");
    const isOurs = "tenant" in body && body.tenant === tenant.id && (keyId === null || isOurKey(keyId, tenant));
    if (!isOurs) return {};
    // From http to https only: a process in the place of a TLS server must not make the key travel in the clear.
    const isTls = url.startsWith("https:") || response.headers.get("api-scheme") === "https";
    if (!isTls) return { unproven: { url } };
    return probeConnection({ url: url.replace(/^http:/, "https:"), opsUrl, ...hostOf(adminHost) }, tenant, pid);
  } catch {
    return signal.aborted ? silence(pid) : {};
  }
}

/**
 * A certificate proves who holds a name, and a tenant file may state any name: only `pmctl.yaml` allows the key to go
 * there.
 */
async function probeElsewhere(
  { url, adminHost }: Claim,
  tenant: OperatorTenant,
  secretName: SecretName,
): Promise<Search> {
  if (!url.startsWith("https:")) return { unproven: { url } };
  const remedy = remedyElsewhere(url, tenant, secretName);
  if (remedy !== undefined) return { unproven: { url, remedy } };
  return probeConnection({ url, accepts: "authorities", ...hostOf(adminHost) }, tenant);
}

/** What the operator can do to let the secret go there; undefined when it may. */
function remedyElsewhere(url: string, tenant: OperatorTenant, secretName: SecretName): string | undefined {
  const { hostname, port } = new URL(url);
  const byName = `name it with --url or ${serverUrlVariable(tenant.id)}`;
  const name = nameAtHand(secretName);
  if (name === undefined) return `if it is yours, ${byName}`;
  const { directory } = tenant.config.source;
  const sending = { name, host: `${hostname}:${port || 443}` };
  if (mayBeSentTo(sending, directory, secretBounds(directory, tenant.id).destinations)) return undefined;
  return `if it is yours, ${byName}, or list ${destinationLine(sending)} in ${OPERATOR_FILE} under secrets.destinations`;
}

/** Undefined also where the secret's value is not at hand, since nothing is sent then. */
function nameAtHand(secretName: SecretName): string | undefined {
  try {
    return secretName();
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** True also where the audit keys are not at hand: the tenant's name then decides alone. */
function isOurKey(keyId: string, tenant: OperatorTenant): boolean {
  try {
    return auditSecretsOf(tenant).some((secret) => auditKey(secret).id === keyId);
  } catch (error) {
    if (error instanceof Fault) return true;
    throw error;
  }
}

/** The server of the tenant file: one that another directory or a container started has no run file here. */
function configuredServer(config: OperatorTenant["config"]): Claim | undefined {
  const { server, source } = config;
  const { host, port, opsPort, opsHost, tls } = server;
  const scheme = tls === undefined ? "http" : "https";
  const stated = `${scheme}://${dialledHost(host)}`;
  // The parsed host is the one that is dialled.
  const hostname = URL.canParse(stated) ? new URL(stated).hostname : undefined;
  if (tls === undefined && (hostname === undefined || !isThisMachine(hostname))) {
    const message = `is not this machine (${host}), so server.tls has to be set: a key may not travel there in the clear; --url names a server for one command, --via db goes past it`;
    throw new ConfigError(source.problems([{ path: ["server", "host"], message }]));
  }
  if (port === 0 || opsPort === 0 || hostname === undefined) return undefined;
  const url = `${scheme}://${hostname}:${port}`;
  return { url, opsUrl: `http://${dialledHost(opsHost)}:${opsPort}`, ...hostForCommands(config) };
}

/**
 * What a command sends as `Host`, where the server does not serve its operations under every one.
 * @param answered the hosts that the server answers to; none: to any
 */
export function hostForCommands(
  config: OperatorTenant["config"],
  answered = servedHosts(config),
): Pick<RunFile, "adminHost"> {
  const adminHost = commandHost(config, answered);
  return adminHost === undefined ? {} : { adminHost };
}

/** The address of a listener as commands of this machine dial it. */
export function dialledUrl({ url, address, port }: { url: string; address: string; port: number }): string {
  return `${new URL(url).protocol}//${dialledHost(address)}:${port}`;
}

/** A listening host as a URL dials it: a server on all interfaces is dialled over loopback. */
export function dialledHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
