import { resolve } from "node:path";
import { SSL_MODES } from "../../domain/access/database-address.ts";
import { PRESETS } from "../../domain/feeds/presets.ts";
import type { Path } from "../config-error.ts";
import type { SecretReference } from "../schema/scalars.ts";
import { databaseDestinations, type StatedDatabases } from "./database-destinations.ts";

/** The parts of a tenant file, or of an apply's document, that say which secrets are sent where. */
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

/** A secret that goes out, with requests for prices or to a database. */
export interface Destination {
  reference: SecretReference;
  path: Path;
  /** Host and port, for a database as {@link databaseDestinations} says; undefined where a value that is no host decides. */
  host: string | undefined;
  kind: "source" | "database";
}

/** Every secret that the file itself sends somewhere, with each host that it is sent to. */
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

/** The operator's file's name for a secret; undefined for what it cannot name, such as a program's output. */
export function destinationName(reference: SecretReference): string | undefined {
  if ("env" in reference) return `env ${reference.env}`;
  if ("file" in reference) return `file ${reference.file}`;
  return "sops" in reference ? `sops ${reference.sops}` : undefined;
}

/** A secret as the operator's file names it, and host and port that it would be sent to. */
interface Sending {
  name: string;
  host: string;
}

/**
 * Whether the operator's file lists the host for the secret.
 * @param directory the tenant's folder, which paths in names are relative to
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

/** The line for the operator's file under `secrets.destinations` that allows it. */
export function destinationLine({ name, host }: Sending): string {
  return `"${name}": ["${host.replace(/:443$/, "")}"]`;
}

/** Whether two names mean one secret: paths may be written in several ways. */
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
 * Whether an entry of the operator's file covers a host with its port: 443 unless stated, and `*.` is one label. The entry's
 * `sslmode` is the least that a database's certificate is checked by.
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

/** A host, and how the certificate of a database there is checked: wholly, unless it says otherwise. */
function checkedAt(host: string): [place: string, sslmode: string] {
  const [place = "", sslmode = "verify-full"] = host.split("?sslmode=");
  return [place, sslmode];
}
