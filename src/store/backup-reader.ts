import { createHash, type Hash } from "node:crypto";
import { countRows, damaged, END_OF_ROWS, type Trailer } from "./backup-format.ts";

/** Takes a backup apart: lines, and the rows of one table up to their end mark. */
export class BackupReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #hash: Hash = createHash("sha256");
  #rest: Buffer = Buffer.alloc(0);
  #rows = 0;
  #last = "";

  constructor(content: AsyncIterable<Buffer>) {
    this.#source = content[Symbol.asyncIterator]();
  }

  /** Of all tables so far. */
  get rowCount(): number {
    return this.#rows;
  }

  /** The next line without its newline. The one before it is part of the checksum only now: the last one is not. */
  async line(): Promise<string> {
    if (this.#last !== "") this.#hash.update(this.#last);
    let end = this.#rest.indexOf(10);
    while (end === -1) {
      await this.#more();
      end = this.#rest.indexOf(10);
    }
    const line = this.#take(end + 1).toString();
    this.#last = line;
    return line.slice(0, -1);
  }

  /** COPY's own text, up to its end mark. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.#rest.subarray(0, END_OF_ROWS.length).equals(END_OF_ROWS)) break;
      const mark = this.#rest.indexOf("\n\\.\n");
      const end = mark === -1 ? this.#rest.lastIndexOf(10) : mark;
      if (end === -1) await this.#more();
      else {
        // After the line that opened the table.
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

  /** @throws Fault INTEGRITY unless `line` is the last one and says what was read. */
  finish(line: string): void {
    let trailer: Partial<Trailer> = {};
    try {
      trailer = JSON.parse(line) as Trailer;
    } catch (cause) {
      throw damaged("its end is not where it should be", cause);
    }
    if (trailer.sha256 !== this.#hash.digest("hex") || trailer.rows !== this.#rows)
      throw damaged("its checksum does not match");
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  #take(bytes: number): Buffer {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return taken;
  }

  async #more(): Promise<void> {
    const next = await this.#source.next().catch((cause: unknown) => {
      throw damaged("it cannot be unpacked", cause);
    });
    if (next.done) throw damaged("it ends too early");
    this.#rest = Buffer.concat([this.#rest, next.value]);
  }
}
