import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { isErrno } from "../config/environment.ts";
import { Fault } from "../domain/fault.ts";
import { dumpDatabase } from "../store/backup.ts";
import { type BackupManifest, parseManifest } from "../store/backup-format.ts";
import type { Connection } from "../store/connect.ts";

const CHUNK_BYTES = 256 * 1024;
const LONGEST_MANIFEST = 64 * 1024;

/**
 * Writes a backup, readable by its owner only: it holds people's trades. The file appears when it is complete and on disk.
 *
 * @param onProgress told how many bytes the database has given so far
 * @throws Fault USAGE when the file exists, or cannot be written
 */
export async function writeBackup(
  connection: Connection,
  tenant: string,
  file: string,
  onProgress: (bytes: number) => void,
): Promise<{ manifest: BackupManifest; bytes: number }> {
  if (await exists(file)) throw new Fault("USAGE", `${file} exists already: name another file`);
  const part = `${file}.part`;
  let manifest: BackupManifest | undefined;
  const rows = dumpDatabase(connection, tenant, (told) => {
    manifest = told;
  });
  try {
    const chunks = Readable.from(inChunks(rows, onProgress), { objectMode: false });
    await pipeline(chunks, createGzip(), createWriteStream(part, { mode: 0o600, flush: true }));
    if (!manifest) throw new Error("The backup has no manifest");
    const { size } = await stat(part);
    await rename(part, file);
    return { manifest, bytes: size };
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    if (!isErrno(error) || error.syscall === undefined || error.path !== part) throw error;
    throw new Fault("USAGE", `${file} cannot be written (${error.code})`, { cause: error });
  }
}

/** The database gives a buffer per row; compressing each by itself would cost more than the compression. */
async function* inChunks(rows: AsyncIterable<Buffer>, onProgress: (bytes: number) => void): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let size = 0;
  let total = 0;
  for await (const row of rows) {
    waiting.push(row);
    size += row.length;
    if (size < CHUNK_BYTES) continue;
    yield Buffer.concat(waiting);
    total += size;
    onProgress(total);
    waiting = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(waiting);
}

/**
 * Looks into a backup.
 *
 * @returns its manifest, and what gives its whole content
 * @throws Fault NOT_FOUND when there is no such file, USAGE when it is no backup
 */
export async function openBackup(
  file: string,
): Promise<{ manifest: BackupManifest; content: () => AsyncIterable<Buffer> }> {
  if (!(await exists(file))) throw new Fault("NOT_FOUND", `There is no file ${file}`);
  const content = () => {
    const unpacked = createGunzip();
    // Whoever reads hears of errors; whoever has read enough must not be hit by them afterwards.
    unpacked.on("error", () => {});
    pipeline(createReadStream(file), unpacked).catch(() => undefined);
    return unpacked;
  };
  let start = Buffer.alloc(0);
  try {
    for await (const chunk of content()) {
      start = Buffer.concat([start, chunk]);
      if (start.includes(10) || start.length > LONGEST_MANIFEST) break;
    }
  } catch (cause) {
    throw new Fault("USAGE", "This is no backup of pmctl", { cause });
  }
  return { manifest: parseManifest(start.toString().split("\n", 1)[0] ?? ""), content };
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}
