import { isIP } from "node:net";
import { resolve } from "node:path";
import {
  AddressProblem,
  type DatabaseAddress,
  isSocket,
  parseDatabaseHost,
  SSL_MODES,
} from "../../domain/access/database-address.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import { PRESETS } from "../../domain/feeds/presets.ts";
import type { Path } from "../config-error.ts";
import type { StatedDatabaseUrl } from "../schema/database-schema.ts";
import type { SecretReference } from "../schema/scalars.ts";

/** The parts of a tenant file, or of an apply's document, that decide which secrets are sent where. */
export interface StatedSections extends StatedDatabases {
  oracle?: {
    sources?: Record<
      string,
      {
        url?: string | undefined;
        headers?: Record<string, SecretReference | string> | undefined;
        query?: Record<string, SecretReference> | undefined;
      }
    >;
  };
}

/** A secret that is sent with requests for prices or to a database. */
export interface Destination {
  reference: SecretReference;
  path: Path;
  /** Host and port, for databases as in {@link databaseDestinations}; undefined if a value other than a host decides. */
  host: string | undefined;
  kind: "source" | "database";
}

/** Every secret that the file itself sends, with each of its hosts. */
export function destinationsOf(sections: StatedSections): Destination[] {
  const ofDatabases = databaseDestinations(sections).map((sent) => ({ ...sent, kind: "database" as const }));
  return [...sourceDestinations(sections), ...ofDatabases];
}

/** Every secret in headers and parameters of sources. */
function sourceDestinations({ oracle }: StatedSections): Destination[] {
  return Object.entries(oracle?.sources ?? {}).flatMap(([name, { url, headers, query }]) => {
    const preset = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
    const address = url ?? preset?.url;
    // A source without an address sends nothing; the rule `sourcesAreComplete` reports it.
    if (address === undefined) return [];
    const host = hostOf(address);
    return Object.entries({ headers, query }).flatMap(([part, values = {}]) =>
      Object.entries(values).flatMap(([key, reference]) =>
        typeof reference === "string"
          ? []
          : [{ reference, path: ["oracle", "sources", name, part, key], host, kind: "source" }],
      ),
    );
  });
}

/** Host and port of a source's address. */
function hostOf(template: string): string | undefined {
  const hosts = ["a", "b"].map((id) => {
    const address = template.replaceAll("{id}", id);
    if (!URL.canParse(address)) return undefined;
    const { hostname, port, protocol } = new URL(address);
    return `${hostname}:${port || (protocol === "http:" ? 80 : 443)}`;
  });
  return hosts[0] === hosts[1] ? hosts[0] : undefined;
}

/** The name of a secret in the operator's file; undefined for secrets without such a name, like a program's output. */
export function destinationName(reference: SecretReference): string | undefined {
  if ("env" in reference) return `env ${reference.env}`;
  if ("file" in reference) return `file ${reference.file}`;
  return "sops" in reference ? `sops ${reference.sops}` : undefined;
}

/** A secret, named as in the operator's file, and the host and port to which it would be sent. */
interface Sending {
  name: string;
  host: string;
}

/**
 * Whether the operator's file lists the host for the secret.
 * @param directory the tenant's folder, to which paths in names are relative
 */
export function mayBeSentTo(
  { name, host }: Sending,
  directory: string,
  destinations: readonly (readonly [secret: string, hosts: readonly string[]])[],
): boolean {
  return destinations.some(
    ([listed, hosts]) => isSameSecret(listed, name, directory) && hosts.some((each) => isListed(host, each)),
  );
}

/** The line of `secrets.destinations` in the operator's file that allows it. */
export function destinationLine({ name, host }: Sending): string {
  return `"${name}": ["${host.replace(/:443$/, "")}"]`;
}

/** Whether two names mean the same secret: paths have several notations. */
function isSameSecret(one: string, other: string, directory: string): boolean {
  const [kind, name] = split(one);
  const [otherKind, otherName] = split(other);
  if (kind !== otherKind) return false;
  return kind === "env" ? name === otherName : resolve(directory, name) === resolve(directory, otherName);
}

function split(name: string): [kind: string, rest: string] {
  const end = name.indexOf(" ");
  return [name.slice(0, end), name.slice(end + 1)];
}

/**
 * Whether an entry of the operator's file covers a host and port: 443 by default, and `*.` matches one label. The
 * entry's `sslmode` is the weakest accepted verification of a database's certificate.
 */
function isListed(host: string, listed: string): boolean {
  const [place, sslmode] = checkedAt(host);
  const [listedPlace, leastSslmode] = checkedAt(listed);
  if (SSL_MODES.indexOf(sslmode) < SSL_MODES.indexOf(leastSslmode)) return false;
  const wanted = /:\d+$/.test(listedPlace) ? listedPlace : `${listedPlace}:443`;
  if (!wanted.startsWith("*.")) return place === wanted;
  const label = place.indexOf(".");
  return label > 0 && place.slice(label) === wanted.slice(1);
}

/** A host, and how a database's certificate there is verified: `verify-full` unless stated. */
function checkedAt(host: string): [place: string, sslmode: string] {
  const [place = "", sslmode = "verify-full"] = host.split("?sslmode=");
  return [place, sslmode];
}

/** The part of a tenant file, or of an apply's document, that states the databases. */
interface StatedDatabases {
  database?: "embedded" | { url: StatedDatabaseUrl; ownerUrl?: StatedDatabaseUrl | undefined } | undefined;
}

interface SentToDatabase {
  reference: SecretReference;
  path: Path;
  host: string | undefined;
}

type Parts = Extract<StatedDatabaseUrl, { hosts: unknown }>;

/**
 * Every secret together with a host that the tenant file itself names, as `a.example:5432`, or as
 * `a.example:5432?sslmode=prefer` if its certificate is verified less strictly than with `verify-full`. The host is
 * undefined if a file or a program supplies it, which may come with the same change as the reference. A host from a
 * variable is the operator's choice, and secrets sent to this machine stay on it.
 */
function databaseDestinations({ database }: StatedDatabases): SentToDatabase[] {
  if (database === undefined || database === "embedded") return [];
  return (["url", "ownerUrl"] as const).flatMap((key) => {
    const stated = database[key];
    if (stated === undefined || !("hosts" in stated)) return [];
    const hosts = hostsOf(stated);
    return sentOf(stated).flatMap(([part, reference]) =>
      hosts.map((host) => ({ reference, path: ["database", key, ...part], host })),
    );
  });
}

/** The secrets that a connection reveals to the server, including its first message. */
function sentOf({ user, password, name, parameters }: Parts): [part: Path, SecretReference][] {
  const parts: [Path, string | SecretReference | undefined][] = [
    [["user"], user],
    [["password"], password],
    [["name"], name],
    [["parameters", "application_name"], parameters?.application_name],
  ];
  return parts.flatMap(([part, value]) => (typeof value === "object" ? [[part, value]] : []));
}

/** A secret together with a host from a variable. */
interface SentToVariable {
  reference: SecretReference;
  path: Path;
  variable: string;
  /** In the form of {@link databaseDestinations}. It contains the variable's value, which no message may show. */
  host: string;
  sslmode: string;
}

/**
 * Every secret together with a host from a variable whose certificate the file verifies less strictly than with `verify-full`. The
 * operator chooses the host but the file chooses the verification, so its author could redirect the secret to a machine in between.
 *
 * @param read the value of a reference; undefined if unknown
 */
export function weaklySentToVariables(
  stated: StatedDatabaseUrl,
  path: Path,
  read: (reference: SecretReference) => string | undefined,
): SentToVariable[] {
  const sslmode = "hosts" in stated ? surelyChecked(stated.parameters) : "verify-full";
  if (!("hosts" in stated) || sslmode === "verify-full") return [];
  return stated.hosts.flatMap((host) => {
    if (typeof host === "string" || !("env" in host)) return [];
    const place = placeOf(read(host) ?? "");
    if (place === undefined) return [];
    return sentOf(stated).map(([part, reference]) => ({
      reference,
      path: [...path, ...part],
      variable: host.env,
      host: `${place}?sslmode=${sslmode}`,
      sslmode,
    }));
  });
}

function hostsOf({ hosts, parameters }: Parts): (string | undefined)[] {
  const sslmode = surelyChecked(parameters);
  const mark = sslmode === "verify-full" ? "" : `?sslmode=${sslmode}`;
  return hosts.flatMap((stated) => {
    if (typeof stated !== "string") return "env" in stated ? [] : [undefined];
    const place = placeOf(stated);
    return place === undefined ? [] : [`${place}${mark}`];
  });
}

/**
 * The hosts other than this machine that a password may reach without TLS, as `a.example:5432?sslmode=prefer`. With any
 * `sslmode` below `require`, the server or a machine on the way can choose not to encrypt.
 */
export function plainPasswordHosts({ hosts, password, parameters }: DatabaseAddress): string[] {
  const sslmode = parameters.sslmode ?? (parameters.sslrootcert === "system" ? "verify-full" : "prefer");
  if (password === "" || !["disable", "allow", "prefer"].includes(sslmode)) return [];
  return hosts.flatMap(({ host, port }) =>
    isSocket(host) || isHere(host)
      ? []
      : `${host.includes(":") ? `[${host}]` : host}:${port}?sslmode=${sslmode}`.toLowerCase(),
  );
}

/** Undefined for this machine, and for an invalid host, which is reported elsewhere. */
function placeOf(stated: string): string | undefined {
  try {
    const { host, port } = parseDatabaseHost(stated);
    if (isSocket(host) || isHere(host)) return undefined;
    return `${host.includes(":") ? `[${host}]` : host}:${port}`.toLowerCase();
  } catch (error) {
    if (error instanceof AddressProblem) return undefined;
    throw error;
  }
}

/** Other names below `localhost`, and texts that only look like an address, are resolved and may lead anywhere. */
function isHere(host: string): boolean {
  return host === "localhost" || (isIP(host) !== 0 && isLoopback(host));
}

/**
 * The `sslmode` that applies whatever else the change contains: it may include a file of certificates with which its
 * author has signed the server's certificate. A variable is the operator's choice.
 */
function surelyChecked({ sslmode, sslrootcert }: Parts["parameters"] & {} = {}): string {
  const isRootGiven = sslrootcert !== undefined && sslrootcert !== "system" && !isVariable(sslrootcert);
  if (sslmode === undefined) return sslrootcert === "system" ? "verify-full" : "prefer";
  if (typeof sslmode !== "string" && !isVariable(sslmode)) return "disable";
  const stated = typeof sslmode === "string" ? sslmode : "verify-full";
  return isRootGiven && stated.startsWith("verify-") ? "require" : stated;
}

function isVariable(value: string | SecretReference): boolean {
  return typeof value === "object" && "env" in value;
}
