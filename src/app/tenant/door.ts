import { isCertificateRefusal } from "../../client/http-answer.ts";
import { socketFetch } from "../../client/server-by-socket.ts";
import { ConfigError } from "../../config/config-error.ts";
import { certificatesAreVerified, isServerUrlInFile, serverUrl, serverUrlVariable } from "../../config/environment.ts";
import { isThisMachine } from "../../config/hosts.ts";
import { OPERATOR_FILE, secretBounds } from "../../config/operator-file.ts";
import { destinationLine, mayBeSentTo } from "../../config/secrets/secret-destinations.ts";
import { FLEET_FILE } from "../../config/selection/fleet-file.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import { Fault, type FaultCode } from "../../domain/fault.ts";
import { adminKey, indexOfKey } from "./admin-key.ts";
import type { OperatorTenant } from "./operator-tenant.ts";
import { type ServersHere, serversHere } from "./servers-here.ts";

export type Via = "auto" | "db" | "http";

/** The way to a server of the tenant. */
export interface HttpDoor {
  kind: "http";
  /** Where traders find it. */
  url: string;
  /** The only way to send a key, a token or a signed body there: its other end is proven. */
  fetch: typeof fetch;
  /** The operator asked for it, so the command does not fall back to the database. */
  asked: boolean;
}

/** Which way a command goes to its tenant. */
export type Door = { kind: "db" } | HttpDoor;

/** The options of a command about its way to a tenant. */
export interface DoorOptions {
  via: Via;
  url?: string | undefined;
  /** The address of the tenant's server in the fleet's file, for commands that go by that. */
  fleetUrl?: string | undefined;
  /** The admin key of the tenant file that is used over HTTP. */
  key?: string | undefined;
  /** The way, where the command has chosen it already. */
  door?: Door | undefined;
}

/** A server of the tenant, and what an operator's requests to it need. */
export interface ServerDoor extends HttpDoor {
  access: {
    url: string;
    apiKey: string;
    fetch: typeof fetch;
    onWait: (message: string) => void;
    insteadOfWaiting: string | undefined;
    unknownKeyHint: string;
  };
}

/** Gives the name in `pmctl.yaml` of the secret that a command sends, or signs with. */
type SecretName = () => string | undefined;

const PROBE_TIMEOUT_MS = 5000;

/**
 * Chooses the way that a command goes to its tenant, and prepares its requests where that is HTTP.
 *
 * @param note receives servers that were passed by, a key that is not used, and that the key travels unencrypted
 * @throws Fault as {@link chooseDoor} does, and CONFIG_INVALID or USAGE for an admin key that cannot be used
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
    // Straight at the database no key is asked for, but a wrong name is still refused.
    indexOfKey(tenant, key);
    note(`Straight to the database: the key ${key} has no part in this, and nothing is kept to its scopes`);
    return door;
  }
  const { url, fetch, asked } = door;
  const { value: apiKey, secretName = "the admin key" } = adminKey(tenant, key);
  const unknownKeyHint = `the server does not take the value of ${secretName.replace(/^env /, "")}; --via db goes straight to the database, where no key is asked for; a value that was ended as leaked has to be replaced by a new one`;
  // Where the operator asked for this server, the database may be out of reach from here.
  const insteadOfWaiting = asked ? undefined : "--via db would not wait";
  return { ...door, access: { url, apiKey, fetch, onWait: note, insteadOfWaiting, unknownKeyHint } };
}

/**
 * Chooses the way: HTTP when `--url`, the tenant's variable or the fleet's file names a server, or one of this directory
 * listens on its socket; else the database.
 *
 * @param note receives servers that were passed by, and that what is sent travels unencrypted
 * @param secretName gives the name in `pmctl.yaml` of the secret that is sent or signed with; the admin key's by default
 * @throws Fault USAGE for options that contradict each other or a variable without https, UNREACHABLE or SERVER_UNPROVEN
 * when HTTP was asked for and there is no server; ConfigError when the tenant file names another machine without TLS
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
      throw new Fault("USAGE", `${FLEET_FILE} states a server of ${tenant.id}: leave --via db, or its url, out`);
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
    return { kind: "http", url: server.url, fetch: await socketFetch(server.socket, findAnother), asked };
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

/** Why no key goes to a server that may be the tenant's. */
interface DoorProblem {
  code: FaultCode;
  text: string;
  /** What the operator can do. */
  remedy?: string | undefined;
}

/** Why a server of this directory cannot be talked to; undefined where there is none. */
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
      remedy: "mend that, and it is tried again within a minute",
    };
  if (pid === undefined) return undefined;
  const text = `The server of ${tenant} (process ${pid}) runs and did not answer within 5 s`;
  return { code: "UNREACHABLE", text, remedy: "try again, or stop it" };
}

function elsewhere(url: string): Promise<HttpDoor> {
  return verifyingFetch().then((fetch) => ({ kind: "http", url, fetch, asked: true }));
}

/**
 * `fetch` that verifies certificates, whatever the environment says. Node's own heeds the proxies of the environment, which
 * reach servers elsewhere.
 */
export async function verifyingFetch(): Promise<typeof fetch> {
  if (certificatesAreVerified()) return fetch;
  const { Agent, fetch: fetchThrough } = await import("undici");
  const dispatcher = new Agent({ connect: { rejectUnauthorized: true } });
  return ((input: string, init: object = {}) =>
    fetchThrough(input, { ...init, dispatcher })) as unknown as typeof fetch;
}

/**
 * The server at `server.host` of the tenant file, where that is another machine. A certificate proves who holds a name, and
 * a tenant file may state any name: only `pmctl.yaml` allows the secret to go there.
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
    const message = `is not this machine (${host}), so server.tls has to be set: a key may not travel there in the clear; --url names a server for one command, --via db goes past it`;
    throw new ConfigError(source.problems([{ path: ["server", "host"], message }]));
  }
  if (port === 0 || hostname === undefined) return undefined;
  // The parsed host is the one that is dialled: a user before an @ is no part of it.
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

/** What the operator can do to let the secret go to a host; undefined when it may. */
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

/** Undefined also where the secret's value is not at hand, since nothing is sent then. */
function nameAtHand(secretName: SecretName): string | undefined {
  try {
    return secretName();
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** @param name of the option or variable that holds the address */
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
    `${name} must begin with https://, since nothing proves the server behind http://; a server of this directory is found without it, and --url names any for one command`,
  );
}
