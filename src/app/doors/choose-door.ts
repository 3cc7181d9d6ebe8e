import { isServerUrlInFile, serverUrl, serverUrlVariable } from "../../config/environment.ts";
import { FLEET_FILE } from "../../config/selection/fleet-file.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import { Fault } from "../../domain/fault.ts";
import { adminKey, indexOfKey } from "../tenant/admin-key.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";
import { findServer, provenServerAt, type Search, unprovenFault } from "./find-server.ts";
import { type ServerAddress, tenantFetch } from "./trust.ts";

export type Via = "auto" | "db" | "http";

export interface HttpDoor extends ServerAddress {
  kind: "http";
  /** The operator asked for it, so the command does not fall back to the database. */
  asked?: true;
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
}

/** A server of the tenant, and what an operator's requests to it need. */
export interface ServerDoor extends HttpDoor {
  access: {
    url: string;
    apiKey: string;
    fetch: typeof fetch;
    onWait: (message: string) => void;
    insteadOfWaiting: string | undefined;
  };
}

/**
 * Chooses the way that a command goes to its tenant, and prepares its requests where that is HTTP.
 *
 * @param note receives servers that were passed by, a key that is not used, and that the key travels unencrypted
 * @throws Fault as `chooseDoor` does, and CONFIG_INVALID or USAGE for an admin key that cannot be used
 */
export async function openDoor(
  tenant: OperatorTenant,
  { via, url, fleetUrl, key }: DoorOptions,
  note: (message: string) => void,
): Promise<{ kind: "db" } | ServerDoor> {
  const door =
    fleetUrl === undefined
      ? await chooseDoor(tenant, via, url, note, () => adminKey(tenant, key).secretName)
      : await doorOfFleet(tenant, via, fleetUrl);
  if (door.kind === "db") {
    if (key === undefined) return door;
    // Straight at the database no key is asked for, but a wrong name is still refused.
    indexOfKey(tenant, key);
    note(`Straight to the database: the key ${key} has no part in this, and nothing is kept to its scopes`);
    return door;
  }
  const { value: apiKey } = adminKey(tenant, key);
  const { protocol, hostname } = new URL(door.url);
  if (protocol === "http:" && !isLoopback(hostname))
    note("The admin key travels unencrypted: this address begins with http://");
  // Where the operator asked for this server, the database may be out of reach from here.
  const insteadOfWaiting = door.asked ? undefined : "--via db would not wait";
  const fetch = await tenantFetch(tenant, door);
  return { ...door, access: { url: door.url, apiKey, fetch, onWait: note, insteadOfWaiting } };
}

/**
 * Chooses the way: HTTP when `--url` or the tenant's variable names a server, or one on this machine proves to be this
 * tenant's; else the database.
 *
 * @param note receives servers of this machine that were passed by, and processes that did not prove to be one
 * @param secretName gives the name in `pmctl.yaml` of the secret that is sent or signed with; the admin key's by default
 * @throws Fault USAGE for options that contradict each other or a variable without https, UNREACHABLE or SERVER_UNPROVEN
 * when HTTP was asked for and there is no server; ConfigError when the tenant file names another machine without TLS
 */
export async function chooseDoor(
  tenant: OperatorTenant,
  via: Via,
  url: string | undefined,
  note: (message: string) => void = () => {},
  secretName?: () => string | undefined,
): Promise<Door> {
  if (url !== undefined) {
    if (via === "db")
      throw new Fault("USAGE", "--url names a server, and --via db asks for the database: leave one out");
    return { kind: "http", url: checkUrl(url), accepts: "stated", asked: true };
  }
  if (via === "db") return { kind: "db" };
  const variable = serverUrlVariable(tenant.id);
  const usual = serverUrl(tenant.id);
  if (usual !== undefined) return { kind: "http", url: checkUsual(usual, variable), asked: true };
  if (isServerUrlInFile(tenant.id, tenant.directory))
    note(`${variable} of .env is ignored: set it for the process, with export or in the settings of the pipeline`);
  const search = await findServer(tenant, secretName);
  if (search.found) {
    const { opsUrl: _, ...server } = search.found;
    return { kind: "http", ...server, ...(via === "http" ? { asked: true } : {}) };
  }
  if (via === "http") throw noServer(tenant.id, search);
  const remedy = search.unproven?.remedy;
  for (const problem of problemsOf(tenant.id, search))
    note(`${problem}: going straight to the database${remedy === undefined ? "" : `; ${remedy}`}`);
  return { kind: "db" };
}

/**
 * The way to the server that the fleet's file states. As a variable, the file stays as it is while servers come and go: over
 * https a certificate proves the server, which the tenant file cannot choose, and over http the run file of this directory.
 */
async function doorOfFleet(tenant: OperatorTenant, via: Via, stated: string): Promise<HttpDoor> {
  if (via === "db")
    throw new Fault("USAGE", `${FLEET_FILE} states a server of ${tenant.id}: leave --via db, or its url, out`);
  const url = checkUrl(stated, `The url of ${tenant.id} in ${FLEET_FILE}`);
  if (url.startsWith("https:")) return { kind: "http", url, asked: true };
  const { opsUrl: _, ...server } = await provenServerAt(tenant, url);
  return { kind: "http", ...server, asked: true };
}

function noServer(tenant: string, search: Search): Fault {
  if (search.unproven) return unprovenFault(tenant, search.unproven);
  const problems = problemsOf(tenant, search).join("; ");
  if (search.failing) return new Fault("UNREACHABLE", `${problems}: mend that, and it is tried again within a minute`);
  return new Fault(
    "UNREACHABLE",
    search.silent === undefined
      ? `No server of ${tenant} answers on this machine: start one, or name it with --url`
      : `${problems}: try again, or stop it`,
  );
}

function problemsOf(tenant: string, { silent, failing, unproven: stranger }: Search): string[] {
  return [
    ...(failing
      ? [`The server of ${tenant} at ${new URL(failing.url).host} cannot serve it (${failing.problem})`]
      : []),
    ...(silent ? [`The server of ${tenant} (process ${silent.pid}) runs and did not answer within 5 s`] : []),
    ...(stranger ? [unprovenFault(tenant, { ...stranger, remedy: undefined }).message] : []),
  ];
}

/** @param name of the option or variable that holds the address */
export function checkUrl(text: string, name = "--url"): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isFit =
    url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" && url.search === "";
  if (!isFit) throw new Fault("USAGE", `${name} must be an address such as https://predict.acme.example`);
  return url.href.replace(/\/+$/, "");
}

/** A variable stays set while servers come and go, so only a certificate can prove which server answers at its address. */
function checkUsual(text: string, name: string): string {
  const url = checkUrl(text, name);
  if (!url.startsWith("https:"))
    throw new Fault(
      "USAGE",
      `${name} must begin with https://, since nothing proves the server behind http://; a server of this directory is found without it, and --url names any for one command`,
    );
  return url;
}
