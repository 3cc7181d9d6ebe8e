import { open } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { errorCode, handToOwner, StateError } from "./state-directory.ts";

const pollMs = 25;
const sqliteBusy = 5;

/**
 * Runs `work` while no other process, and no other caller in this one, runs work under the same path.
 *
 * The lock is SQLite's exclusive lock on an empty file: the only file lock available in Node that the kernel releases
 * when its holder dies. So a killed command leaves nothing stale, and no process ids are compared.
 * @param doing what holders of this lock do, for the message
 * @throws StateError if the lock stays taken for `waitMs`, or the file belongs to another user
 */
export async function withLock<T>(path: string, waitMs: number, doing: string, work: () => Promise<T>): Promise<T> {
  await createLockFile(path);
  const deadline = performance.now() + waitMs;
  for (;;) {
    using lock = tryLock(path);
    if (lock) return await work();
    if (performance.now() > deadline) {
      throw new StateError(
        `Another pmctl command has been ${doing} for ${waitMs / 1000} s (it holds ${path}). Wait for it or end it, then try again.`,
      );
    }
    await delay(pollMs);
  }
}

/**
 * Creates the file without opening an existing one: closing any descriptor of a file drops all POSIX locks of this
 * process on it. Root gives the file to the directory's owner, who must be able to lock it too.
 */
async function createLockFile(path: string): Promise<void> {
  try {
    await (await open(path, "wx", 0o600)).close();
  } catch (error) {
    if (errorCode(error) === "EEXIST") return;
    throw error;
  }
  handToOwner(path);
}

function tryLock(path: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec("begin exclusive");
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return undefined;
    throw new StateError(`Cannot lock ${path}. If it belongs to another user, run pmctl as that user or as root.`, {
      cause: error,
    });
  }
}
