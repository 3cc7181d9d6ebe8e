import { existsSync, realpathSync } from "node:fs";
import { chmod, lchown, lstat, mkdir, mkdtemp, readlink, rename, rm, stat, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { shortHash } from "../../state/server-sockets.ts";
import { errorCode, stateDirectory, unlessMissing } from "../../state/state-directory.ts";
import { type Account, canReach } from "./account.ts";
import { ClusterError } from "./errors.ts";

/** Where a project's cluster lies. */
export interface Site {
  /** `<directory>/.pmctl`, which belongs to the user who ran pmctl first. */
  root: string;
  /** `<directory>/.pmctl/postgres`: the home itself, or the link to it, which is then the only record of its place. */
  entry: string;
  /** Holds `data`, `log` and usually `socket`. A real path once it exists. */
  home: string;
  dataDir: string;
}

/** Finds the cluster of an operator's directory without creating anything. */
export function findSite(directory: string): Site {
  const root = stateDirectory(realIfExists(directory));
  const entry = join(root, "postgres");
  const home = realIfExists(entry);
  return { root, entry, home, dataDir: join(home, "data") };
}

function realIfExists(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/**
 * Makes sure that the home exists where the account can reach it, and returns the site with it. When root runs pmctl in
 * a directory closed to others, such as /root, the home lies in `<systemDir>/clusters` behind a link; when a directory
 * was closed after the home had been created in it, the home moves there. The server must not be running.
 */
export async function prepareHome(directory: string, systemDir: string, account: Account): Promise<Site> {
  const { root, entry } = findSite(directory);
  await finishMove(entry);
  const found = await unlessMissing(lstat(entry), undefined);
  if (!found) {
    const isReachable = account.isCaller || (await canReach(account, root));
    const isFit = isReachable && (await createDirectories(entry, account));
    if (!isFit && !account.isCaller) await createOutside(root, entry, systemDir, account);
    return findSite(directory);
  }
  if (!existsSync(entry)) {
    throw new ClusterError(
      `The database's files are missing: ${entry} points to ${await readlink(entry)}. Put them back, or remove the link to begin with an empty database.`,
    );
  }
  const site = findSite(directory);
  // Again, in case the process that created it was killed half-way.
  await createDirectories(site.home, account);
  if (account.isCaller || (await canReach(account, site.home))) return site;
  if (found.isSymbolicLink()) {
    throw new ClusterError(
      `User id ${account.uid}, who owns the database in ${site.home}, cannot reach that directory.`,
    );
  }
  await moveOut(entry, await reserveOutside(root, systemDir));
  return findSite(directory);
}

/** Creates what a home needs, and says whether this file system lets it belong to the account (some network ones do not). */
async function createDirectories(home: string, account: Account): Promise<boolean> {
  await mkdir(home, { recursive: true });
  // Others may pass but not look: the account owns `data`, `log` and `socket` inside, while root keeps the names.
  if ((await stat(home)).uid === process.geteuid?.()) await chmod(home, account.isCaller ? 0o700 : 0o711);
  const log = join(home, "log");
  await mkdir(log, { mode: 0o700, recursive: true });
  // A refusal shows in the owner, which is read next.
  if (!account.isCaller) await lchown(log, account.uid, account.gid).catch(() => undefined);
  const { uid, mode } = await stat(log);
  return uid === account.uid && (mode & 0o777) === 0o700;
}

async function createOutside(root: string, entry: string, systemDir: string, account: Account): Promise<void> {
  await rm(entry, { recursive: true, force: true });
  const outside = await reserveOutside(root, systemDir);
  if (!(await createDirectories(outside, account))) {
    throw new ClusterError(`${outside} cannot belong to user id ${account.uid}: its file system does not keep owners.`);
  }
  await symlink(outside, entry);
}

/**
 * A new directory for one project. Its name is never used again: a project that was deleted and begun anew at the same
 * path must not come up with the old one's money.
 */
async function reserveOutside(root: string, systemDir: string): Promise<string> {
  await createSystemDirectory(systemDir);
  const clusters = await createSystemDirectory(join(systemDir, "clusters"));
  return mkdtemp(join(clusters, `${shortHash(root)}-`));
}

/**
 * Where copies of the server's programs are kept: in the operator's directory. Root's server runs as another user, who may
 * not reach it, and a directory of another user's is one in which root's copy could be replaced: then in the system's.
 */
export async function copiesDirectory({ root }: Site, account: Account, systemDir: string): Promise<string> {
  if (account.isCaller) return root;
  const { uid, mode } = await stat(root);
  const isRoots = uid === 0 && (mode & 0o022) === 0;
  return isRoots && (await canReach(account, root)) ? root : createSystemDirectory(systemDir);
}

/** Creates a directory of root's that every user can pass through; refuses one in which others could replace files. */
async function createSystemDirectory(path: string): Promise<string> {
  if ((await mkdir(path, { recursive: true })) !== undefined) await chmod(path, 0o755);
  const { uid, mode } = await lstat(path);
  if (uid !== 0 || (mode & 0o022) !== 0) {
    throw new ClusterError(
      `${path} must belong to root and be closed to others' writing: chown root ${path}; chmod 755 ${path}`,
    );
  }
  return path;
}

/**
 * Moves the home to `outside` and leaves a link. The link is written first, under another name, so that after a kill at
 * any moment either the home is still in its place or `finishMove` knows where it went.
 */
async function moveOut(entry: string, outside: string): Promise<void> {
  await symlink(outside, pendingLink(entry));
  try {
    await rename(entry, outside);
  } catch (error) {
    if (errorCode(error) !== "EXDEV") throw error;
    // Another file system: copy, and put the copy on the disk before the original goes.
    const { execa } = await import("execa");
    await execa("cp", ["-a", `${entry}/.`, outside]);
    await execa("sync");
    await rename(entry, copied(entry));
  }
  await finishMove(entry);
}

async function finishMove(entry: string): Promise<void> {
  if (!(await unlessMissing(lstat(pendingLink(entry)), undefined))) return;
  if (existsSync(entry)) await unlink(pendingLink(entry));
  else await rename(pendingLink(entry), entry);
  await rm(copied(entry), { recursive: true, force: true });
}

function copied(entry: string): string {
  return `${entry}.moved`;
}

function pendingLink(entry: string): string {
  return `${entry}.link`;
}
