import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect } from "vitest";
import type { BackupTarget } from "../../../src/app/backup/backup-tenant.ts";
import { type RestoreOptions, runDbBackup, runDbRestore } from "../../../src/cli/database/db-backup.ts";
import { auditKey } from "../../../src/domain/audit/seal.ts";
import { backupMac, type Trailer } from "../../../src/ledger/backup/backup-format.ts";
import { type Connection, connect, type Sql } from "../../../src/postgres/connect.ts";
import { administer } from "../../../src/postgres/database.ts";
import { databaseName } from "../../../src/postgres/swap-database.ts";
import { openTenant, type TenantServices } from "../../../src/services/tenant/tenant.ts";
import { directoryWith } from "../../config/support.ts";
import { configOf, marketOf, usd } from "../../engine/world.ts";
import { copyDatabase, dropDatabase } from "../../support/database-copy.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { end, testIo } from "./io.ts";

export const AUDIT_SECRET = "an audit secret of the tests, long enough";
/** Text that COPY escapes in every way it knows. */
const QUESTION = 'Will "tabs\tand \\. newlines\n\\.\nsurvive? ü東';

/** A tenant with a market and a deposit, on a database of its own, whose backups are made and restored. */
export class BackupScene {
  readonly #database: TestDatabase;
  readonly #kept: string[] = [];
  readonly connection: Connection;
  /** The operator's. */
  readonly directory = directoryWith();

  private constructor(database: TestDatabase) {
    this.#database = database;
    this.connection = database.connection;
  }

  static async open(): Promise<BackupScene> {
    prepared ??= prepare();
    return new BackupScene(await copyDatabase((await prepared).connection));
  }

  /** Writes what every scene begins with. */
  static async prepare(database: TestDatabase): Promise<void> {
    const scene = new BackupScene(database);
    await scene.withServices(async ({ sequencer }) => {
      await sequencer.submit({ command: configOf(), actor: "cli:test" });
      const market = marketOf({ id: "m1", question: QUESTION, closeAt: Date.now() + 3_600_000 });
      await sequencer.submit({ command: market, actor: "cli:test" });
    });
    await scene.deposit("before", 100);
  }

  async close(): Promise<void> {
    for (const name of this.#kept) await dropDatabase(this.#database.connection, name);
    await this.#database.drop();
  }

  get target(): BackupTarget {
    return { tenant: "acme", connection: this.connection, auditSecrets: [AUDIT_SECRET] };
  }

  async withServices<Value>(work: (services: TenantServices) => Promise<Value>): Promise<Value> {
    const services = await openTenant({ tenantId: "acme", connection: this.connection, auditSecret: AUDIT_SECRET });
    try {
      return await work(services);
    } finally {
      await services.close();
    }
  }

  async withSql<Value>(work: (sql: Sql) => PromiseLike<Value>): Promise<Value> {
    const sql = connect(this.connection, { name: "look", max: 1 });
    try {
      return await work(sql);
    } finally {
      await sql.end({ timeout: 5 });
    }
  }

  deposit(reference: string, dollars: number) {
    const command = {
      type: "recordDeposit",
      provider: "test",
      traderId: "usr_1",
      amountMicro: usd(dollars),
      reference,
    };
    return this.withServices(({ sequencer }) =>
      sequencer.submit({ command: { ...command, type: "recordDeposit" }, actor: "provider:test" }),
    );
  }

  /** Everything in the database, by table: what a restore must bring back to the letter. */
  everything(): Promise<Record<string, unknown[]>> {
    return this.withSql(async (sql) => {
      const tables = await sql`
        select relname from pg_class
         where relnamespace = 'public'::regnamespace and relkind = 'r' and relpersistence = 'p' and relname <> 'migration'
         order by 1`;
      const contents: Record<string, unknown[]> = {};
      for (const { relname } of tables)
        contents[relname] = (await sql.unsafe(`select to_jsonb(t)::text as row from ${relname} t order by 1`)).map(
          ({ row }) => row,
        );
      return contents;
    });
  }

  async backup(change: Partial<Parameters<typeof runDbBackup>[0]> = {}) {
    const file = join(directoryWith(), "acme.backup.gz");
    const io = testIo({ format: "json" });
    const ending = await end(io, () => runDbBackup({ ...this.target, directory: this.directory, file, ...change }, io));
    return { file, ...ending, data: JSON.parse(ending.stdout || "null") };
  }

  async restore(file: string, change: Partial<RestoreOptions> = {}, answers?: string[]) {
    const io = testIo({ format: "json", ...(answers && { answers }) });
    const { directory } = this;
    const options = { ...this.target, directory, anchorFiles: [], file, now: Date.now(), yes: true };
    const ending = await end(io, () => runDbRestore({ ...options, ...change }, io));
    const data = JSON.parse(ending.stdout || "null");
    if (data?.keptAs) this.#kept.push(data.keptAs);
    return { ...ending, data };
  }

  /** Databases of restores that are still there. */
  async leftovers(): Promise<string[]> {
    const name = databaseName(this.connection);
    const rows = await administer(
      this.connection,
      (sql) => sql`select datname from pg_database where datname like ${`${name}_%`}`,
    );
    return rows.map(({ datname }) => datname).filter((each) => !this.#kept.includes(each));
  }

  /** The entries since `seq`, as type and payload. */
  entriesAfter(seq: number): Promise<{ type: string; actor: string; payload: Record<string, unknown> }[]> {
    return this.withSql(async (sql) => {
      const rows = await sql`select type, actor, payload from audit where seq > ${seq} order by seq`;
      return rows.map(({ type, actor, payload }) => ({ type, actor, payload: JSON.parse(payload) }));
    });
  }
}

/** Made once per process, and gone with the server of the run: its copies are the scenes. */
let prepared: Promise<TestDatabase> | undefined;

async function prepare(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await BackupScene.prepare(database);
  return database;
}

/** A file's text without its last line, and that line. */
export function unpacked(file: string): { text: string; trailer: Trailer } {
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split("\n");
  const trailer = JSON.parse(lines.pop() ?? "");
  return { text: `${lines.join("\n")}\n`, trailer };
}

export function pack(file: string, text: string, trailer: object): void {
  writeFileSync(file, gzipSync(`${text}${JSON.stringify(trailer)}\n`));
}

/** Changes the text and puts a checksum below it that fits; no mac, as who has no key would. */
export function strip(file: string, change: (text: string) => string = (text) => text): void {
  const { text: before, trailer } = unpacked(file);
  const text = change(before);
  pack(file, text, { rows: trailer.rows, sha256: createHash("sha256").update(text).digest("hex") });
}

/** Changes the text and appends a checksum and a mac that fit, as an attacker with the key could. */
export function forge(file: string, change: (text: string) => string): void {
  strip(file, change);
  const { text, trailer } = unpacked(file);
  const key = auditKey(AUDIT_SECRET);
  pack(file, text, { ...trailer, keyId: key.id, mac: backupMac(key, trailer.sha256) });
}

/** What a restore leaves: all as it was, and an entry more, to which the head moves. */
export function expectRestored(after: Record<string, unknown[]>, before: Record<string, unknown[]>): void {
  const { audit = [], head: _, ...rest } = after;
  const { audit: entries = [], head: __, ...others } = before;
  expect(rest).toEqual(others);
  expect(audit.filter((entry) => !entries.includes(entry))).toEqual([expect.stringContaining("database.restored")]);
  expect(audit).toHaveLength(entries.length + 1);
}
