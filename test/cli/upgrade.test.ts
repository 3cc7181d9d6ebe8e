import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type AuditEntry, auditLines, canonicalJson, GENESIS_HASH } from "../../src/domain/audit/audit-link.ts";
import { auditHash, auditKey } from "../../src/domain/audit/seal.ts";
import { GRANTS } from "../../src/ledger/schema.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { migrate, readMigrations } from "../../src/postgres/migrate.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";

/** The last schema of the versions whose entries do not say enough. */
const OLD_SCHEMA = 9;
const REFUSED =
  "From 0017_running_sums.sql on changes of servers of the older version are refused: restart each of them now";
const hashOf = (digit: string) => digit.repeat(64);

let operator: Operator;
let present: TestDatabase;
let old: TestDatabase;
let sql: Sql;

/** An entry as the old version wrote it. */
function aged({ type, payload }: { type: string; payload: string }): string {
  const said = JSON.parse(payload);
  for (const field of ["state", "keys", "sha256", "submittedAt"])
    if (type !== "config.applied" || field === "state") delete said[field];
  return canonicalJson(said);
}

/** Copies a tenant's rows into a database of the old schema, with the entries of the old version, sealed anew. */
async function copyAged(from: Sql, to: Sql, secret: string): Promise<void> {
  await to.unsafe("drop schema public cascade; create schema public");
  await migrate(to, {
    grants: GRANTS,
    migrations: (await readMigrations()).filter(({ version }) => version <= OLD_SCHEMA),
  });
  const tables = await to`
    select table_name as name, string_agg(quote_ident(column_name), ', ') as columns
      from information_schema.columns
     where table_schema = 'public' and table_name not in ('migration', 'audit', 'head')
     group by table_name`;
  for (const { name, columns } of tables) {
    // The old version told of a sweep from the start; this one has none to copy.
    if (name === "oracle_sweep") continue;
    const [copy] = await from.unsafe(`select jsonb_agg(t)::text as rows from "${name}" t`);
    // Migrations put first rows into some.
    await to.unsafe(`truncate "${name}"`);
    await to.unsafe(
      `insert into "${name}" (${columns}) select ${columns} from jsonb_populate_recordset(null::"${name}", $1::text::jsonb)`,
      [copy?.rows ?? "[]"],
    );
  }
  const key = auditKey(secret);
  let hash = GENESIS_HASH;
  for (const row of await from`select seq, type, actor, payload, ts, key_id from audit order by seq`) {
    const payloadText = aged(row as unknown as { type: string; payload: string });
    const entry: Omit<AuditEntry, "hash"> = {
      seq: BigInt(row.seq),
      type: row.type,
      actor: row.actor,
      payloadText,
      ts: row.ts,
      keyId: row.key_id,
    };
    hash = auditHash(key, hash, auditLines(entry));
    await to`insert into audit values (${row.seq}, ${row.type}, ${row.actor}, ${payloadText}, ${row.ts}, ${row.key_id}, ${hash})`;
    await to`update head set seq = ${row.seq}, hash = ${hash}`;
  }
}

const run = (...args: string[]) => operator.run(...args, "-t", "acme", "--via", "db", "-o", "json");
const json = async (...args: string[]) => {
  const { stdout, stderr, exitCode } = await run(...args);
  expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
  return JSON.parse(stdout);
};
const useDatabase = async (database: TestDatabase) => {
  const file = join(operator.directory, ".env");
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => !/^ACME_(DATABASE|OWNER)_URL=/.test(line));
  const urls = [`ACME_DATABASE_URL=${database.serverUrl}`, `ACME_OWNER_URL=${database.url}`];
  await writeFile(file, [...lines, ...urls, ""].join("\n"));
};

/** Puts the tenant into the old database, as the old version would have left it. */
const copyOld = async () => {
  const from = connect(present.connection, { name: "test", max: 1 });
  const { ACME_AUDIT_KEY = "" } = await operator.secrets();
  await copyAged(from, sql, ACME_AUDIT_KEY);
  await from.end();
  // The copy ends elsewhere than what this directory has seen of the tenant; here it is the only one there ever was.
  for (const memory of ["verified", "anchors"])
    await rm(join(operator.directory, ".pmctl", memory), { recursive: true, force: true });
};

beforeAll(async () => {
  operator = await newOperator();
  [present, old] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  expect((await operator.run("init", "acme", "--yes")).exitCode).toBe(0);
  await operator.edit(
    "acme",
    (text) => `${text}\ndatabase: { url: { env: ACME_DATABASE_URL }, ownerUrl: { env: ACME_OWNER_URL } }\n`,
  );
  await useDatabase(present);
  await json("apply", "--yes");
  await json("key", "create", "--type", "admin", "--name", "robot");
  await json("key", "create", "--type", "public", "--name", "gone");
  await json("key", "revoke", "gone", "--yes");
  await json("key", "create", "--type", "public", "--name", "turning");
  await json("key", "rotate", "turning", "--overlap", "24h");
  await json("policy", "set", "maxTradeUsd=50", "--yes");
  await json("suitability", "submit", "--user", "ann", "--answers", '{"a":4,"b":3}');
  await json("user", "restrict", "ann");
  sql = connect(old.connection, { name: "test", max: 1 });
  await copyOld();
  await useDatabase(old);
});
afterAll(async () => {
  await sql.end();
  await operator.close();
  await Promise.all([present.drop(), old.drop()]);
});

describe("before the schema is brought forward", () => {
  const SENTENCE = "The directory was last used by an older version of pmctl: `pmctl db migrate` brings the database";

  test.each([
    ["plan"],
    ["apply", "--dry-run"],
    ["drift"],
    ["history"],
    ["audit", "verify"],
    ["key", "list"],
    ["market", "list"],
  ])("%s %s says so, and what to do", async (...command) => {
    const { exitCode, stderr } = await run(...command);
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining(SENTENCE)]);
  });

  test("the login that serves is told the same where it sees which tables there are", async () => {
    await sql`grant usage on schema public to public`;
    vi.stubEnv("ACME_OWNER_URL", "");
    for (const command of [["plan"], ["key", "list"]]) {
      const { exitCode, stderr } = await run(...command);
      expect([exitCode, stderr]).toEqual([3, expect.stringContaining(SENTENCE)]);
    }
    vi.unstubAllEnvs();
  });

  test("an apply that is refused has only brought it forward, and says so; then a plan can be made", async () => {
    const { exitCode, stderr } = await run("apply", "--yes");
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining("The database was brought up to date first")]);
    expect(stderr).toContain(REFUSED);
    expect(await sql`select 1 from audit where type = 'config.applied'`).toHaveLength(1);
    expect((await run("plan", "--on-drift", "adopt")).exitCode).toBe(0);
    await copyOld();
  });
});

describe("what an older version left", () => {
  test("is put on record by the apply that migrates, and only what its log accounts for", async () => {
    // By another hand, before the upgrade: a key out of nowhere, a copy of a genuine one, and an old one opened again.
    await sql`insert into api_key values (${hashOf("9")}, 'thief', 'admin', 5, null, 1)`;
    await sql`
      insert into api_key
      select ${hashOf("8")}, name, type, created_at, null, 1 from api_key where name = 'robot'`;
    await sql`update api_key set expires_at = null where name = 'gone'`;
    await sql`insert into trader values ('eve', 'verified', false, 'DE', 1, 20, 1, 1, 1)`;
    const { stdout, stderr, exitCode } = await run("apply", "--yes", "--on-drift", "adopt");
    expect(exitCode).toBe(0);
    const [applied] = JSON.parse(stdout);
    // Of two keys that claim one entry nothing tells the true one.
    expect(applied.recorded.refused.toSorted()).toEqual(
      expect.arrayContaining([`fp:${"8".repeat(8)}`, `fp:${"9".repeat(8)}`]),
    );
    expect(applied.recorded.refused).toHaveLength(3);
    expect(stderr).toContain("put on record what an older version left");
    expect(stderr).toContain(REFUSED);
    expect(stderr).toContain("no audit entry made the key thief (fp:99999999), so it opens nothing");
    const keys = await json("key", "list");
    const states = keys
      .filter(({ onRecord }: { onRecord: boolean | null }) => onRecord !== null)
      .map(({ name, onRecord, active }: Record<string, unknown>) => `${name} ${onRecord} ${active}`);
    expect(states.toSorted()).toEqual([
      "gone true false",
      "ops true true",
      "robot false false",
      "robot false false",
      "thief false false",
      "turning true true",
      "turning true true",
      "web true true",
    ]);
  });

  test("once: plan after apply is empty, and a second apply changes nothing", async () => {
    expect((await run("plan", "--detailed-exitcode")).exitCode).toBe(0);
    const [before] = await sql`select seq from head`;
    expect((await json("apply", "--yes"))[0]).toMatchObject({ changed: false });
    expect(await sql`select seq from head`).toEqual([before]);
    const recorded = await sql`select payload from audit where type = 'state.recorded'`;
    expect(recorded).toHaveLength(1);
  });

  test("a key that is put in after it stays off record under every later apply", async () => {
    await sql`insert into api_key values (${hashOf("7")}, 'late', 'admin', 5, null, 1)`;
    await json("apply", "--yes");
    const keys = await json("key", "list");
    expect(keys.find(({ name }: { name: string }) => name === "late")).toMatchObject({
      onRecord: false,
      active: false,
    });
  });

  test("reconciliation names what is left, and an operator ends it", async () => {
    const explained = await run("reconcile", "--explain");
    expect(explained.exitCode).toBe(8);
    const off = JSON.parse(explained.stdout).checks.filter(({ ok }: { ok: boolean }) => !ok);
    const places = off.map(({ name, places }: { name: string; places: { place: string }[] }) => [
      name,
      ...places.map(({ place }) => place),
    ]);
    expect(places).toEqual([
      ["keys", "late", "robot", "robot", "thief"],
      ["kyc", "eve"],
      ["suitability", "eve"],
    ]);
    for (const name of ["late", "robot", "thief"]) await json("key", "revoke", name, "--yes");
    await json("user", "restrict", "eve");
    expect(await json("reconcile")).toMatchObject({ ok: true, discrepancy: 0 });
    expect(await json("audit", "verify")).toMatchObject({ verified: true });
  });

  test("its users stand as its log says", async () => {
    expect(await json("user", "show", "ann")).toMatchObject({ state: "restricted", suitabilityScore: 7 });
    expect(await json("user", "show", "eve")).toMatchObject({ kyc: "unverified", suitabilityScore: null });
  });
});

test("a schema brought forward without an apply is not served: its keys would open to nobody", async () => {
  await copyOld();
  expect((await operator.run("db", "migrate", "-t", "acme")).exitCode).toBe(0);
  await expect(operator.serve("acme")).rejects.toThrow("run pmctl apply acme");
});
