import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../../src/app/checks/check.ts";
import { evaluateLogin } from "../../src/app/checks/login.ts";
import { GRANTS, JOURNALS } from "../../src/ledger/schema.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { type Cluster, embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { serverLogin } from "../../src/postgres/embedded/settings.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { readLoginRights } from "../../src/queries/login.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { withServer } from "../support/tenant-text.ts";
import { DB_STATUS_FIELDS } from "./support/pmctl.ts";

const LOGIN = serverLogin("acme");
const denied = expect.objectContaining({ code: "42501" });

let operator: Operator;
let cluster: Cluster;
let owner: Sql;
let server: Sql;

beforeAll(async () => {
  operator = await newOperator();
  for (const tenant of ["acme", "beta"]) {
    await operator.run("init", tenant);
    await operator.edit(tenant, (text) => withServer(text));
    const applied = await operator.run("apply", tenant, "--yes");
    expect(applied.exitCode, applied.stderr).toBe(0);
  }
  cluster = embeddedCluster(operator.directory);
  owner = connect(cluster.connection("acme"), { name: "test", max: 1 });
  server = connect(cluster.connection("acme", LOGIN), { name: "test", max: 1 });
});
afterAll(async () => {
  await Promise.all([owner.end({ timeout: 5 }), server.end({ timeout: 5 })]);
  await operator.close();
});

async function login(): Promise<Finding | undefined> {
  const { stdout } = await operator.run("doctor", "acme", "-o", "json");
  return (JSON.parse(stdout) as { checks: Finding[] }).checks.find(({ check }) => check === "database login");
}

describe("the login of a tenant's server", () => {
  test("is what commands use that create nothing, and status still names the owner's address", async () => {
    const { stdout } = await operator.run("db", "status", "-t", "acme", "-o", "json");
    const status = JSON.parse(stdout);
    expect(Object.keys(status)).toEqual(DB_STATUS_FIELDS);
    expect(new URL(status.url)).toMatchObject({ username: "pmctl", password: "", pathname: "/acme" });
    expect((await stat(status.host)).mode & 0o777).toBe(0o700);
    expect(await readFile(join(status.dataDir, "pg_hba.conf"), "utf8")).not.toContain("trust");
    const asServer = [["audit", "status"], ["report", "house"], ["plan"]];
    await owner.unsafe(`alter role "${LOGIN}" nologin`);
    for (const words of asServer)
      expect((await operator.run(...words, "-t", "acme")).exitCode, words.join(" ")).toBe(9);
    expect((await operator.run("db", "backup", join(operator.directory, "one.gz"), "-t", "acme")).exitCode).toBe(0);
    expect((await operator.run("db", "migrate", "-t", "acme")).exitCode).toBe(0);
    await owner.unsafe(`alter role "${LOGIN}" login`);
    for (const words of asServer)
      expect((await operator.run(...words, "-t", "acme")).exitCode, words.join(" ")).toBe(0);
  });

  const ESCAPES = [
    "set role none",
    "reset role",
    "set role pmctl",
    "set role postgres",
    "set role pmctl_app",
    `set role "${serverLogin("beta")}"`,
    "set session authorization pmctl",
    "set session authorization default",
    "reset session authorization",
  ];

  test.each(ESCAPES)("cannot rewrite a journal after %s", async (way) => {
    await server.unsafe(way).catch(() => undefined);
    for (const table of JOURNALS) {
      const [column] = await owner`
        select attname as name from pg_attribute where attrelid = ${table}::regclass and attnum = 1`;
      for (const statement of [
        `update ${table} set ${column?.name} = ${column?.name}`,
        `delete from ${table}`,
        `truncate ${table}`,
        `alter table ${table} disable trigger all`,
        `alter table ${table} add column more int`,
        `create trigger t before insert on ${table} for each row execute function suppress_redundant_updates_trigger()`,
        `drop table ${table}`,
      ])
        await expect(server.unsafe(statement), statement).rejects.toEqual(denied);
    }
    for (const statement of [
      "create role thief superuser",
      "create database loot",
      "drop database beta",
      "create table public.more (id int)",
      "create schema more",
      "create temporary table more (id int)",
      "alter system set fsync = off",
      "alter database acme set session_replication_role = replica",
      "set session_replication_role = replica",
      "copy head to program 'true'",
      `grant pmctl to "${LOGIN}"`,
      `alter role "${LOGIN}" createrole`,
    ])
      await expect(server.unsafe(statement), statement).rejects.toEqual(denied);
  });

  test.each(["beta", "postgres", "template1"])("cannot connect to the database %s", async (database) => {
    const sql = connect(cluster.connection(database, LOGIN), { name: "test", max: 1 });
    await expect(sql`select 1`).rejects.toEqual(denied);
    await sql.end({ timeout: 5 });
  });

  test("doctor says that it may do no more than it needs", async () => {
    expect(await login()).toMatchObject({ status: "ok", found: expect.stringContaining(LOGIN) });
  });

  test.each([
    [
      "a right on a journal",
      `grant delete on audit to "${LOGIN}"`,
      "may delete audit",
      `revoke delete on audit from "${LOGIN}"`,
    ],
    [
      "a right on a column",
      `grant update (actor) on audit to "${LOGIN}"`,
      "may update audit",
      `revoke update (actor) on audit from "${LOGIN}"`,
    ],
    [
      "a right of everyone",
      "grant truncate on trade to public",
      "may truncate trade",
      "revoke truncate on trade from public",
    ],
    [
      "a role that it inherits from",
      `create role keeper; grant delete on audit to keeper; grant keeper to "${LOGIN}" with inherit true, set false`,
      "may delete audit (as keeper)",
      "revoke delete on audit from keeper; drop role keeper",
    ],
    [
      "a role that it may set",
      `create role keeper createrole; grant keeper to "${LOGIN}" with inherit false, set true`,
      "may create roles (as keeper)",
      "drop role keeper",
    ],
    [
      "a role that it may give itself",
      `create role keeper createdb; grant keeper to "${LOGIN}" with inherit false, set false, admin true`,
      "may create databases (as keeper)",
      "drop role keeper",
    ],
    [
      "a role of a role",
      `create role keeper createdb; create role between; grant between to "${LOGIN}"; grant keeper to between with inherit false`,
      "may create databases (as keeper)",
      "drop role between, keeper",
    ],
    [
      "a right of its own",
      `alter role "${LOGIN}" createdb`,
      "may create databases",
      `alter role "${LOGIN}" nocreatedb`,
    ],
  ])("doctor fails for %s, and says what it found", async (_name, give, found, take) => {
    const judged = async () => evaluateLogin(await readLoginRights(server), false);
    await owner.unsafe(give);
    expect(await judged()).toMatchObject({ status: "fail", found: expect.stringContaining(found) });
    await owner.unsafe(take);
    expect(await judged()).toMatchObject({ status: "ok" });
  });

  test("an apply takes back what it does not need on the tenant's tables", async () => {
    await owner.unsafe(`grant all on all tables in schema public to "${LOGIN}"`);
    expect(await login()).toMatchObject({
      status: "fail",
      found: expect.stringContaining("may update, delete, truncate, put triggers on assessment"),
    });
    expect((await operator.run("apply", "acme", "--yes")).exitCode).toBe(0);
    expect(await login()).toMatchObject({ status: "ok" });
  });

  test("a tenant of an older pmctl is not served before an apply has granted its login what it needs", async () => {
    await operator.run("init", "gamma");
    await operator.edit("gamma", (text) => withServer(text));
    await cluster.createDatabase("gamma");
    const sql = connect(cluster.connection("gamma"), { name: "test", max: 1 });
    await migrate(sql, { grants: GRANTS });
    await sql.end({ timeout: 5 });
    const seen = await operator.run("audit", "status", "-t", "gamma");
    expect([seen.exitCode, seen.stderr]).toEqual([3, expect.stringContaining("run pmctl apply gamma")]);
    const { stdout } = await operator.run("doctor", "gamma", "-o", "json");
    expect((JSON.parse(stdout) as { checks: Finding[] }).checks).toContainEqual(
      expect.objectContaining({ check: "database", status: "fail", commands: ["pmctl apply gamma"] }),
    );
    const applied = await operator.run("apply", "gamma", "--yes");
    expect(applied.exitCode, applied.stderr).toBe(0);
    expect((await operator.run("audit", "status", "-t", "gamma")).exitCode).toBe(0);
  });

  test("a restored database is closed to others too, and serves its login", async () => {
    const file = join(operator.directory, "acme.backup.gz");
    expect((await operator.run("db", "backup", file, "-t", "acme")).exitCode).toBe(0);
    await Promise.all([owner.end({ timeout: 5 }), server.end({ timeout: 5 })]);
    const restored = await operator.run("db", "restore", file, "-t", "acme", "--yes");
    expect(restored.exitCode, restored.stderr).toBe(0);
    expect(await login()).toMatchObject({ status: "ok" });
    const sql = connect(cluster.connection("acme", serverLogin("beta")), { name: "test", max: 1 });
    await expect(sql`select 1`).rejects.toEqual(denied);
    await sql.end({ timeout: 5 });
    expect((await operator.run("reconcile", "-t", "acme")).exitCode).toBe(0);
  });
});
