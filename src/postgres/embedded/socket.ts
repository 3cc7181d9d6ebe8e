import { lchown, lstat, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { LONGEST_SOCKET_PATH, shortHash } from "../../state/server-sockets.ts";
import { errorCode } from "../../state/state-directory.ts";
import type { Account } from "./account.ts";
import { ClusterError } from "./errors.ts";
import { port } from "./settings.ts";

const longestDirectoryBytes = LONGEST_SOCKET_PATH - `/.s.PGSQL.${port}`.length;

/**
 * The directory of the server's socket. It is in the home, out of the way of a service's private /tmp and of other
 * users. If that path is too long, or has characters that a URL or PostgreSQL's list of directories would have to
 * quote, it is a name in /tmp. TMPDIR is not used, because it differs between the shells and services that must all
 * find the same socket.
 */
export function socketDirectory(home: string): string {
  const inHome = join(home, "socket");
  if (/^[\w./-]*$/.test(inHome) && inHome.length <= longestDirectoryBytes) return inHome;
  return join("/tmp", `pmctl-${shortHash(join(home, "data"))}`);
}

/**
 * Creates the socket directory for a server that is not alive.
 * @throws ClusterError if something else is already there
 */
export async function prepareSocketDirectory(path: string, account: Account): Promise<void> {
  try {
    await mkdir(path, 0o700);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  const found = await lstat(path);
  // Root may have been killed before it changed the directory's owner.
  const isRoots = !account.isCaller && found.uid === 0;
  // Anyone can put a directory or link into /tmp, wait for clients and answer instead of the server.
  if (!found.isDirectory() || (found.uid !== account.uid && !isRoots) || (found.mode & 0o077) !== 0) {
    throw new ClusterError(
      `${path} is in the way: the database's socket needs a directory of that name which belongs to user id ${account.uid} and is closed to others. See who made this one, and remove it.`,
    );
  }
  if (isRoots) await lchown(path, account.uid, account.gid);
  // Names the process of a dead server. PostgreSQL would refuse to start while any process has that number.
  await rm(join(path, `.s.PGSQL.${port}.lock`), { force: true });
}
