import { isIP } from "node:net";
import {
  AddressProblem,
  type DatabaseAddress,
  isSocket,
  parseDatabaseHost,
} from "../../domain/access/database-address.ts";
import { isLoopback } from "../../domain/access/networks.ts";
import type { Path } from "../config-error.ts";
import type { StatedDatabaseUrl } from "../schema/database-schema.ts";
import type { SecretReference } from "../schema/scalars.ts";

/** The part of a tenant file, or of an apply's document, that says where databases are. */
export interface StatedDatabases {
  database?: "embedded" | { url: StatedDatabaseUrl; ownerUrl?: StatedDatabaseUrl | undefined } | undefined;
}

interface SentToDatabase {
  reference: SecretReference;
  path: Path;
  host: string | undefined;
}

type Parts = Extract<StatedDatabaseUrl, { hosts: unknown }>;

/**
 * Every secret beside a host that the tenant file itself names, with that host as `a.example:5432`, or as
 * `a.example:5432?sslmode=prefer` where its certificate is checked less than by `verify-full`. The host is undefined where a file
 * or a program gives it, which may come with the same change as the reference. A host from a variable is the operator's choice,
 * and what goes to this machine stays on it.
 */
export function databaseDestinations({ database }: StatedDatabases): SentToDatabase[] {
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

/** The secrets that a connection tells to the server, its first message included. */
function sentOf({ user, password, name, parameters }: Parts): [part: Path, SecretReference][] {
  const parts: [Path, string | SecretReference | undefined][] = [
    [["user"], user],
    [["password"], password],
    [["name"], name],
    [["parameters", "application_name"], parameters?.application_name],
  ];
  return parts.flatMap(([part, value]) => (typeof value === "object" ? [[part, value]] : []));
}

/** A secret beside a host whose name is a variable's value. */
export interface SentToVariable {
  reference: SecretReference;
  path: Path;
  variable: string;
  /** As of {@link databaseDestinations}; it holds the variable's value, which no message may show. */
  host: string;
  sslmode: string;
}

/**
 * Every secret beside a host from a variable whose certificate the file has checked less than by `verify-full`. The host is
 * the operator's choice, and how it is checked is the file's: its author would have the secret sent to a machine in between.
 *
 * @param read the value of a reference; undefined where it is not known
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
 * The hosts beyond this machine that a password may reach without TLS, as `a.example:5432?sslmode=prefer`: any `sslmode`
 * below `require` lets the server, or who is on the way to it, choose not to encrypt.
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

/** Undefined for this machine, and for what is no host, which is reported as such. */
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

/** Other names below `localhost`, and what only looks like an address, are resolved, and may lead anywhere. */
function isHere(host: string): boolean {
  return host === "localhost" || (isIP(host) !== 0 && isLoopback(host));
}

/**
 * The `sslmode` that holds whatever else the change brings: a file of certificates may come with it, and then the
 * change's author may have signed the server's. A variable is the operator's choice.
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
