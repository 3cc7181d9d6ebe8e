import { createReadStream, createWriteStream } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createGunzip, createGzip } from "node:zlib";
import { isErrno } from "../../config/environment.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { dumpDatabase } from "../../ledger/backup/backup.ts";
import { type BackupManifest, damaged, noBackup } from "../../ledger/backup/backup-format.ts";
import type { Connection } from "../../postgres/connect.ts";
import { renameForGood } from "../../state/state-directory.ts";
import { AGE_MAGIC, decryptWith, encryptionTo } from "./age-file.ts";

const CHUNK_BYTES = 256 * 1024;
/** The end of a gzip file: checksum and size of the unpacked content, four bytes each. */
const GZIP_END_BYTES = 8;

export interface FileRequest {
  tenant: string;
  file: string;
  /** The key that authenticates the file. */
  key: AuditKey;
  /** The `age` recipients who can read the file; without any the file is not encrypted. */
  recipients: readonly string[];
  /** Receives the number of bytes that the database has sent so far. */
  onProgress: (bytes: number) => void;
}

export interface WrittenBackup {
  manifest: BackupManifest;
  sha256: string;
  bytes: number;
}

/**
 * Writes a backup that only its owner can read. The file appears when it is complete and on disk.
 *
 * @throws Fault USAGE when the file exists or cannot be written, or a recipient is invalid
 */
export async function writeBackup(connection: Connection, request: FileRequest): Promise<WrittenBackup> {
  const { file, recipients, onProgress } = request;
  if (await exists(file)) throw new Fault("USAGE", `${file} exists already: name another file`);
  const encrypt = recipients.length === 0 ? undefined : await encryptionTo(recipients);
  const part = `${file}.part`;
  let told: Omit<WrittenBackup, "bytes"> | undefined;
  const rows = dumpDatabase(connection, request, (manifest, sha256) => {
    told = { manifest, sha256 };
  });
  try {
    const chunks = Readable.from(inChunks(rows, onProgress), { objectMode: false });
    const [packed, sink] = [createGzip(), createWriteStream(part, { mode: 0o600, flush: true })];
    await (encrypt ? pipeline(chunks, packed, encrypt, sink) : pipeline(chunks, packed, sink));
    if (!told) throw new Error("The backup has no manifest");
    const { size } = await stat(part);
    renameForGood(part, file);
    return { ...told, bytes: size };
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    if (!isErrno(error) || error.syscall === undefined || error.path !== part) throw error;
    throw new Fault("USAGE", `${file} cannot be written (${error.code})`, { cause: error });
  }
}

/** Joins rows: the database sends a buffer per row, and calling the compressor for each would cost too much. */
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

/** A file that may be a backup. */
interface OpenedBackup {
  encrypted: boolean;
  /** Reads the whole content; each call starts from the beginning. */
  content(): AsyncIterable<Buffer>;
}

/**
 * Detects how a backup is packed.
 *
 * @param identity the file of identities that decrypts the backup
 * @throws Fault NOT_FOUND for a missing file; USAGE for one that is not a backup, or is encrypted without an identity
 */
export async function openBackup(file: string, identity: string | undefined): Promise<OpenedBackup> {
  const start = await startOf(file);
  const encrypted = start.toString("latin1").startsWith(AGE_MAGIC);
  if (!encrypted && start.readUInt16BE() !== 0x1f8b) throw noBackup();
  if (!encrypted) return { encrypted, content: () => unpack(createReadStream(file)) };
  if (identity === undefined)
    throw new Fault("USAGE", `${file} is encrypted: name the file of your age key with --identity`);
  return { encrypted, content: () => unpack(decryptWith(identity, createReadStream(file))) };
}

async function startOf(file: string): Promise<Buffer> {
  try {
    await using handle = await open(file);
    const { buffer } = await handle.read(Buffer.alloc(AGE_MAGIC.length), 0, AGE_MAGIC.length, 0);
    return buffer;
  } catch (cause) {
    if (isErrno(cause) && cause.code === "ENOENT") throw new Fault("NOT_FOUND", `There is no file ${file}`, { cause });
    throw new Fault("USAGE", `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Unpacks a gzip file of one member. The library also unpacks further members and ignores trailing bytes, so the
 * checksum and size at the file's end are compared with everything that was unpacked.
 */
async function* unpack(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let end: Uint8Array = Buffer.alloc(0);
  async function* remembered() {
    for await (const chunk of packed) {
      end = Buffer.concat([end, chunk.subarray(-GZIP_END_BYTES)]).subarray(-GZIP_END_BYTES);
      yield chunk;
    }
  }
  const unpacked = createGunzip();
  // The loop below throws errors to the reader. An error after the reader has stopped must not end the process.
  unpacked.on("error", () => {});
  pipeline(remembered, unpacked).catch(() => undefined);
  const expected = { checksum: 0, size: 0 };
  for await (const chunk of unpacked as AsyncIterable<Buffer>) {
    expected.checksum = crc32(chunk, expected.checksum);
    expected.size = (expected.size + chunk.length) % 2 ** 32;
    yield chunk;
  }
  const stated = Buffer.from(end);
  if (stated.readUInt32LE(0) !== expected.checksum || stated.readUInt32LE(4) !== expected.size)
    throw damaged("the file continues after the end of the backup");
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}
