import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS, startOfDay } from "../../domain/time/units.ts";

/** One line of a serving process's log, as `pmctl logs` reads it. It contains names and codes, never a secret or a body. */
export interface LogLine {
  ts: string;
  level: "info" | "warn" | "error";
  kind: "access" | "error" | "event";
  requestId: string | null;
  method: string | null;
  route: string | null;
  status: number | null;
  durationMs: number | null;
  /** The API key's name. */
  key: string | null;
  userId: string | null;
  errorCode: string | null;
  message: string | null;
}

export interface LogFilesOptions {
  folder: string;
  keepDays: number;
  maxMb: number;
}

/** How long lines wait for others: one write per request would cost more than the request itself. */
const FLUSH_MS = 250;
/** The bytes that may wait to be written: at first, and at most. Lines beyond them are lost, as on a full disk. */
const LEAST_BYTES = 64 * 1024;
const MOST_BYTES = 4 * 1024 * 1024;
/** The most UTF-8 bytes of a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** The log is split into files, so that the oldest part can be deleted alone. */
const PARTS = 8;
const MB = 1024 * 1024;
const LINE_FEED = 0x0a;

/** The name of a log file: its creation time, and the process that created it. */
export const LOG_FILE = /^(\d{13})-\d+\.ndjson$/;

/**
 * Keeps a serving process's log in files of its directory, limited in days and bytes. Whichever process creates a file deletes
 * the oldest files of all processes. Requests never wait for the log; if it cannot be written, they continue without it.
 *
 * Lines wait as bytes, not as text: joined texts survive several collections, which took an eighth of a read's CPU and
 * made one answer in a hundred wait 15 ms.
 */
export class LogFiles {
  readonly #options: LogFilesOptions;
  #waiting = Buffer.allocUnsafe(LEAST_BYTES);
  #length = 0;
  /** Fills while the other buffer is written. */
  #spare = Buffer.allocUnsafe(LEAST_BYTES);
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #file: { path: string; bytes: number; day: number } | undefined;

  constructor(options: LogFilesOptions) {
    this.#options = options;
  }

  /** @param line JSON text of a `LogLine`, without its final line feed */
  add(line: string): void {
    if (!this.#hasRoomFor(line.length * BYTES_PER_UNIT + 1)) return;
    this.#length += this.#waiting.write(line, this.#length);
    this.#waiting[this.#length++] = LINE_FEED;
    this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS).unref();
  }

  /** Writes the waiting lines. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#flush();
  }

  #hasRoomFor(bytes: number): boolean {
    const needed = this.#length + bytes;
    if (needed > MOST_BYTES) return false;
    if (needed > this.#waiting.length) {
      const larger = Buffer.allocUnsafe(Math.min(MOST_BYTES, Math.max(needed, 2 * this.#waiting.length)));
      this.#waiting.copy(larger, 0, 0, this.#length);
      this.#waiting = larger;
    }
    return true;
  }

  /** Writes one buffer at a time: lines that come meanwhile are written next. */
  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writing || this.#length === 0) return this.#writing ?? Promise.resolve();
    const full = this.#waiting;
    const lines = full.subarray(0, this.#length);
    this.#waiting = this.#spare;
    this.#length = 0;
    this.#writing = this.#write(lines)
      .catch(() => {})
      .then(() => {
        this.#spare = full;
        this.#writing = undefined;
        if (this.#length > 0) this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS).unref();
      });
    return this.#writing;
  }

  async #write(lines: Buffer): Promise<void> {
    const day = startOfDay(wallClockMs());
    const part = (this.#options.maxMb * MB) / PARTS;
    if (!this.#file || this.#file.day !== day || this.#file.bytes + lines.length > part) this.#file = this.#begin(day);
    this.#file.bytes += lines.length;
    await appendFile(this.#file.path, lines, { mode: 0o600 });
  }

  #begin(day: number): { path: string; bytes: number; day: number } {
    const { folder, keepDays, maxMb } = this.#options;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const files = readdirSync(folder).filter((name) => LOG_FILE.test(name));
    const oldest = wallClockMs() - keepDays * DAY_MS;
    let room = maxMb * MB * (1 - 1 / PARTS);
    for (const name of files.toSorted().toReversed()) {
      room -= statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
      if (room < 0 || Number(name.slice(0, 13)) < oldest - DAY_MS) rmSync(join(folder, name), { force: true });
    }
    return { path: join(folder, `${wallClockMs()}-${process.pid}.ndjson`), bytes: 0, day };
  }
}
