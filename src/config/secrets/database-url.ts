import { basename, resolve } from "node:path";
import {
  AddressProblem,
  checkDatabaseAddress,
  checkDatabaseParameter,
  DATABASE_PARAMETERS,
  type DatabaseAddress,
  formatDatabaseUrl,
  parseDatabaseHost,
  parseDatabaseUrl,
} from "../../domain/access/database-address.ts";
import { readBelow, readBounded, UnusableFile } from "../bounded-file.ts";
import type { Finding, Path } from "../config-error.ts";
import { secretBounds } from "../operator-file.ts";
import type { StatedDatabaseUrl } from "../schema/database-schema.ts";
import type { SecretReference } from "../schema/scalars.ts";
import type { TenantFile } from "../schema/schema.ts";
import { OPERATOR_FILE } from "../selection/names.ts";
import { destinationName, mayBeSentTo, plainPasswordHosts, weaklySentToVariables } from "./secret-destinations.ts";
import { describeReference } from "./secrets.ts";

interface UrlContext {
  path: Path;
  /** The tenant's folder, to which `sslrootcert` is relative. */
  directory: string;
  /** Further folders to which the tenant file's own paths may lead. */
  roots: readonly string[];
  /** The value of a secret; undefined if unknown, which is not a problem of the address. */
  read: (reference: SecretReference, path: Path) => string | undefined;
}

/**
 * The complete connection string of a database in a uniform form, however the tenant file states it; undefined if a
 * part is unknown. Findings name the variable or the part, and contain no part of a value.
 */
export function databaseUrl(
  stated: StatedDatabaseUrl,
  place: UrlContext,
): { url: string | undefined; findings: Finding[] } {
  const findings: Finding[] = [];
  const address = "hosts" in stated ? addressOfParts(stated, place, findings) : addressIn(stated, place, findings);
  if (address !== undefined) findings.push(...weaklySent(stated, place), ...plainlySent(address, stated, place));
  if (address === undefined || findings.length > 0) return { url: undefined, findings };
  const rootCertificate = address.parameters.sslrootcert;
  if (rootCertificate === undefined || rootCertificate === "system")
    return { url: formatDatabaseUrl(address), findings };
  const file = resolve(place.directory, rootCertificate);
  const problem = problemOfFile(file, place, isOperators(stated));
  if (problem !== undefined) {
    const where = "hosts" in stated ? "" : `the connection string in ${describeReference(stated)} `;
    findings.push({ path: place.path, message: `${where}must have a readable sslrootcert: it ${problem}` });
    return { url: undefined, findings };
  }
  return { url: formatDatabaseUrl({ ...address, parameters: { ...address.parameters, sslrootcert: file } }), findings };
}

/** Secrets that the file would send to a host from a variable with weaker verification than `pmctl.yaml` allows. */
function weaklySent(stated: StatedDatabaseUrl, { path, directory, read }: UrlContext): Finding[] {
  const sent = weaklySentToVariables(stated, path, (reference) => read(reference, path));
  if (sent.length === 0) return [];
  const { destinations } = secretBounds(directory, basename(directory));
  return sent.flatMap(({ reference, path: at, variable, host, sslmode }) => {
    const name = destinationName(reference);
    if (name !== undefined && mayBeSentTo({ name, host }, directory, destinations)) return [];
    const entry =
      name === undefined
        ? ""
        : `, or list "${name}": ["HOST:PORT?sslmode=${sslmode}"] with that host in ${OPERATOR_FILE} under secrets.destinations`;
    const message = `the secret would be sent to the host in ${variable}, verified only with sslmode=${sslmode}, which this file decides: put sslmode in a variable too, or use verify-full${entry}`;
    return [{ path: at, message }];
  });
}

/**
 * A password that would reach another machine without TLS, unless `pmctl.yaml` allows that host `sslmode=disable`. It
 * is refused before connecting, whether or not the server would request it in clear text.
 */
function plainlySent(address: DatabaseAddress, stated: StatedDatabaseUrl, { path, directory }: UrlContext): Finding[] {
  const [host, ...others] = plainPasswordHosts(address);
  if (host === undefined) return [];
  const reference = "hosts" in stated ? stated.password : stated;
  const name = reference && destinationName(reference);
  const { destinations } = secretBounds(directory, basename(directory));
  const isAllowed = (each: string) => name !== undefined && mayBeSentTo({ name, host: each }, directory, destinations);
  if ([host, ...others].every(isAllowed)) return [];
  const where = reference === undefined ? "" : ` in ${describeReference(reference)}`;
  const entry =
    name === undefined
      ? ""
      : `, or list "${name}": ["HOST:PORT?sslmode=disable"] with each of its hosts in ${OPERATOR_FILE} under secrets.destinations`;
  const at = "hosts" in stated ? [...path, "password"] : path;
  return [
    {
      path: at,
      message: `the password${where} would be sent to another machine without TLS: set sslmode=require or stronger${entry}`,
    },
  ];
}

/** The problems of the address parts in the file itself; secrets are checked when they are read. */
export function databaseAddressesAreSound({ database }: Partial<TenantFile>): Finding[] {
  if (database === undefined || database === "embedded") return [];
  const place = { directory: "", roots: [], read: () => undefined };
  const findings: Finding[] = [];
  for (const key of ["url", "ownerUrl"] as const) {
    const stated = database[key];
    if (stated && "hosts" in stated) addressOfParts(stated, { ...place, path: ["database", key] }, findings);
  }
  return findings;
}

function addressIn(
  reference: SecretReference,
  { path, read }: UrlContext,
  findings: Finding[],
): DatabaseAddress | undefined {
  const value = read(reference, path);
  const name = `the connection string in ${describeReference(reference)}`;
  return value === undefined ? undefined : attempt(() => parseDatabaseUrl(value), { path, name, findings });
}

type Parts = Extract<StatedDatabaseUrl, { hosts: unknown }>;

function addressOfParts(parts: Parts, { path, read }: UrlContext, findings: Finding[]): DatabaseAddress | undefined {
  let isWhole = true;
  const part = <Value>(
    stated: string | SecretReference | undefined,
    key: Path,
    parse: (value: string) => Value,
  ): Value | undefined => {
    if (stated === undefined) return undefined;
    const at = [...path, ...key];
    const value = typeof stated === "string" ? stated : read(stated, at);
    const name = typeof stated === "string" ? undefined : `the value in ${describeReference(stated)}`;
    const parsed = value === undefined ? undefined : attempt(() => parse(value), { path: at, name, findings });
    isWhole &&= parsed !== undefined;
    return parsed;
  };
  const asItIs = (value: string) => value;
  const hosts = parts.hosts.flatMap((stated, index) => part(stated, ["hosts", index], parseDatabaseHost) ?? []);
  const parameters = DATABASE_PARAMETERS.flatMap((parameter) => {
    const value = part(parts.parameters?.[parameter], ["parameters", parameter], (given) => {
      checkDatabaseParameter(parameter, given);
      return given;
    });
    return value === undefined ? [] : [[parameter, value] as const];
  });
  const address = {
    hosts,
    user: part(parts.user, ["user"], asItIs) ?? "",
    password: part(parts.password, ["password"], asItIs) ?? "",
    name: part(parts.name, ["name"], asItIs) ?? "",
    parameters: Object.fromEntries(parameters),
  };
  if (!isWhole) return undefined;
  attempt(() => checkDatabaseAddress(address), { path, name: undefined, findings });
  return address;
}

interface Reported {
  path: Path;
  /** The subject of the problem, if its place does not name it. */
  name: string | undefined;
  findings: Finding[];
}

function attempt<Value>(parse: () => Value, { path, name, findings }: Reported): Value | undefined {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof AddressProblem)) throw error;
    findings.push({ path, message: name === undefined ? error.message : `${name} ${error.message}` });
    return undefined;
  }
}

/** All certificates that a machine trusts need a quarter of this. */
const MAX_CERTIFICATES_KIB = 1024;

/** Whether the certificates' path comes from a variable, and not from the tenant file or a file in its folder. */
function isOperators(stated: StatedDatabaseUrl): boolean {
  const path = "hosts" in stated ? stated.parameters?.sslrootcert : stated;
  return typeof path === "object" && "env" in path;
}

/** Why a file of certificates is unusable. Its path may be part of a secret, so it is not shown. */
function problemOfFile(file: string, { directory, roots }: UrlContext, anywhere: boolean): string | undefined {
  try {
    if (anywhere) readBounded(file, MAX_CERTIFICATES_KIB);
    else readBelow(file, [directory, ...roots], MAX_CERTIFICATES_KIB);
    return undefined;
  } catch (error) {
    if (error instanceof UnusableFile) return error.message;
    throw error;
  }
}
