import { readdirSync, realpathSync } from "node:fs";
import { chmod, lchown, lstat, mkdir, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  createStateDirectory,
  errorCode,
  StateError,
  stateDirectory,
  statePath,
  unlessMissing,
} from "./state-directory.ts";

/** The socket of a process that serves a tenant, as its name in the folder states it. */
export interface ServerSocket {
  path: string;
  pid: number;
}

// sun_path holds 104 bytes on macOS and 108 on Linux, the final NUL included.
export const LONGEST_SOCKET_PATH = 103;
/** Room for `.<pid>-<number>.new` behind the tenant's name. */
const SUFFIX_BYTES = 20;
/** The bits of everyone but the owner. */
const OTHERS = 0o077;

/** Twelve hex digits that stand for a path where the path itself would be too long. */
export function shortHash(path: string): string {
  // Few paths are too long, and loading the module takes 4 ms of each command.
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(path).digest("hex").slice(0, 12);
}

/**
 * The folder of a tenant's sockets: `.pmctl/servers`. Where their paths would be too long, a folder in /tmp; not in TMPDIR,
 * which differs between the shells and services that must all find the same socket.
 */
export function serversFolder(directory: string, tenant: string): string {
  const folder = statePath(realPath(directory), "servers");
  const longest = Buffer.byteLength(join(folder, tenant)) + SUFFIX_BYTES;
  return longest <= LONGEST_SOCKET_PATH ? folder : join("/tmp", `pmctl-${shortHash(folder)}`);
}

function realPath(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    return resolve(directory);
  }
}

/**
 * Creates the folder of a tenant's sockets.
 * @throws StateError where something that others can use is in its place
 */
export async function createServersFolder(directory: string, tenant: string): Promise<string> {
  createStateDirectory(directory);
  const folder = serversFolder(directory, tenant);
  try {
    await mkdir(folder, 0o700);
    // Root hands it to the owner of the state directory, whose commands must find the server too.
    if (process.geteuid?.() === 0) {
      const { uid, gid } = await lstat(stateDirectory(directory));
      await lchown(folder, uid, gid);
    }
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    if ((await lstat(folder)).uid === process.geteuid?.()) await chmod(folder, 0o700);
  }
  await requirePrivate(folder, directory);
  return folder;
}

/**
 * The sockets of a tenant's servers, the newest first; some may be of processes that were killed. Their age is that of the
 * file, because process ids start again from the beginning.
 * @throws StateError for a folder in which another user could listen
 */
export async function serverSockets(directory: string, tenant: string): Promise<ServerSocket[]> {
  const folder = serversFolder(directory, tenant);
  const names = await readdir(folder).catch((error: unknown) => {
    if (/^(ENOENT|ENOTDIR|EACCES)$/.test(errorCode(error) ?? "")) return undefined;
    throw error;
  });
  if (!names) return [];
  await requirePrivate(folder, directory);
  const found = await Promise.all(
    names.map(async (name) => {
      const [path, pid] = [join(folder, name), pidIn(name, tenant)];
      const file = pid === undefined ? undefined : await unlessMissing(lstat(path), undefined);
      return pid === undefined || file === undefined ? [] : [{ path, pid, boundAt: file.mtimeMs }];
    }),
  );
  return found
    .flat()
    .toSorted((a, b) => b.boundAt - a.boundAt)
    .map(({ path, pid }) => ({ path, pid }));
}

/** The processes that listen for a tenant's commands, or were killed while they did. Asks none of them. */
export function serverPids(directory: string, tenant: string): number[] {
  try {
    return readdirSync(serversFolder(directory, tenant)).flatMap((name) => pidIn(name, tenant) ?? []);
  } catch {
    return [];
  }
}

let sockets = 0;

/** A name for one more socket of this process. */
export function newSocketName(tenant: string): string {
  sockets += 1;
  return `${tenant}.${process.pid}-${sockets}`;
}

function pidIn(name: string, tenant: string): number | undefined {
  if (!name.startsWith(`${tenant}.`)) return undefined;
  const pid = /^(\d+)-\d+$/.exec(name.slice(tenant.length + 1))?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/**
 * The folder is the proof of the server: only its owner and root can listen in it. So the owner must be this user, root, or
 * for root the owner of the state directory.
 */
async function requirePrivate(folder: string, directory: string): Promise<void> {
  const found = await lstat(folder);
  const own = process.geteuid?.();
  const stateOwner = own === 0 ? (await unlessMissing(lstat(stateDirectory(directory)), undefined))?.uid : undefined;
  if (
    own === undefined ||
    (found.isDirectory() && (found.mode & OTHERS) === 0 && [own, 0, stateOwner].includes(found.uid))
  )
    return;
  throw new StateError(
    `${folder} is open to other users, so nothing proves which process listens in it: see who made it, and remove it or close it with chmod 700`,
  );
}
