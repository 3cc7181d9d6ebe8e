import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS, startOfDay } from "../../domain/time/units.ts";

/** One line of what a serving process did, as `pmctl logs` reads it. It holds names and codes, never a secret or a body. */
export interface LogLine {
  ts: string;
  level: "info" | "warn" | "error";
  kind: "access" | "error" | "event";
  requestId: string | null;
  method: string | null;
  route: string | null;
  status: number | null;
  durationMs: number | null;
  /** The name of the API key. */
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

/** Lines wait so long for others: a write for each request would cost more than the request's own. */
const FLUSH_MS = 250;
/** What is not written yet; lines beyond it are lost, as on a full disk. */
const MAX_WAITING_CHARS = 4 * 1024 * 1024;
/** A file is a part of the whole, so that the oldest can go without the rest. */
const PARTS = 8;
const MB = 1024 * 1024;

/** The name of a file: when it was begun, and by which process. */
export const LOG_FILE = /^(\d{13})-\d+\.ndjson$/;

/**
 * Keeps what a serving process did in files of its directory, bounded in days and bytes: whichever process begins a file
 * deletes the oldest ones of all. Requests never wait for it, and where it cannot write they go on without it.
 */
export class LogFiles {
  readonly #options: LogFilesOptions;
  #waiting = "";
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #file: { path: string; bytes: number; day: number } | undefined;

  constructor(options: LogFilesOptions) {
    this.#options = options;
  }

  /** @param line JSON text of a `LogLine`, without the line feed that will end it */
  add(line: string): void {
    if (this.#waiting.length > MAX_WAITING_CHARS) return;
    this.#waiting += `${line}\n`;
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
  }

  /** Writes what waits. */
  async close(): Promise<void> {
    this.#flush();
    await this.#writing;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#waiting;
    this.#waiting = "";
    if (text !== "") this.#writing = this.#writing.then(() => this.#write(Buffer.from(text))).catch(() => {});
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
