import { resolve } from "node:path";
import { isBelow } from "../bounded-file.ts";
import type { Finding, Path } from "../config-error.ts";
import { environmentPrefix, possibleOwners } from "../environment.ts";
import type { SecretBounds } from "../operator-file.ts";
import type { Draft } from "../rules.ts";
import { OPERATOR_FILE } from "../selection/names.ts";
import {
  type Destination,
  destinationLine,
  destinationName,
  destinationsOf,
  mayBeSentTo,
} from "./secret-destinations.ts";
import { referencesIn } from "./secret-places.ts";

/**
 * Keeps a tenant file from using other tenants' variables or files elsewhere, and from sending a secret to a host that the operator
 * has not listed. The file may come with a stranger's pull request, so this is checked before any secret is read or sent.
 *
 * @param of.directory the tenant's folder, absolute
 */
export function secretsStayInBounds(
  draft: Draft,
  { directory, tenant, bounds }: { directory: string; tenant: string; bounds: SecretBounds },
): Finding[] {
  return [
    ...referencesIn(draft).flatMap(({ reference, path }) => {
      const message = "env" in reference ? problemOfVariable(reference.env, tenant, bounds) : undefined;
      return message === undefined ? [] : [{ path, message }];
    }),
    ...filesOf(draft).flatMap(({ file, path }) =>
      isBelow(resolve(directory, file), [directory, ...bounds.roots])
        ? []
        : [{ path, message: `the file leads out of the tenant's folder: ${toList("secrets.files", "its folder")}` }],
    ),
    ...destinationsOf(draft).flatMap((destination) => {
      const message = problemOfDestination(destination, directory, bounds);
      return message === undefined ? [] : [{ path: destination.path, message }];
    }),
  ];
}

function toList(where: string, what = "it"): string {
  return `list ${what} in ${OPERATOR_FILE} under ${where}`;
}

function problemOfVariable(name: string, tenant: string, { isTenant, env }: SecretBounds): string | undefined {
  const owner = possibleOwners(name).find(isTenant);
  if (owner === tenant) return undefined;
  if (owner !== undefined) return `the variable ${name} belongs to the tenant ${owner}: no other tenant may use it`;
  if (env.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern)))
    return undefined;
  const prefix = environmentPrefix(tenant);
  return `the variable ${name} does not begin with ${prefix}_: rename it, or ${toList("secrets.env")}`;
}

/** The files with secrets and keys to which a tenant file refers, as written. */
export function filesOf(draft: Draft): { file: string; path: Path }[] {
  const files = referencesIn(draft).flatMap(({ reference, path }) => {
    if ("file" in reference) return [{ file: reference.file, path }];
    return "sops" in reference ? [{ file: reference.sops, path }] : [];
  });
  const { auth, server } = draft;
  if (auth && "jwks" in auth.jwt && "file" in auth.jwt.jwks)
    files.push({ file: auth.jwt.jwks.file, path: ["auth", "jwt", "jwks", "file"] });
  if (server?.tls) files.push({ file: server.tls.cert, path: ["server", "tls", "cert"] });
  if (server?.console && server.console.tls !== undefined)
    files.push({ file: server.console.tls.cert, path: ["server", "console", "tls", "cert"] });
  return files;
}

function problemOfDestination(
  { reference, host, kind }: Destination,
  directory: string,
  { destinations }: SecretBounds,
): string | undefined {
  const name = destinationName(reference);
  if (name === undefined)
    return `a secret that a program prints cannot be sent to a ${kind}: keep it in a variable or a file`;
  if (host === undefined)
    return kind === "source"
      ? "the host that a secret is sent to must not depend on {id}"
      : "the hosts that a secret is sent to must be in this file or in variables";
  if (mayBeSentTo({ name, host }, directory, destinations)) return undefined;
  return `the secret would be sent to ${host}: ${toList("secrets.destinations", destinationLine({ name, host }))}`;
}
