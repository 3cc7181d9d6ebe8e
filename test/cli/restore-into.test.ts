import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { signAnchor } from "../../src/domain/audit/anchor.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { administer } from "../../src/postgres/database.ts";
import { type ClusterConnection, connectionUrl } from "../../src/postgres/embedded/connection.ts";
import { claimEmptyDatabase } from "../../src/postgres/empty-database.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { directoryWith, tenantText } from "../config/support.ts";
import { dropDatabase } from "../support/database-copy.ts";
import { inProcess } from "../support/in-process.ts";
import { AUDIT_SECRET, BackupScene, expectRestored, forge } from "./support/backups.ts";

const UNFINISHED = "an unfinished restore";

let scene: BackupScene;
let target: ClusterConnection;
beforeEach(async () => {
  scene = await BackupScene.open();
  if ("url" in scene.connection) throw new Error("a scene is reached by its socket");
  target = { ...scene.connection, database: `${scene.connection.database}_into` };
});
afterEach(async () => {
  await dropDatabase(target, target.database);
  await scene.close();
});

/** Runs `db restore FILE --into VARIABLE` where only the variables of the environment say where databases are. */
async function restoreInto(file: string, flags: string[] = [], variable = "ACME_NEW_URL", url = connectionUrl(target)) {
  const env = { PATH: process.env.PATH, ACME_AUDIT_KEY: AUDIT_SECRET, ACME_NEW_URL: url };
  const cwd = directoryWith({ "tenants/acme/tenant.yaml": tenantText() });
  const ended = await inProcess(["db", "restore", file, "--into", variable, "-o", "json", ...flags], { cwd, env });
  return { ...ended, data: JSON.parse(ended.stdout || "null") };
}

const create = () => administer(target, (sql) => sql`create database ${sql(target.database)}`);

async function inTarget<Value>(work: (sql: Sql) => PromiseLike<Value>): Promise<Value> {
  const sql = connect(target, { name: "look", max: 1 });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const relations = () =>
  inTarget((sql) => sql`select relname from pg_class where relnamespace = 'public'::regnamespace`);

describe("a restore into another database", () => {
  test("that is missing brings back every row, on record, and asks nothing; the tenant's own stays", async () => {
    const before = await scene.everything();
    const { file, data } = await scene.backup();
    await scene.deposit("after", 7);
    const own = await scene.everything();
    const restored = await restoreInto(file);
    expect(restored.stderr).toContain("pmctl db migrate");
    expect(restored).toMatchObject({ code: 0, data: { head: data.head, keptAs: null, into: "ACME_NEW_URL" } });
    expect(restored.stdout + restored.stderr).not.toContain(target.database);
    expect(await scene.everything()).toEqual(own);
    const rows = (table: string) =>
      inTarget(async (sql) =>
        (await sql.unsafe(`select to_jsonb(t)::text as row from ${table} t order by 1`)).map(({ row }) => row),
      );
    const after: Record<string, unknown[]> = {};
    for (const table of Object.keys(before)) after[table] = await rows(table);
    expectRestored(after, before);
    await (await openTenant({ tenantId: "acme", connection: target, auditSecret: AUDIT_SECRET })).close();
  });

  test("that holds anything is refused with 3, and nothing is written", async () => {
    await create();
    await inTarget((sql) => sql`create function public.ours() returns integer language sql as 'select 1'`);
    const { file } = await scene.backup();
    const refused = await restoreInto(file);
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(refused.stderr).toContain("not empty");
    expect(await inTarget((sql) => sql`select 1 from pg_class where relnamespace = 'public'::regnamespace`)).toEqual(
      [],
    );
  });

  test("by a variable that is not set, that holds no address, or by the address itself is refused with 6; none is shown", async () => {
    const cases: [string, string, string][] = [
      ["ACME_OTHER_URL", "postgres://acme:hunter2@db.example/new", "ACME_OTHER_URL is not set"],
      ["ACME_NEW_URL", "mysql://acme:hunter2@db.example/new", "ACME_NEW_URL must begin with postgres://"],
      ["postgres://acme:hunter2@db.example/new", "", "the name of a variable"],
    ];
    for (const [variable, url, words] of cases) {
      const { code, stderr } = await restoreInto("any", [], variable, url);
      expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringContaining(words) });
      expect(stderr).not.toMatch(/hunter2|db\.example/);
    }
  });
});

describe("a restore into another database that fails ends with 8", () => {
  const anchored = async () => {
    const { file } = await scene.backup();
    await scene.deposit("after", 7);
    const [last] = await scene.withSql((sql) => sql`select seq, hash, ts from audit order by seq desc limit 1`);
    const line = signAnchor("acme", { seq: BigInt(last?.seq), hash: last?.hash, ts: last?.ts }, auditKey(AUDIT_SECRET));
    const anchors = join(directoryWith(), "anchors.ndjson");
    writeFileSync(anchors, `${JSON.stringify(line)}\n`);
    return (...flags: string[]) => restoreInto(file, ["--anchor", anchors, ...flags]);
  };

  test("when an anchor knows of a later entry, unless the loss is accepted, in a database that was there and empty", async () => {
    const restore = await anchored();
    const refused = await restore();
    expect(refused.stderr).toContain("--accept-rollback");
    expect(refused).toMatchObject({ code: 8, stdout: "" });
    expect(refused.stderr).not.toContain("Loading");
    const names = await administer(target, (sql) => sql`select 1 from pg_database where datname = ${target.database}`);
    expect(names).toEqual([]);
    await create();
    expect((await restore()).code).toBe(8);
    expect(await relations()).toEqual([]);
    expect(await restore("--accept-rollback", "--reason", "the disk was lost")).toMatchObject({ code: 0 });
  });

  test("when the ledger does not add up; the database is empty again, and takes a sound backup", async () => {
    const { file } = await scene.backup();
    const { file: sound } = await scene.backup();
    forge(file, (text) => text.replace(/^(wallet:usr_1)\t\d+/m, "$1\t999000000"));
    const failed = await restoreInto(file);
    expect(failed).toMatchObject({ code: 8, stdout: "" });
    expect(failed.stderr).toContain("The database is empty again");
    expect(await relations()).toEqual([]);
    expect(await restoreInto(sound)).toMatchObject({ code: 0 });
  });
});

test("a restore that was cut off leaves a database that opens for nothing", async () => {
  await claimEmptyDatabase(target);
  const opened = openTenant({ tenantId: "acme", connection: target, auditSecret: AUDIT_SECRET });
  await expect(opened).rejects.toMatchObject({ code: "REFUSED", message: expect.stringContaining(UNFINISHED) });
});

test("a restore is refused with both times where the database's clock is behind the backup", async () => {
  await scene.withSql((sql) => sql`update oracle_sweep set swept_at = 1900000000000`);
  const { file } = await scene.backup();
  const { exit, stderr } = await scene.restore(file);
  expect(exit).toBe(3);
  expect(stderr).toMatch(/entries of 2030-03-17T.*the clock of the database's machine shows 20/);
});
