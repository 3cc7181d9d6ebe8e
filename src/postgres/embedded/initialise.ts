import { lchown, mkdtemp, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { unlessMissing } from "../../state/state-directory.ts";
import { closeCommonDatabases, writeRules } from "./access.ts";
import { type Account, runAs } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import { ClusterError } from "./errors.ts";
import type { Site } from "./home.ts";
import { asOptions, initialSettings, machineSettings, ownerRole, superuser } from "./settings.ts";
import type { Begin } from "./steps.ts";

const timeoutMs = 120_000;
const shownLines = 15;
const unfinishedPrefix = "data.new-";

/**
 * Creates the data directory unless it exists. It is built in a temporary place and renamed when it is complete,
 * including roles, so that a kill leaves either nothing or a whole cluster.
 * @throws ClusterError with initdb's output if it fails, or if the data belongs to another major version
 */
export async function initialise(
  site: Site,
  binaries: Binaries,
  account: Account,
  version: string,
  begin: Begin,
): Promise<void> {
  begin("creating the database's files");
  for (const name of await readdir(site.home)) {
    // An orphaned initdb may still be writing there. The next time deletes what it adds.
    if (name.startsWith(unfinishedPrefix)) await rm(join(site.home, name), { recursive: true }).catch(() => undefined);
  }
  const created = await unlessMissing(readFile(join(site.dataDir, "PG_VERSION"), "utf8"), undefined);
  if (created !== undefined) {
    checkMajorVersion(site, created.trim(), version);
    return;
  }
  const unfinished = await mkdtemp(join(site.home, unfinishedPrefix));
  if (!account.isCaller) await lchown(unfinished, account.uid, account.gid);
  await run(account, binaries.initdb, [
    ...["-D", unfinished, "--username", superuser],
    // Replaced below, before anything can connect.
    ...["--auth-local", "peer", "--auth-host", "reject"],
    // The server's built-in locale: the same order and case rules on every machine, without an installed locale.
    ...["--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"],
    ...["--no-instructions", ...asOptions({ ...initialSettings, ...(await machineSettings()) })],
  ]);
  begin("creating the database's owner");
  // In single-user mode, before anything can connect, so that the cluster never exists without its owner.
  await run(
    account,
    binaries.postgres,
    ["--single", "-D", unfinished, ...asOptions({ exit_on_error: "on", logging_collector: "off" }), "postgres"],
    [`create role ${ownerRole} login createdb createrole`, ...closeCommonDatabases, ""].join("\n"),
  );
  await writeRules(site, unfinished, account);
  await rename(unfinished, site.dataDir);
  await syncDirectory(site.home);
}

function checkMajorVersion(site: Site, created: string, version: string): void {
  const major = version.split(".")[0];
  if (created === major) return;
  throw new ClusterError(
    `The database in ${site.dataDir} was created by PostgreSQL ${created}, and this pmctl brings PostgreSQL ${major}. Make a backup with the pmctl that created it, and restore it with this one.`,
  );
}

async function run(account: Account, program: string, args: string[], input = ""): Promise<void> {
  const { execa } = await import("execa");
  const result = await execa(program, args, { ...runAs(account), input, all: true, reject: false, timeout: timeoutMs });
  if (!result.failed) return;
  const output = (result.all || result.message || "").split("\n").slice(-shownLines).join("\n");
  throw new ClusterError(`The embedded PostgreSQL could not be created.\n${output}`, { cause: result });
}

/** The new name must be on disk before anything is committed under it. */
async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path);
  await directory.sync();
}
