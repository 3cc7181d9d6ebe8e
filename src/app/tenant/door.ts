import type { Fetch } from "../../client/fetch.ts";
import { isCertificateRefusal } from "../../client/http-answer.ts";
import { socketFetch } from "../../client/server-by-socket.ts";
import { ConfigError } from "../../config/config-error.ts";
import { certificatesAreVerified, isServerUrlInFile, serverUrl, serverUrlVariable } from "../../config/environment.ts";
import { isThisMachine } from "../../config/hosts.ts";
import { secretBounds } from "../../config/operator-file.ts";
import { destinationLine, mayBeSentTo } from "../../config/secrets/secret-destinations.ts";
import { FLEET_FILE, OPERATOR_FILE } from "../../config/selection/names.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import { Fault, type FaultCode } from "../../domain/fault.ts";
import { adminKey, indexOfKey } from "./admin-key.ts";
import type { OperatorTenant } from "./operator-tenant.ts";
import { type ServersHere, serversHere } from "./servers-here.ts";

export type Via = "auto" | "db" | "http";

/** The way to a server of the tenant. */
export interface HttpDoor {
  kind: "http";
  /** The server's address for traders. */
  url: string;
  /** The only way to send a key, a token or a signed body to the server: the other end is proven. */
  fetch: Fetch;
  /** Whether the operator asked for this server, so that the command does not fall back to the database. */
  asked: boolean;
}

/** The way of a command to its tenant. */
export type Door = { kind: "db" } | HttpDoor;

/** The options that choose the way to a tenant. */
export interface DoorOptions {
  via: Via;
  url?: string | undefined;
  /** The address of the tenant's server in the fleet's file, for fleet commands. */
  fleetUrl?: string | undefined;
  /** The admin key of the tenant file for HTTP. */
  key?: string | undefined;
  /** The way, if the command has chosen it already. */
  door?: Door | undefined;
}

/** A server of the tenant, with all that an operator's requests need. */
export interface ServerDoor extends HttpDoor {
  access: {
    url: string;
    apiKey: string;
    fetch: Fetch;
    onWait: (message: string) => void;
    insteadOfWaiting: string | undefined;
    unknownKeyHint: string;
  };
}

/** Returns the name of the sent or signing secret for `pmctl.yaml`. */
type SecretName = () => string | undefined;

const PROBE_TIMEOUT_MS = 5000;

/**
 * Chooses the way of a command to its tenant, and prepares its requests if that is HTTP.
 *
 * @param note receives skipped servers, an unused key, and a warning when the key travels unencrypted
 * @throws the errors of {@link chooseDoor}; Fault CONFIG_INVALID or USAGE for an unusable admin key
 */
export async function openDoor(
  tenant: OperatorTenant,
  options: DoorOptions,
  note: (message: string) => void,
): Promise<{ kind: "db" } | ServerDoor> {
  const { key } = options;
  const door = await chooseDoor(tenant, options, note);
  if (door.kind === "db") {
    if (key === undefined) return door;
    // The database needs no key, but a wrong name is still refused.
    indexOfKey(tenant, key);
    note(`Straight to the database: the key ${key} is not used, and its scopes do not apply`);
    return door;
  }
  const { url, fetch, asked } = door;
  const { value: apiKey, secretName = "the admin key" } = adminKey(tenant, key);
  const unknownKeyHint = `the server rejects the value of ${secretName.replace(/^env /, "")}; --via db goes straight to the database, which needs no key; a value that was ended as leaked must be replaced by a new one`;
  // If the operator asked for this server, the database may be out of reach from here.
  const insteadOfWaiting = asked ? undefined : "--via db would not wait";
  return { ...door, access: { url, apiKey, fetch, onWait: note, insteadOfWaiting, unknownKeyHint } };
}

/**
 * Chooses HTTP when `--url`, the tenant's variable or the fleet's file names a server, or when a server of this
 * directory listens on its socket; else the database.
 *
 * @param note receives skipped servers, and a warning when the request travels unencrypted
 * @param secretName returns the name of the sent or signing secret for `pmctl.yaml`; by default the admin key's
 * @throws Fault USAGE for contradicting options or a variable without https; UNREACHABLE or SERVER_UNPROVEN when the
 *   line asks for HTTP and there is no server; ConfigError when the tenant file names another machine without TLS
 */
export async function chooseDoor(
  tenant: OperatorTenant,
  { via, url, fleetUrl, key, door }: DoorOptions,
  note: (message: string) => void = () => {},
  secretName: SecretName = () => adminKey(tenant, key).secretName,
): Promise<Door> {
  if (door) return door;
  if (url !== undefined) {
    if (via === "db")
      throw new Fault("USAGE", "--url names a server, and --via db asks for the database: leave one out");
    const stated = checkUrl(url);
    const { protocol, hostname } = new URL(stated);
    if (protocol === "http:" && !isLoopback(hostname))
      note("The admin key travels unencrypted: this address begins with http://");
    return elsewhere(stated);
  }
  if (fleetUrl !== undefined) {
    if (via === "db")
      throw new Fault("USAGE", `${FLEET_FILE} states a server of ${tenant.id}: leave out --via db, or its url`);
    return elsewhere(requireHttps(fleetUrl, `The url of ${tenant.id} in ${FLEET_FILE}`));
  }
  if (via === "db") return { kind: "db" };
  const variable = serverUrlVariable(tenant.id);
  const usual = serverUrl(tenant.id);
  if (usual !== undefined) return elsewhere(requireHttps(usual, variable));
  if (isServerUrlInFile(tenant.id, tenant.directory))
    note(`${variable} of .env is ignored: set it for the process, with export or in the settings of the pipeline`);
  const here = await serversHere(tenant);
  const [server] = here.servers;
  const asked = via === "http";
  if (server) {
    const findAnother = async () => (await serversHere(tenant)).servers[0]?.socket;
    return { kind: "http", url: server.url, fetch: socketFetch(server.socket, findAnother), asked };
  }
  const stated = await statedElsewhere(tenant, secretName);
  if (stated?.door) return { ...stated.door, asked };
  const problem = stated?.problem ?? problemOf(tenant.id, here);
  const { code, text, remedy }: DoorProblem = problem ?? {
    ...{ code: "UNREACHABLE", text: `No server of ${tenant.id} answers on this machine` },
    remedy: "start one, or name it with --url",
  };
  if (asked) throw new Fault(code, remedy === undefined ? text : `${text}; ${remedy}`);
  if (problem) note(`${text}: going straight to the database${remedy === undefined ? "" : `; ${remedy}`}`);
  return { kind: "db" };
}

/** Why no key is sent to a server that may be the tenant's. */
interface DoorProblem {
  code: FaultCode;
  text: string;
  /** What the operator can do. */
  remedy?: string | undefined;
}

/** Why a server of this directory cannot be used; undefined where there is none. */
export function problemOf(
  tenant: string,
  { failing: [failing], silent: [pid], unproven }: ServersHere,
): DoorProblem | undefined {
  if (unproven !== undefined)
    return {
      code: "SERVER_UNPROVEN",
      text: `the process at its socket is not proven to be the server of ${tenant}`,
      remedy: unproven,
    };
  if (failing)
    return {
      code: "UNREACHABLE",
      text: `The server of ${tenant} at ${new URL(failing.url).host} cannot serve it (${failing.problem})`,
      remedy: "fix that, and the server tries again within a minute",
    };
  if (pid === undefined) return undefined;
  const text = `The server of ${tenant} (process ${pid}) runs, but did not answer within 5 s`;
  return { code: "UNREACHABLE", text, remedy: "try again, or stop it" };
}

function elsewhere(url: string): Promise<HttpDoor> {
  return verifyingFetch().then((fetch) => ({ kind: "http", url, fetch, asked: true }));
}

/**
 * `fetch` that verifies certificates, whatever the environment says. Node's own uses the proxies of the environment,
 * which are needed for servers elsewhere.
 */
export async function verifyingFetch(): Promise<Fetch> {
  if (certificatesAreVerified()) return fetch;
  const { Agent, fetch: fetchThrough } = await import("undici");
  const dispatcher = new Agent({ connect: { rejectUnauthorized: true } });
  return (url, options) => fetchThrough(url, { ...options, dispatcher });
}

/**
 * The server at `server.host` of the tenant file, if that is another machine. A certificate only proves who owns a
 * name, and a tenant file may state any name, so `pmctl.yaml` has to allow sending the secret there.
 * @throws ConfigError for a host without TLS
 */
async function statedElsewhere(
  { id, config }: OperatorTenant,
  secretName: SecretName,
): Promise<{ door?: HttpDoor; problem?: DoorProblem } | undefined> {
  const { host, port, tls } = config.server;
  const { source } = config;
  const address = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const hostname = URL.canParse(address) ? new URL(address).hostname : undefined;
  if (hostname !== undefined && isThisMachine(hostname)) return undefined;
  if (tls === undefined) {
    const message = `is not this machine (${host}), so server.tls has to be set: a key must not travel unencrypted; --url names a server for one command, and --via db goes to the database`;
    throw new ConfigError(source.problems([{ path: ["server", "host"], message }]));
  }
  if (port === 0 || hostname === undefined) return undefined;
  // The parsed host is the one to connect to: a user before an @ is not part of it.
  const url = `https://${hostname}:${port}`;
  const text = `the process at ${hostname}:${port} is not proven to be the server of ${id}`;
  const unproven = (remedy?: string) => ({ problem: { code: "SERVER_UNPROVEN" as const, text, remedy } });
  const remedy = remedyElsewhere({ id, directory: source.directory }, `${hostname}:${port}`, secretName);
  if (remedy !== undefined) return unproven(remedy);
  const door = await elsewhere(url);
  try {
    await door.fetch(`${url}/health`, { redirect: "manual", signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    return { door };
  } catch (error) {
    const code =
      error instanceof Error && error.cause instanceof Error && "code" in error.cause ? error.cause.code : "";
    return isCertificateRefusal(String(code)) ? unproven() : undefined;
  }
}

/** What the operator can do to allow sending the secret to a host; undefined when it is allowed. */
function remedyElsewhere(
  { id, directory }: { id: string; directory: string },
  host: string,
  secretName: SecretName,
): string | undefined {
  const byName = `name it with --url or ${serverUrlVariable(id)}`;
  const name = nameAtHand(secretName);
  if (name === undefined) return `if it is yours, ${byName}`;
  const sending = { name, host };
  if (mayBeSentTo(sending, directory, secretBounds(directory, id).destinations)) return undefined;
  return `if it is yours, ${byName}, or list ${destinationLine(sending)} in ${OPERATOR_FILE} under secrets.destinations`;
}

/** Also undefined where the secret's value is missing, since nothing is sent then. */
function nameAtHand(secretName: SecretName): string | undefined {
  try {
    return secretName();
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** @param name of the option or variable with the address */
export function checkUrl(text: string, name = "--url"): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isFit =
    url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" && url.search === "";
  if (!isFit) throw new Fault("USAGE", `${name} must be an address such as https://predict.acme.example`);
  return url.href.replace(/\/+$/, "");
}

/** A setting outlives servers, so only a certificate can prove which server answers at its address. */
function requireHttps(text: string, name: string): string {
  const url = checkUrl(text, name);
  if (url.startsWith("https:")) return url;
  throw new Fault(
    "USAGE",
    `${name} must begin with https://, since nothing proves the server behind http://; pmctl finds a server of this directory without it, and --url names any server for one command`,
  );
}
