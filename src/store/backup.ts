import { createHash, type Hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { Fault } from "../domain/fault.ts";
import { type Connection, connect, type Sql } from "./connect.ts";
import { migrate, readMigrations } from "./migrate.ts";

/** The first line of a backup: what it holds, so that it can be judged before anything is restored. */
export interface BackupManifest {
  format: "pmctl-backup-v1";
  tenant: string;
  /** ISO 8601, by the database's clock: the instant of the snapshot. */
  created: string;
  schemaVersion: number;
  /** What the schema was made with; another build's migrations would make another schema. */
  migrations: { name: string; checksum: string }[];
  head: { seq: number; hash: string };
  /** Entries in the audit log. */
  count: number;
}

/** The last line. */
interface Trailer {
  rows: number;
  /** Of everything before it, hex. */
  sha256: string;
}

const FORMAT = "pmctl-backup-v1";
const END = Buffer.from("\\.\n");

/**
 * A tenant's database as text: the manifest, each table as the server's own COPY writes it, and a checksum. All of one
 * snapshot, so it is the state after one commit, whoever writes meanwhile. Tables that a crash empties anyway are left out.
 *
 * @param told the manifest, as soon as it is known
 */
export async function* dumpDatabase(
  connection: Connection,
  tenant: string,
  told: (manifest: BackupManifest) => void = () => {},
): AsyncGenerator<Buffer> {
  const sql = connect(connection, { name: "backup", max: 1 });
  try {
    await sql.unsafe("begin isolation level repeatable read, read only");
    const began = await transactionOf(sql);
    const manifest = await readManifest(sql, tenant);
    told(manifest);
    const hash = createHash("sha256");
    const pass = (bytes: Buffer) => {
      hash.update(bytes);
      return bytes;
    };
    yield pass(Buffer.from(`${JSON.stringify(manifest)}\n`));
    let rows = 0;
    for (const { copy } of await tables(sql)) {
      yield pass(Buffer.from(`${copy} from stdin\n`));
      for await (const chunk of await sql.unsafe(`${copy} to stdout`).readable()) {
        rows += countRows(chunk as Buffer);
        yield pass(chunk as Buffer);
      }
      yield pass(END);
    }
    // The driver reconnects by itself; whatever came after that would be of another snapshot.
    if ((await transactionOf(sql)) !== began)
      throw new Fault("DATABASE_UNAVAILABLE", "The connection was lost during the backup: start it again");
    await sql.unsafe("commit");
    const trailer: Trailer = { rows, sha256: hash.digest("hex") };
    yield Buffer.from(`${JSON.stringify(trailer)}\n`);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** One a line: COPY escapes the newlines of the data. */
function countRows(text: Buffer): number {
  let count = 0;
  for (let at = text.indexOf(10); at !== -1; at = text.indexOf(10, at + 1)) count += 1;
  return count;
}

/** Names the transaction that the connection is in: its server process and its beginning. */
async function transactionOf(sql: Sql): Promise<string> {
  const [row] = await sql`select pg_backend_pid() || ' ' || extract(epoch from transaction_timestamp()) as id`;
  return row?.id;
}

async function readManifest(sql: Sql, tenant: string): Promise<BackupManifest> {
  const [row] = await sql`
    select h.seq, h.hash, (select count(*) from audit) as count,
           extract(epoch from transaction_timestamp())::float8 * 1000 as created
      from head h where h.id = 1`;
  const migrations = await sql<{ version: number; name: string; checksum: string }[]>`
    select version, name, checksum from migration order by version`;
  if (!row) throw new Error("The head row is missing");
  return {
    format: FORMAT,
    tenant,
    created: new Date(row.created).toISOString(),
    schemaVersion: migrations.at(-1)?.version ?? 0,
    migrations: migrations.map(({ name, checksum }) => ({ name, checksum })),
    head: { seq: Number(row.seq), hash: row.hash },
    count: Number(row.count),
  };
}

/** Every table that lasts, with the beginning of its COPY statement. */
async function tables(sql: Sql): Promise<{ name: string; copy: string }[]> {
  const rows = await sql<{ name: string; columns: string }[]>`
    select quote_ident(c.relname) as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relnamespace = current_schema()::regnamespace
       and c.relkind = 'r' and c.relpersistence = 'p' and c.relname <> 'migration'
     group by c.relname
     order by c.relname`;
  return rows.map(({ name, columns }) => ({ name, copy: `copy ${name} (${columns})` }));
}

/** The manifest at the beginning of a backup. */
export function parseManifest(line: string): BackupManifest {
  try {
    const manifest = JSON.parse(line) as BackupManifest;
    if (manifest.format === FORMAT && typeof manifest.tenant === "string" && Array.isArray(manifest.migrations))
      return manifest;
  } catch {
    // Said below.
  }
  throw new Fault("USAGE", "This is no backup of pmctl");
}

/**
 * Fills an empty database from a backup and brings its schema to this binary's version.
 *
 * @param content the unpacked backup
 * @throws Fault INTEGRITY when the backup is damaged, REFUSED when it is of a newer pmctl or of another build
 */
export async function loadDatabase(connection: Connection, content: AsyncIterable<Buffer>): Promise<BackupManifest> {
  const sql = connect(connection, { name: "restore", max: 1 });
  const reader = new BackupReader(content);
  try {
    const manifest = parseManifest(await reader.line());
    await migrate(sql, await migrationsOf(manifest));
    const known = await tables(sql);
    // Migrations put the head's first row in.
    await sql.unsafe(`truncate ${known.map(({ name }) => name).join(", ")}`);
    let line = await reader.line();
    while (line.startsWith("copy ")) {
      // Only statements that this schema itself would have written are run.
      const table = known.find(({ copy }) => line === `${copy} from stdin`);
      if (!table) throw damaged("it holds a table that is not known");
      await copyIn(sql, table, reader);
      line = await reader.line();
    }
    reader.finish(line);
    await migrate(sql);
    await sql.unsafe("analyze");
    return manifest;
  } finally {
    await reader.close();
    await sql.end({ timeout: 5 });
  }
}

/**
 * Fills one table. The driver (postgres 3.4.9) tells nobody when the server refuses rows after the last one was sent, so
 * the rows are counted: that query waits behind the copy, however it ended.
 */
async function copyIn(sql: Sql, { name, copy }: { name: string; copy: string }, reader: BackupReader): Promise<void> {
  const stream = await sql.unsafe(`${copy} from stdin`).writable();
  let failure: unknown;
  stream.on("error", (error) => {
    failure = error;
  });
  const before = reader.rowCount;
  for await (const rows of reader.rows()) {
    await new Promise<void>((sent) => stream.write(rows, () => sent()));
    if (failure !== undefined) throw damaged(`its rows do not fit into ${name}`, failure);
  }
  stream.end();
  await setImmediate();
  const [row] = await sql.unsafe(`select count(*) as count from ${name}`);
  if (Number(row?.count) !== reader.rowCount - before) throw damaged(`its rows do not fit into ${name}`, failure);
}

async function migrationsOf(manifest: BackupManifest) {
  const known = await readMigrations();
  const used = known.filter(({ version }) => version <= manifest.schemaVersion);
  const same = used.length === manifest.migrations.length;
  if (!same || used.some(({ checksum }, index) => checksum !== manifest.migrations[index]?.checksum))
    throw new Fault(
      "REFUSED",
      `The backup has schema ${manifest.schemaVersion} of a newer pmctl, or of another build: restore it with that one`,
    );
  return used;
}

function damaged(what: string, cause?: unknown): Fault {
  return new Fault("INTEGRITY", `The backup is damaged: ${what}`, { cause });
}

/** Takes a backup apart: lines, and the rows of one table up to their end mark. */
class BackupReader {
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

  /** COPY's own text; ends before the end mark, which no row can look like because it escapes every backslash. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.#rest.subarray(0, END.length).equals(END)) break;
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
    this.#hash.update(this.#take(END.length));
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
