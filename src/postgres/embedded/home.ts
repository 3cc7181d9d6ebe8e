import { existsSync, realpathSync } from "node:fs";
import { chmod, lchown, lstat, mkdir, mkdtemp, readlink, rename, rm, stat, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { shortHash } from "../../state/server-sockets.ts";
import { errorCode, stateDirectory, unlessMissing } from "../../state/state-directory.ts";
import { type Account, canReach } from "./account.ts";
import { ClusterError } from "./errors.ts";

/** The paths of a project's cluster. */
export interface Site {
  /** `<directory>/.pmctl`, which belongs to the user who ran pmctl first. */
  root: string;
  /** `<directory>/.pmctl/postgres`: the home itself, or a link to it, which is then the only record of its place. */
  entry: string;
  /** Contains `data`, `log` and usually `socket`. A real path once it exists. */
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
 * Ensures that the home exists where the account can reach it, and returns its site. If root runs pmctl in a directory
 * closed to others, such as /root, the home is in `<systemDir>/clusters` behind a link. If a directory was closed after
 * its home was created, the home moves there. The server must not be running.
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
  // Repeated, in case the process that created it was killed halfway.
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

/** Creates the directories of a home. Returns whether the file system lets the account own them (some network ones do not). */
async function createDirectories(home: string, account: Account): Promise<boolean> {
  await mkdir(home, { recursive: true });
  // Others may pass but not list: the account owns `data`, `log` and `socket` inside, while root keeps the names.
  if ((await stat(home)).uid === process.geteuid?.()) await chmod(home, account.isCaller ? 0o700 : 0o711);
  const log = join(home, "log");
  await mkdir(log, { mode: 0o700, recursive: true });
  // The owner, which is read next, shows whether this failed.
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
 * A new directory for one project. Its name is never reused: a project that was deleted and created again at the same
 * path must not get the old project's money.
 */
async function reserveOutside(root: string, systemDir: string): Promise<string> {
  await createSystemDirectory(systemDir);
  const clusters = await createSystemDirectory(join(systemDir, "clusters"));
  return mkdtemp(join(clusters, `${shortHash(root)}-`));
}

/**
 * Where copies of the server's programs are stored: in the operator's directory. Two cases use the system's directory: root's
 * server runs as a user who may not reach the operator's, and in another user's directory root's copy could be replaced.
 */
export async function copiesDirectory({ root }: Site, account: Account, systemDir: string): Promise<string> {
  if (account.isCaller) return root;
  const { uid, mode } = await stat(root);
  const isRoots = uid === 0 && (mode & 0o022) === 0;
  return isRoots && (await canReach(account, root)) ? root : createSystemDirectory(systemDir);
}

/** Creates a directory of root that every user can pass through; refuses a directory in which others could replace files. */
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
 * Moves the home to `outside` and leaves a link. The link is written first under another name, so that after a kill at
 * any moment either the home is in its old place or `finishMove` knows its new place.
 */
async function moveOut(entry: string, outside: string): Promise<void> {
  await symlink(outside, pendingLink(entry));
  try {
    await rename(entry, outside);
  } catch (error) {
    if (errorCode(error) !== "EXDEV") throw error;
    // On another file system: copies, and syncs the copy to disk before the original is deleted.
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
