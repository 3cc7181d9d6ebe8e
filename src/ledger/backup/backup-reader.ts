import { createHash, type Hash } from "node:crypto";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { ROLLBACK_TYPE, type Rollback, rollbackOf } from "../../domain/audit/set-back.ts";
import { Fault } from "../../domain/fault.ts";
import {
  type BackupManifest,
  countRows,
  damaged,
  END_OF_ROWS,
  isAuthenticated,
  parseManifest,
  parseTrailer,
  type Trailer,
} from "./backup-format.ts";

/** Far more than any of our rows needs. A file whose line never ends must not fill the memory. */
const LONGEST_ROW_BYTES = 32 * 1024 * 1024;
/** Far more than the lines between the tables need, which name columns and migrations. */
const LONGEST_LINE_BYTES = 1024 * 1024;

/** Splits a backup into lines, and into the rows of a table up to their end mark. */
export class BackupReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #hash: Hash = createHash("sha256");
  #rest: Buffer = Buffer.alloc(0);
  #rows = 0;
  #last = "";

  constructor(content: AsyncIterable<Buffer>) {
    this.#source = content[Symbol.asyncIterator]();
  }

  /** The number of rows of all tables so far. */
  get rowCount(): number {
    return this.#rows;
  }

  /** The next line without its newline. The line before it now enters the checksum, which excludes the last line. */
  async line(): Promise<string> {
    if (this.#last !== "") this.#hash.update(this.#last);
    await this.#more(LONGEST_LINE_BYTES);
    const line = this.#take(this.#rest.indexOf(10) + 1).toString();
    this.#last = line;
    return line.slice(0, -1);
  }

  /** COPY's own text up to its end mark. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.#rest.subarray(0, END_OF_ROWS.length).equals(END_OF_ROWS)) break;
      const mark = this.#rest.indexOf("\n\\.\n");
      const end = mark === -1 ? this.#rest.lastIndexOf(10) : mark;
      if (end === -1) await this.#more(LONGEST_ROW_BYTES);
      else {
        // The line that opened the table.
        if (this.#last !== "") this.#hash.update(this.#last);
        this.#last = "";
        const rows = this.#take(end + 1);
        this.#hash.update(rows);
        this.#rows += countRows(rows);
        yield rows;
      }
    }
    if (this.#last !== "") this.#hash.update(this.#last);
    this.#last = "";
    this.#hash.update(this.#take(END_OF_ROWS.length));
  }

  /** @throws Fault INTEGRITY unless `line` is the last line and matches what was read */
  async finish(line: string): Promise<Trailer> {
    const trailer = parseTrailer(line);
    if (trailer.sha256 !== this.#hash.digest("hex") || trailer.rows !== this.#rows)
      throw damaged("its checksum does not match");
    if (this.#rest.length > 0 || !(await this.#next()).done) throw damaged("it has data after its end");
    return trailer;
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  #take(bytes: number): Buffer {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return taken;
  }

  /**
   * Reads on until a line ends. Each byte is searched and copied once, even if it arrives in small pieces: an endless
   * line is tiny when packed, and refusing it must be cheap too.
   */
  async #more(longest: number): Promise<void> {
    if (this.#rest.includes(10)) return;
    const pieces = [this.#rest];
    for (let length = this.#rest.length, ends = false; !ends; ) {
      if (length > longest) throw damaged("it has a line that is too long");
      const next = await this.#next();
      if (next.done) throw damaged("it ends too early");
      pieces.push(next.value);
      length += next.value.length;
      ends = next.value.includes(10);
    }
    this.#rest = Buffer.concat(pieces);
  }

  #next(): Promise<IteratorResult<Buffer>> {
    return this.#source.next().catch((cause: unknown) => {
      throw cause instanceof Fault ? cause : damaged("it cannot be unpacked", cause);
    });
  }
}

/** What a backup states, once it has been read completely. */
export interface Inspected {
  manifest: BackupManifest;
  sha256: string;
  /** The audit key of the valid `mac`; undefined for a file without a `mac`. */
  keyId: string | undefined;
  /** Accepted rollbacks according to the rows; their seals are checked after loading. */
  rollbacks: Rollback[];
}

/**
 * Reads a whole backup without writing it anywhere, so that no row of an unverified file reaches a database.
 *
 * @param tenant the expected tenant of the backup
 * @param keys the tenant's audit keys, including past keys
 * @throws Fault USAGE if it is not a backup, or another tenant's; INTEGRITY if it is damaged or its `mac` is invalid
 */
export async function inspectBackup(
  content: AsyncIterable<Buffer>,
  { tenant, keys }: { tenant: string; keys: readonly AuditKey[] },
): Promise<Inspected> {
  const reader = new BackupReader(content);
  try {
    const manifest = parseManifest(await reader.line());
    if (manifest.tenant !== tenant)
      throw new Fault("USAGE", `The backup is of ${JSON.stringify(manifest.tenant)}, not of ${tenant}`);
    const rollbacks: Rollback[] = [];
    let line = await reader.line();
    while (line.startsWith("copy ")) {
      for await (const rows of reader.rows())
        if (line.startsWith("copy audit (") && rows.includes(ROLLBACK_TYPE)) rollbacks.push(...rollbacksIn(line, rows));
      line = await reader.line();
    }
    const trailer = await reader.finish(line);
    return {
      manifest,
      sha256: trailer.sha256,
      keyId: isAuthenticated(trailer, keys) ? trailer.keyId : undefined,
      rollbacks,
    };
  } finally {
    await reader.close();
  }
}

/** @param line the line that names the columns */
function rollbacksIn(line: string, rows: Buffer): Rollback[] {
  const columns = line.slice(line.indexOf("(") + 1, line.indexOf(")")).split(", ");
  return rows
    .toString()
    .split("\n")
    .flatMap((row) => {
      const values = row.split("\t");
      const cell = (column: string) => values[columns.indexOf(column)] ?? "";
      if (cell("type") !== ROLLBACK_TYPE) return [];
      // JSON has no raw control characters, so COPY escapes only its backslashes.
      return [rollbackOf({ ts: cell("ts"), payloadText: cell("payload").replaceAll("\\\\", "\\") })];
    });
}
