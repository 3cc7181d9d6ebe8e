import { statfs } from "node:fs/promises";

/** Where Linux has a file system in memory, and how much has to be free there: the databases of a run take a quarter. */
const MEMORY = "/dev/shm";
const ROOM = 2 ** 30;

/**
 * A directory in memory where there is room, else on the disk. A tenant's first commits wait for a disk that others write to
 * as well. And each database that a test drops deletes a thousand files, and ext4 passes over every inode that was deleted in
 * the last minutes before it gives a new file one: half of the CPU of tests that make many databases.
 */
export async function placeOfDatabases(): Promise<string> {
  const memory = await statfs(MEMORY).catch(() => undefined);
  const room = Math.min((memory?.bavail ?? 0) * (memory?.bsize ?? 0), process.availableMemory());
  return room >= ROOM ? MEMORY : "/tmp";
}
