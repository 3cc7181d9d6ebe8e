import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { type Connection, connect, type Sql, withClient } from "../../postgres/connect.ts";
import { migrate, readMigrations } from "../../postgres/migrate.ts";
import { followMarketSearch } from "../market-search.ts";
import { GRANTS } from "../schema.ts";
import {
  BACKUP_FORMAT,
  type BackupManifest,
  backupMac,
  countRows,
  damaged,
  END_OF_ROWS,
  parseManifest,
  type Trailer,
} from "./backup-format.ts";
import { BackupReader } from "./backup-reader.ts";

/**
 * A tenant's database as text: the manifest, each table in the format of the server's COPY, and a checksum under the
 * audit key. Everything is from one snapshot, so it is the state after one commit, even during writes. Tables that a
 * crash empties are omitted.
 *
 * @param told called at the end with the manifest and the checksum
 */
export async function* dumpDatabase(
  connection: Connection,
  { tenant, key }: { tenant: string; key: AuditKey },
  told: (manifest: BackupManifest, sha256: string) => void = () => {},
): AsyncGenerator<Buffer> {
  const sql = connect(connection, { name: "backup", max: 1 });
  try {
    await sql.unsafe("begin isolation level repeatable read, read only");
    const began = await transactionOf(sql);
    const manifest = await readManifest(sql, tenant);
    const hash = createHash("sha256");
    const pass = (bytes: Buffer) => {
      hash.update(bytes);
      return bytes;
    };
    yield pass(Buffer.from(`${JSON.stringify(manifest)}\n`));
    let rows = 0;
    for (const { copy } of await tables(sql)) {
      yield pass(Buffer.from(`${copy} from stdin\n`));
      const copied = await sql.unsafe(`${copy} to stdout`).readable();
      for await (const chunk of copied) {
        rows += countRows(chunk as Buffer);
        yield pass(chunk as Buffer);
      }
      // The driver (postgres 3.4.9) pauses its socket after a large chunk and resumes when the stream is read. A stream
      // that ended with that chunk is never read again, so the next answer would never arrive.
      copied._read(0);
      yield pass(END_OF_ROWS);
    }
    // The driver reconnects by itself; everything after that would be from another snapshot.
    if ((await transactionOf(sql)) !== began)
      throw new Fault("DATABASE_UNAVAILABLE", "The connection was lost during the backup: start the backup again");
    await sql.unsafe("commit");
    const sha256 = hash.digest("hex");
    const trailer: Trailer = { rows, sha256, keyId: key.id, mac: backupMac(key, sha256) };
    told(manifest, sha256);
    yield Buffer.from(`${JSON.stringify(trailer)}\n`);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Identifies the connection's transaction: its server process and its start. */
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
    format: BACKUP_FORMAT,
    tenant,
    created: new Date(row.created).toISOString(),
    schemaVersion: migrations.at(-1)?.version ?? 0,
    migrations: migrations.map(({ name, checksum }) => ({ name, checksum })),
    head: { seq: Number(row.seq), hash: row.hash },
    count: Number(row.count),
  };
}

/** Every permanent table, with the beginning of its COPY statement. */
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

/**
 * Fills an empty database from a backup and migrates its schema to this binary's version.
 *
 * @param content the unpacked backup
 * @param server the login that will serve it; undefined if it is the owner's
 * @throws Fault INTEGRITY if the backup is damaged, REFUSED if it comes from a newer pmctl or another build
 */
export async function loadDatabase(
  connection: Connection,
  content: AsyncIterable<Buffer>,
  server?: string,
): Promise<{ manifest: BackupManifest; sha256: string }> {
  const reader = new BackupReader(content);
  const load = async (sql: Sql) => {
    const manifest = parseManifest(await reader.line());
    await migrate(sql, { grants: GRANTS, migrations: await migrationsOf(manifest), server });
    const known = await tables(sql);
    // Migrations insert the head's first row.
    await sql.unsafe(`truncate ${known.map(({ name }) => name).join(", ")}`);
    let line = await reader.line();
    while (line.startsWith("copy ")) {
      // Runs only statements that this schema would write itself.
      const table = known.find(({ copy }) => line === `${copy} from stdin`);
      if (!table) throw damaged("it contains an unknown table");
      await copyIn(sql, table, reader);
      line = await reader.line();
    }
    const { sha256 } = await reader.finish(line);
    await migrate(sql, { grants: GRANTS, server });
    await followMarketSearch(sql);
    await sql.unsafe("analyze");
    return { manifest, sha256 };
  };
  return withClient(connection, { name: "restore", max: 1 }, load).finally(() => reader.close());
}

/**
 * Fills one table. The driver (postgres 3.4.9) does not report rows that the server refuses after the last one was
 * sent, so the rows are counted. That query waits for the end of the copy, with or without an error.
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
      `The backup has schema ${manifest.schemaVersion} from a newer pmctl or another build: restore it with that version`,
    );
  return used;
}
