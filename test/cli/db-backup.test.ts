import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type BackupTarget, runDbBackup, runDbRestore } from "../../src/cli/commands/db-backup.ts";
import { auditKey } from "../../src/engine/seal.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant.ts";
import { backupMac } from "../../src/store/backup-format.ts";
import { type Connection, connect } from "../../src/store/connect.ts";
import { administer, quoted } from "../../src/store/database.ts";
import { databaseName } from "../../src/store/swap-database.ts";
import { directoryWith } from "../config/support.ts";
import { configOf, marketOf, usd } from "../engine/world.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { end, testIo } from "./support/io.ts";

const AUDIT_SECRET = "an audit secret of the tests, long enough";
/** Text that COPY escapes in every way it knows. */
const QUESTION = 'Will "tabs\tand \\. newlines\n\\.\nsurvive? ü東';

let database: TestDatabase;
let connection: Connection;
const kept: string[] = [];
beforeEach(async () => {
  database = await createTestDatabase();
  connection = database.connection;
  await withServices(async ({ sequencer }) => {
    await sequencer.submit({ command: configOf(), actor: "cli:test" });
    const market = marketOf({ id: "m1", question: QUESTION, closeAt: Date.now() + 3_600_000 });
    await sequencer.submit({ command: market, actor: "cli:test" });
  });
  await deposit("before", 100);
});
afterEach(async () => {
  for (const name of kept.splice(0))
    await administer(connection, (sql) => sql.unsafe(`drop database if exists ${quoted(name)} with (force)`));
  await database.drop();
});

async function withServices<Value>(work: (services: TenantServices) => Promise<Value>): Promise<Value> {
  const services = await openTenant({ tenantId: "acme", connection, auditSecret: AUDIT_SECRET });
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}

const deposit = (reference: string, dollars: number) =>
  withServices(({ sequencer }) =>
    sequencer.submit({
      command: { type: "recordDeposit", provider: "test", traderId: "usr_1", amountMicro: usd(dollars), reference },
      actor: "provider:test",
    }),
  );

/** Everything in the database, by table: what a restore must bring back to the letter. */
async function everything(): Promise<Record<string, unknown[]>> {
  const sql = connect(connection, { name: "look", max: 1 });
  try {
    const tables = await sql`
      select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relpersistence = 'p'
         and relname <> 'migration' order by 1`;
    const contents: Record<string, unknown[]> = {};
    for (const { relname } of tables)
      contents[relname] = (await sql.unsafe(`select to_jsonb(t)::text as row from ${relname} t order by 1`)).map(
        ({ row }) => row,
      );
    return contents;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const target = (): BackupTarget => ({ tenant: "acme", connection, auditSecrets: [AUDIT_SECRET] });

async function backup() {
  const file = join(directoryWith(), "acme.backup.gz");
  const io = testIo({ format: "json" });
  const ending = await end(io, () => runDbBackup({ ...target(), file }, io));
  return { file, ...ending, data: JSON.parse(ending.stdout || "null") };
}

async function restore(file: string, change: Partial<Parameters<typeof runDbRestore>[0]> = {}, answers?: string[]) {
  const io = testIo({ format: "json", ...(answers && { answers }) });
  const options = { ...target(), file, now: Date.now(), yes: true };
  const ending = await end(io, () => runDbRestore({ ...options, ...change }, io));
  const data = JSON.parse(ending.stdout || "null");
  if (data?.keptAs) kept.push(data.keptAs);
  return { ...ending, data };
}

/** Databases of restores that are still there. */
async function leftovers(): Promise<string[]> {
  const name = databaseName(connection);
  const rows = await administer(
    connection,
    (sql) => sql`select datname from pg_database where datname like ${`${name}_%`}`,
  );
  return rows.map(({ datname }) => datname).filter((each) => !kept.includes(each));
}

/** Changes the unpacked text and puts below it a checksum and a mac that fit, as somebody with the key could. */
function forge(file: string, change: (text: string) => string): void {
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split("\n");
  const { rows } = JSON.parse(lines.pop() ?? "");
  const text = change(`${lines.join("\n")}\n`);
  const sha256 = createHash("sha256").update(text).digest("hex");
  const key = auditKey(AUDIT_SECRET);
  const trailer = { rows, sha256, keyId: key.id, mac: backupMac(key, sha256) };
  writeFileSync(file, gzipSync(`${text}${JSON.stringify(trailer)}\n`));
}

/** What a restore leaves: all as it was, and an entry more, to which the head moves. */
function expectRestored(after: Record<string, unknown[]>, before: Record<string, unknown[]>) {
  const { audit = [], head: _, ...rest } = after;
  const { audit: entries = [], head: __, ...others } = before;
  expect(rest).toEqual(others);
  expect(audit.filter((entry) => !entries.includes(entry))).toEqual([expect.stringContaining("database.restored")]);
  expect(audit).toHaveLength(entries.length + 1);
}

describe("backup and restore", () => {
  test("a restore brings back every row as it was; what replaced it is kept under another name", async () => {
    const before = await everything();
    const { file, exit, data } = await backup();
    expect(exit).toBe(0);
    expect(data).toEqual({
      file,
      format: "pmctl-backup-v2",
      tenant: "acme",
      created: expect.any(String),
      schemaVersion: expect.any(Number),
      head: { seq: before.audit?.length, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      count: before.audit?.length,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      keyId: auditKey(AUDIT_SECRET).id,
      encrypted: false,
      bytes: statSync(file).size,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await deposit("after", 7);
    expect(await everything()).not.toEqual(before);

    const restored = await restore(file);
    expect(restored).toMatchObject({
      stderr: expect.not.stringContaining("error"),
      exit: 0,
      data: { tenant: "acme", head: data.head, count: data.count },
    });
    expectRestored(await everything(), before);
    expect(restored.data.keptAs).toMatch(new RegExp(`^${databaseName(connection)}_before_\\d{14}$`));
    expect(await leftovers()).toEqual([]);
    // And it goes on from there.
    await deposit("again", 7);
    const status = await withServices(({ handlers }) => handlers.getAuditStatus?.({}, { actor: "cli:test" }) as never);
    expect(status).toMatchObject({ verified: true });
  });

  test("a database that is gone altogether is restored too", async () => {
    const before = await everything();
    const { file } = await backup();
    await administer(connection, (sql) => sql.unsafe(`drop database ${quoted(databaseName(connection))}`));
    expect(await restore(file)).toMatchObject({ exit: 0, data: { keptAs: null } });
    expectRestored(await everything(), before);
  });

  test("a backup beside a file of the same name is refused, and the file is left alone", async () => {
    const { file } = await backup();
    const content = readFileSync(file);
    const io = testIo({ format: "json" });
    expect((await end(io, () => runDbBackup({ ...target(), file }, io))).exit).toBe(6);
    expect(readFileSync(file)).toEqual(content);
  });
});

describe("a restore replaces nothing and ends with 8", () => {
  test.each<[string, (file: string) => void]>([
    ["when the file is cut off", (file) => writeFileSync(file, readFileSync(file).subarray(0, -40))],
    [
      "when a byte of it changed",
      (file) => {
        const text = gunzipSync(readFileSync(file)).toString().replace("usr_1", "usr_2");
        writeFileSync(file, gzipSync(text));
      },
    ],
    [
      "when an audit entry was altered, checksum and all",
      (file) => forge(file, (text) => text.replace(/"amount":"100"/, '"amount":"900"')),
    ],
    [
      "when a balance was altered, checksum and all",
      (file) => forge(file, (text) => text.replace(/^(wallet:usr_1)\t\d+/m, "$1\t999000000")),
    ],
    [
      "when the last entry was cut off, checksum and all",
      (file) => forge(file, (text) => text.replace(/"seq":\d+/, '"seq":1')),
    ],
    [
      "when a row stands twice, checksum and all",
      (file) => forge(file, (text) => text.replace(/^(wallet:usr_1\t.*\n)/m, "$1$1")),
    ],
    [
      "when it holds another statement",
      (file) => forge(file, (text) => text.replace("copy account (", "copy pg_authid (")),
    ],
  ])("%s", async (_what, spoil) => {
    const before = await everything();
    const { file } = await backup();
    spoil(file);
    const ending = await restore(file);
    expect(ending).toMatchObject({ exit: 8, stdout: "" });
    expect(await everything()).toEqual(before);
    expect(await leftovers()).toEqual([]);
  });

  test("when the audit key is another one", async () => {
    const { file } = await backup();
    expect(await restore(file, { auditSecrets: ["another audit secret, long enough"] })).toMatchObject({ exit: 8 });
  });
});

describe("a restore is refused", () => {
  test("while a server of the tenant is connected, with 3", async () => {
    const { file } = await backup();
    await withServices(async ({ handlers }) => {
      await handlers.getPolicy?.({}, { actor: "cli:test" });
      const { exit, stderr } = await restore(file);
      expect(exit).toBe(3);
      expect(stderr).toContain("stop the tenant's servers first");
    });
    expect(await leftovers()).toEqual([]);
  });

  test("with 6 for a backup of another tenant, for what is no backup, and where nobody can confirm it", async () => {
    const { file } = await backup();
    expect(await restore(file, { tenant: "globex" })).toMatchObject({ exit: 6 });
    expect(await restore(file, { yes: false })).toMatchObject({ exit: 6 });
    const other = join(directoryWith({ text: "hello\n", packed: gzipSync("hello\n") }), "text");
    expect(await restore(other)).toMatchObject({ exit: 6 });
    expect(await restore(other.replace("text", "packed"))).toMatchObject({ exit: 6 });
    expect(await restore("/nowhere/at/all")).toMatchObject({ exit: 5 });
  });

  test("until the operator has typed the tenant's name", async () => {
    const { file } = await backup();
    expect(await restore(file, { yes: false }, ["acm"])).toMatchObject({ exit: 130 });
    expect(await restore(file, { yes: false }, ["acme"])).toMatchObject({ exit: 0 });
  });
});
