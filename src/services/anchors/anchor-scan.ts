import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isGenuine, parseAnchor } from "../../domain/audit/anchor.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { KnownAnchor } from "../../domain/audit/set-back.ts";
import { counted } from "../../domain/text.ts";

/** The anchors of a file. */
export interface ScannedAnchors {
  anchors: KnownAnchor[];
  /** Ignored lines and files, each with the reason. */
  faults: string[];
}

const BLOCK_BYTES = 256 * 1024;
/** Several times an anchor's length. A longer line is not an anchor and is not kept in memory. */
const LONGEST_LINE_BYTES = 4096;
/**
 * How many of a file's newest lines are compared with the log, in addition to the line of the highest entry. Each line
 * covers all earlier entries.
 */
const LINES_COMPARED = 64;
/** How many lines with bad signatures are listed one by one. */
const LINES_NAMED = 5;
const NEWLINE = 0x0a;
const LINE_START = '{"tenant":';

/**
 * Opens a regular file. Links are followed unless the flags forbid it: only lines signed by our keys count, wherever
 * the file is. A pipe or device could block or flood its reader, so it is refused, and opening it never blocks.
 *
 * @param flags of `node:fs` constants
 * @throws Error with a message for people if it is not a regular file
 */
export async function openRegular(file: string, flags: number): Promise<FileHandle> {
  const handle = await open(file, flags | constants.O_NONBLOCK, 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ELOOP") throw new Error(`${file} is a link`);
    throw error.code === "EISDIR" || error.code === "ENXIO" ? notRegular(file) : error;
  });
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw notRegular(file);
}

function notRegular(file: string): Error {
  return new Error(`${file} is not a regular file`);
}

/**
 * The anchors of one tenant in a file of any length. The whole file is read, so that lines appended later (of other
 * tenants, garbage or repeated old lines) cannot hide the newest anchors. A scan needs the memory of one block; later
 * scans read only appended data.
 */
export class AnchorScan {
  readonly #file: string;
  readonly #tenant: string;
  readonly #keys: readonly AuditKey[];
  #state = emptyState();

  constructor(file: string, tenant: string, keys: readonly AuditKey[]) {
    this.#file = file;
    this.#tenant = tenant;
    this.#keys = keys;
  }

  /** Returns no anchors for a missing file, and a fault for an unreadable file. */
  async read(): Promise<ScannedAnchors> {
    try {
      await this.#readOn();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      this.#state = emptyState();
      if (code === "ENOENT") return { anchors: [], faults: [] };
      const fault = code === undefined ? message : `${this.#file} cannot be read (${code})`;
      return { anchors: [], faults: [fault] };
    }
    const { highest, newest } = this.#state;
    return {
      anchors: highest && !newest.includes(highest) ? [highest, ...newest] : [...newest],
      faults: this.#faults(),
    };
  }

  async #readOn(): Promise<void> {
    await using handle = await openRegular(this.#file, constants.O_RDONLY);
    const { ino, size, mtimeMs } = await handle.stat();
    const { read } = this.#state;
    const isLonger = ino === this.#state.ino && (size > read || (size === read && mtimeMs === this.#state.mtimeMs));
    if (!isLonger) this.#state = emptyState();
    Object.assign(this.#state, { ino, mtimeMs });
    const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, size - this.#state.read));
    while (this.#state.read < size) {
      const { bytesRead } = await handle.read(block, 0, block.length, this.#state.read);
      if (bytesRead === 0) break;
      this.#take(block.subarray(0, bytesRead));
      this.#state.read += bytesRead;
    }
  }

  #take(block: Buffer): void {
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end !== -1; end = block.indexOf(NEWLINE, start)) {
      // An attack consists mostly of such blocks, so they must be cheap.
      if (end === start && this.#state.partBytes === 0) this.#strange(1);
      else {
        this.#keepPart(block.subarray(start, end));
        this.#line();
      }
      start = end + 1;
    }
    this.#keepPart(block.subarray(start));
  }

  /** Of an overlong line only the length is kept. */
  #keepPart(piece: Buffer): void {
    const state = this.#state;
    state.partBytes += piece.length;
    // Copied, because the block's memory is reused.
    if (state.partBytes <= LONGEST_LINE_BYTES) state.part = Buffer.concat([state.part, piece]);
  }

  #line(): void {
    const state = this.#state;
    const { part, partBytes } = state;
    state.part = Buffer.alloc(0);
    state.partBytes = 0;
    const text = partBytes > LONGEST_LINE_BYTES ? "" : part.toString();
    const anchor = parseAnchor(text);
    // A line that a crash cut short is ignored and not reported.
    const isCutShort = text !== "" && (text.startsWith(LINE_START) || LINE_START.startsWith(text));
    if (anchor || isCutShort) state.lines += 1;
    else this.#strange(partBytes + 1);
    if (!anchor) return;
    if (anchor.tenant !== this.#tenant) return;
    if (!isGenuine(anchor, this.#keys)) {
      state.bad += 1;
      if (state.bad <= LINES_NAMED) state.named.push(`${this.#file}:${state.lines} has a bad signature`);
      return;
    }
    const { seq, hash, ts } = anchor;
    const known = { seq: BigInt(seq), hash, ts, source: `anchored in ${this.#file}` };
    if (!state.highest || known.seq > state.highest.seq) state.highest = known;
    state.newest.push(known);
    if (state.newest.length > LINES_COMPARED) state.newest.shift();
  }

  /** Counts a line that is not an anchor. */
  #strange(bytes: number): void {
    const state = this.#state;
    state.lines += 1;
    state.strange ??= { line: state.lines, bytes: 0 };
    state.strange.bytes += bytes;
  }

  #faults(): string[] {
    const { named, bad, strange } = this.#state;
    const more =
      bad > LINES_NAMED
        ? [
            `${this.#file} has ${counted(bad - LINES_NAMED, "more line with a bad signature", "more lines with bad signatures")}`,
          ]
        : [];
    const none = strange
      ? [
          `${this.#file} has ${counted(strange.bytes, "byte that is not an anchor", "bytes that are not anchors")}, from line ${strange.line} on`,
        ]
      : [];
    return [...named, ...more, ...none];
  }
}

/** How far a file was read, and what was found. */
interface State {
  ino: number;
  mtimeMs: number;
  read: number;
  lines: number;
  /** The beginning of an incomplete line, and its length so far. */
  part: Buffer;
  partBytes: number;
  highest: KnownAnchor | undefined;
  newest: KnownAnchor[];
  bad: number;
  named: string[];
  /** The first line that is not an anchor, and the total bytes of such lines. */
  strange: { line: number; bytes: number } | undefined;
}

function emptyState(): State {
  return {
    ...{ ino: -1, mtimeMs: 0, read: 0, lines: 0, part: Buffer.alloc(0), partBytes: 0 },
    ...{ highest: undefined, newest: [], bad: 0, named: [], strange: undefined },
  };
}
