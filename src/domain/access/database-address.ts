import ipaddr from "ipaddr.js";

/** The address of a database server: a name, an IP address, or the directory of its socket. */
export interface DatabaseHost {
  /** IPv6 has no brackets; a directory begins with a slash. */
  host: string;
  port: number;
}

/** The contents of a connection string; parameters have libpq's meaning. */
export interface DatabaseAddress {
  hosts: readonly DatabaseHost[];
  /** Empty if the string has no user. */
  user: string;
  password: string;
  /** The name of the database. */
  name: string;
  /** Values as written, by name. */
  parameters: Readonly<Partial<Record<DatabaseParameter, string>>>;
}

/** The problem of an address, to follow its name in a sentence. It contains no part of the address. */
export class AddressProblem extends Error {
  override name = "AddressProblem";
}

const DEFAULT_PORT = 5432;
const MAX_HOSTS = 16;

/** From the weakest check to the check of the server's name in its certificate. */
export const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/** The requirement of each parameter, and whether a value meets it. */
const PARAMETERS = {
  target_session_attrs: oneOf("any", "read-write", "primary"),
  sslmode: oneOf(...SSL_MODES),
  sslrootcert: { must: "be a file or system", fits: (value: string) => value !== "" },
  connect_timeout: { must: "be a whole number of seconds", fits: (value: string) => /^\d{1,6}$/.test(value) },
  application_name: { must: "have 1 to 63 characters", fits: (value: string) => /^.{1,63}$/.test(value) },
};

export type DatabaseParameter = keyof typeof PARAMETERS;
export const DATABASE_PARAMETERS = Object.keys(PARAMETERS).filter(isParameter);

/**
 * Reads `postgres(ql)://[user[:password]@]host[:port][,host[:port]]…/name[?parameters]`. Names and values are
 * percent-encoded if they contain a separator.
 * @throws AddressProblem
 */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  const [scheme = ""] = /^postgres(?:ql)?:\/\//.exec(url) ?? [];
  if (scheme === "") throw new AddressProblem("must begin with postgres:// or postgresql://");
  if (/[\s#\p{Cc}]/u.test(url)) throw new AddressProblem("must have spaces, # and control characters percent-encoded");
  const [place, parameters = ""] = divided(url.slice(scheme.length), "?");
  const [authority, name = ""] = divided(place, "/");
  const end = authority.lastIndexOf("@");
  const [user, password = ""] = divided(authority.slice(0, Math.max(end, 0)), ":");
  const address = {
    hosts: authority
      .slice(end + 1)
      .split(",")
      .map((text) => hostOf(text, decoded)),
    user: decoded(user),
    password: decoded(password),
    name: decoded(name),
    parameters: parametersOf(parameters === "" ? [] : parameters.split("&")),
  };
  checkDatabaseAddress(address);
  return address;
}

/** The connection string of an address; `parseDatabaseUrl` reverses it. */
export function formatDatabaseUrl({ hosts, user, password, name, parameters }: DatabaseAddress): string {
  const code = encodeURIComponent;
  const login = user === "" && password === "" ? "" : `${code(user)}${password === "" ? "" : `:${code(password)}`}@`;
  const places = hosts.map(
    ({ host, port }) => `${host.includes(":") && !isSocket(host) ? `[${host}]` : code(host)}:${port}`,
  );
  const query = Object.entries(parameters).map(([key, value]) => `${key}=${code(value)}`);
  return `postgres://${login}${places.join(",")}/${code(name)}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}

/**
 * Reads `host[:port]` from a tenant file, which uses no percent-encoding.
 * @throws AddressProblem
 */
export function parseDatabaseHost(text: string): DatabaseHost {
  return hostOf(text, (written) => written);
}

/** @throws AddressProblem if the parameter does not accept the value */
export function checkDatabaseParameter(parameter: DatabaseParameter, value: string): void {
  const { must, fits } = PARAMETERS[parameter];
  if (hasControls(value) || !fits(value)) throw new AddressProblem(`must have a valid ${parameter}: it must ${must}`);
}

/** @throws AddressProblem if the parts do not fit together, or the name of a login or database is impossible */
export function checkDatabaseAddress({ hosts, user, password, name, parameters }: DatabaseAddress): void {
  if (hosts.length > MAX_HOSTS) throw new AddressProblem(`must have at most ${MAX_HOSTS} hosts`);
  if (name === "") throw new AddressProblem("must name a database");
  if (hasControls(name)) throw new AddressProblem("must name a database without control characters");
  if (hasControls(user) || password.includes("\0"))
    throw new AddressProblem("must name a login without control characters");
  // Any server can have a certificate that the system trusts, so only the name in it identifies the server.
  if (parameters.sslrootcert === "system" && (parameters.sslmode ?? "verify-full") !== "verify-full")
    throw new AddressProblem("must have sslmode verify-full with sslrootcert system");
}

export function isSocket(host: string): boolean {
  return host.startsWith("/");
}

function hostOf(text: string, read: (written: string) => string): DatabaseHost {
  const [, bracketed, plain = "", port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/s.exec(text) ?? [];
  const host = bracketed ?? read(plain);
  if (host === "") throw new AddressProblem("must have no empty host");
  const isKnown =
    bracketed === undefined
      ? /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9_.])?$/.test(host) || (isSocket(host) && !hasControls(host))
      : host.includes(":") && ipaddr.IPv6.isValid(host);
  if (!isKnown) throw new AddressProblem("must have hosts that are names, addresses, [IPv6] or directories of sockets");
  return { host, port: port === undefined ? DEFAULT_PORT : portOf(port) };
}

function portOf(text: string): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new AddressProblem("must have ports from 1 to 65535");
  return port;
}

function parametersOf(pairs: readonly string[]): DatabaseAddress["parameters"] {
  const parameters: Partial<Record<DatabaseParameter, string>> = {};
  for (const pair of pairs) {
    const [name, written = ""] = divided(pair, "=");
    const value = decoded(written);
    if (!isParameter(name)) throw new AddressProblem(`must have no parameters but ${DATABASE_PARAMETERS.join(", ")}`);
    if (parameters[name] !== undefined) throw new AddressProblem(`must have ${name} once`);
    parameters[name] = value;
    checkDatabaseParameter(name, value);
  }
  return parameters;
}

function isParameter(name: string | undefined): name is DatabaseParameter {
  return name !== undefined && Object.hasOwn(PARAMETERS, name);
}

/** The text before the first separator, and the text after it if there is a separator. */
function divided(text: string, separator: string): [before: string, behind?: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AddressProblem("must have every % percent-encoded");
  }
}

function hasControls(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

function oneOf(...values: string[]) {
  return { must: `be one of ${values.join(", ")}`, fits: (value: string) => values.includes(value) };
}
