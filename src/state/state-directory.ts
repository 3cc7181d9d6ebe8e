import {
  chmodSync,
  closeSync,
  fchownSync,
  fsyncSync,
  lchownSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** An error of the state directory. The message tells the operator what happened and what to do. */
export class StateError extends Error {
  override name = "StateError";
}

/** The code of a system error (`ENOENT`, `EACCES`, ...), or undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Resolves to the fallback if a file is missing; other errors pass through. */
export async function unlessMissing<T, F>(work: Promise<T>, fallback: F): Promise<T | F> {
  try {
    return await work;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return fallback;
    throw error;
  }
}

/** The folders of the state directory, one for each kind of file that pmctl keeps. */
export type StateFolder =
  | "anchors"
  | "backups"
  | "completion"
  | "fleet"
  | "last-market"
  | "logs"
  | "servers"
  | "tls"
  | "verified";

/** The state directory of an operator's directory: `<directory>/.pmctl`. */
export function stateDirectory(directory: string): string {
  return join(directory, ".pmctl");
}

/** A path below a folder of the state directory. Creates nothing. */
export function statePath(directory: string, folder: StateFolder, ...names: string[]): string {
  return join(stateDirectory(directory), folder, ...names);
}

/**
 * Creates the state directory if it is missing. Git ignores it, because it contains a database.
 * @throws StateError if it cannot be created
 */
export function createStateDirectory(directory: string): void {
  const root = stateDirectory(directory);
  try {
    mkdirSync(root, 0o700);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    throw new StateError(`Cannot create ${root}.`, { cause: error });
  }
  // Root's database server runs as another user, who must pass through. Uses chmod, because the umask restricts mkdir's mode.
  if (process.geteuid?.() === 0) chmodSync(root, 0o711);
  writeFileSync(join(root, ".gitignore"), "*\n");
}

/** Creates a folder of the state directory, closed to other users, and returns its path. */
export function createStateFolder(directory: string, folder: StateFolder): string {
  createStateDirectory(directory);
  const path = statePath(directory, folder);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** Root gives a new file or folder to the owner of its parent folder, whose own commands must be able to use it too. */
export function handToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  lchownSync(path, uid, gid);
}

/**
 * Replaces a file as a whole: a reader sees the old or the new contents, even after a crash of the machine at any
 * moment, because contents and name are on disk when this returns. The file is created anew and renamed, so its mode
 * applies from the start and no link is followed. Only commands call it, because it blocks.
 */
export function writeWhole(
  file: string,
  content: string,
  { mode = 0o600, owner }: { mode?: number; owner?: { uid: number; gid: number } | undefined } = {},
): void {
  const fresh = `${file}.${process.pid}.new`;
  // A file of a killed process with the same number, or a pipe, which would wait for a reader.
  rmSync(fresh, { force: true });
  try {
    const handle = openSync(fresh, "wx", mode);
    try {
      writeFileSync(handle, content);
      if (owner) fchownSync(handle, owner.uid, owner.gid);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameForGood(fresh, file);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

/** Renames a file whose contents are on disk, and waits until its new name is on disk too. */
export function renameForGood(fresh: string, file: string): void {
  renameSync(fresh, file);
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
