import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Finding } from "../../src/app/checks/check.ts";
import { evaluateLogin } from "../../src/app/checks/login.ts";
import { environmentPrefix } from "../../src/config/environment.ts";
import { connect } from "../../src/postgres/connect.ts";
import { readLoginRights } from "../../src/queries/login.ts";
import { newOperator, type Operator, postWebhook } from "../support/operator.ts";
import { withRateLimit, withServer } from "../support/tenant-text.ts";

/** Debian's PostgreSQL, of another major version than the embedded one. */
const DEBIAN = "/usr/lib/postgresql";
const version = existsSync(DEBIAN)
  ? readdirSync(DEBIAN).find((name) => existsSync(join(DEBIAN, name, "bin/initdb")))
  : undefined;
if (version === undefined) console.log("skipped: external PostgreSQL (no server below /usr/lib/postgresql)");
const POOLER = "/usr/sbin/pgbouncer";
const hasPooler = version !== undefined && existsSync(POOLER);
if (version !== undefined && !hasPooler) console.log(`skipped: behind a pooler of transactions (no ${POOLER})`);

/** What PgBouncer does with the settings that a session asks for at its start: refuse them, or drop those of a list. */
const POOLERS: [string, string, { owner: string; server: string }][] = [
  ["refuses settings", "", { owner: "acme_owner", server: "acme_server" }],
  [
    "drops settings",
    "ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout, role, synchronous_commit, plan_cache_mode, jit, work_mem, enable_hashjoin",
    // One login for both.
    { owner: "admin", server: "admin" },
  ],
];

describe.skipIf(version === undefined)(`an external PostgreSQL ${version}`, () => {
  const bin = (name: string) => join(DEBIAN, version ?? "", "bin", name);
  let directory: string;
  let operator: Operator;
  let account: { uid: number; gid: number } | undefined;

  beforeAll(async () => {
    directory = await mkdtemp("/tmp/pmctl-external-");
    account = process.getuid?.() === 0 ? await idOf("postgres") : undefined;
    const data = join(directory, "data");
    await mkdir(data, { mode: 0o700 });
    await chmod(directory, 0o755);
    if (account) for (const path of [directory, data]) await chown(path, account.uid, account.gid);
    await postgres(bin("initdb"), ["-D", data, "-A", "trust", "-U", "admin", "--no-sync"]);
    await postgres(bin("pg_ctl"), [
      ...["-D", data, "-l", join(directory, "log"), "-w", "start"],
      ...["-o", `-c listen_addresses='' -c unix_socket_directories='${directory}'`],
    ]);
    operator = await newOperator({ cluster: "none" });
    await operator.run("init", "acme");
    await operator.edit("acme", (text) => withDatabase(text, "ACME_SERVER_URL", "ACME_OWNER_URL"));
    // As the handbook has it.
    await administer("create role acme_owner login createdb");
    await administer("create role acme_server login");
    process.env.ACME_OWNER_URL = urlOf("acme_owner", "acme_markets");
    process.env.ACME_SERVER_URL = urlOf("acme_server", "acme_markets");
  });

  const urlOf = (login: string, database: string, place = directory, port = 5432) =>
    `postgresql://${login}@${encodeURIComponent(place)}:${port}/${database}`;

  afterAll(async () => {
    await operator?.close();
    await postgres(bin("pg_ctl"), ["-D", join(directory, "data"), "-m", "fast", "stop"]);
    await rm(directory, { recursive: true, force: true });
  });

  function postgres(program: string, args: string[]) {
    return execa(program, args, { cwd: "/", stdin: "ignore", stdout: "ignore", stderr: "pipe", ...account });
  }

  test("apply creates the database, and a second apply changes nothing", async () => {
    const first = await operator.run("apply", "acme", "-o", "json");
    expect(first.exitCode, first.stderr).toBe(0);
    expect(JSON.parse(first.stdout)).toMatchObject([{ tenant: "acme", changed: true }]);
    const second = await operator.run("apply", "acme", "-o", "json");
    expect(JSON.parse(second.stdout)).toMatchObject([{ tenant: "acme", changed: false, changes: [], migrations: [] }]);
    expect(existsSync(join(operator.directory, ".pmctl/postgres"))).toBe(false);
  });

  test("db status shows the external server without a password, and no embedded one", async () => {
    const statusAt = async (url: string) => {
      const { exitCode, stdout } = await operator.runWith({ ACME_SERVER_URL: url }, "db", "status", "-o", "json");
      return { exitCode, ...JSON.parse(stdout) };
    };
    const url = urlOf("acme_server:hidden", "acme_markets");
    expect(await statusAt(url)).toMatchObject({
      exitCode: 0,
      external: true,
      reachable: true,
      dataDir: null,
      version: expect.stringMatching(/^15\./),
      url: expect.stringMatching(/^postgres:\/\/acme_server@/),
      standbys: [],
    });
    expect(await statusAt(urlOf("acme_server", "acme_markets", "/tmp/nowhere"))).toMatchObject({
      exitCode: 0,
      external: true,
      reachable: false,
      version: null,
      host: "/tmp/nowhere",
    });
    expect(existsSync(join(operator.directory, ".pmctl/postgres"))).toBe(false);
  });

  test("a market is traded over HTTP, settled, reconciled and verified", () => tradeAndSettle("acme"));

  const checkOf = async (tenant: string, name: string) => {
    const { stdout } = await operator.run("doctor", tenant, "-o", "json");
    return (JSON.parse(stdout) as { checks: Finding[] }).checks.find(({ check }) => check === name);
  };
  const loginOf = (tenant: string) => checkOf(tenant, "database login");

  describe("of a tenant that was set up as the handbook says", () => {
    const [OWNER, SERVER] = ["GLOBEX_OWNER_URL", "GLOBEX_SERVER_URL"];
    const stubUrls = () => {
      vi.stubEnv(OWNER, urlOf("acme_owner", "globex"));
      vi.stubEnv(SERVER, urlOf("acme_server", "globex"));
    };
    const tables = () => query("globex", "select count(*)::int as count from pg_class where relname = 'audit'");

    beforeAll(async () => {
      await administer("create database globex owner acme_owner");
      await administer("revoke connect on database globex from public");
      await operator.run("init", "globex");
      await operator.edit("globex", (text) => withDatabase(text, SERVER, OWNER));
    });
    beforeEach(stubUrls);
    afterEach(() => void vi.unstubAllEnvs());

    test("a plan before the first apply looks as the owner, and makes nothing", async () => {
      for (const command of [
        ["plan", "globex"],
        ["apply", "globex", "--dry-run"],
      ]) {
        const { exitCode, stdout, stderr } = await operator.run(...command, "-o", "json");
        expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining("rights")]);
        expect(JSON.parse(stdout)).toMatchObject([{ tenant: "globex", liveVersion: 0 }]);
      }
      expect(await tables()).toEqual([{ count: 0 }]);
    });

    test("a plan without the owner's login names the missing variable", async () => {
      vi.stubEnv(OWNER, undefined);
      const { exitCode, stderr } = await operator.run("plan", "globex");
      expect([exitCode, stderr]).toEqual([
        3,
        expect.stringMatching(/no rights .*database.ownerUrl.*GLOBEX_OWNER_URL/s),
      ]);
    });

    test("the server's login in the owner's place is refused by name and place, and doctor warns", async () => {
      const refused = async (place: string) => {
        for (const command of [
          ["apply", "globex", "--yes"],
          ["db", "migrate", "-t", "globex"],
        ]) {
          const { exitCode, stderr } = await operator.run(...command);
          expect([exitCode, stderr]).toEqual([6, expect.stringMatching(/tenant.yaml:\d+:\d+ /)]);
          expect(stderr).toContain(`names the login acme_server, which`);
          expect(stderr).toContain(place);
        }
      };
      vi.stubEnv(OWNER, urlOf("acme_server", "globex"));
      await refused("database.ownerUrl");
      stubUrls();
      expect((await operator.run("apply", "globex", "--yes")).exitCode).toBe(0);
      expect(await checkOf("globex", "database owner")).toMatchObject({ status: "ok" });
      vi.stubEnv(OWNER, urlOf("acme_server", "globex"));
      await refused("database.ownerUrl");
      expect(await checkOf("globex", "database owner")).toMatchObject({
        status: "warn",
        found: "database.ownerUrl names the login acme_server, which does not own the database globex: acme_owner does",
      });
      await operator.edit("globex", (text) => text.replace(`, ownerUrl: { env: ${OWNER} }`, ""));
      await refused("database.url");
      expect(await loginOf("globex")).toMatchObject({ status: "ok", found: expect.stringContaining("owns nothing") });
      expect(await checkOf("globex", "database owner")).toMatchObject({
        status: "warn",
        found: expect.stringContaining("names no login that can migrate it"),
        remedy: "Put the connection string of the owner into database.ownerUrl",
      });
      await operator.edit("globex", (text) => text.replace(`{ env: ${SERVER} }`, `$&, ownerUrl: { env: ${OWNER} }`));
    });

    test("what an apply refuses is decided before any right is granted", async () => {
      const mayRead = () => query("globex", "select has_table_privilege('acme_server', 'audit', 'select') as may");
      await administer("revoke select on audit from acme_server", "globex");
      await operator.edit("globex", (text) => text.replace(/maxTradeUsd: \d+/, "maxTradeUsd: 900000"));
      const { exitCode, stderr } = await operator.run("apply", "globex", "--yes");
      expect([exitCode, stderr]).toEqual([3, expect.stringContaining("nothing was written")]);
      expect(await mayRead()).toEqual([{ may: false }]);
      expect((await operator.run("apply", "globex", "--yes", "--accept-loosening")).exitCode).toBe(0);
      expect(await mayRead()).toEqual([{ may: true }]);
    });

    test("doctor says nothing of this machine's disk", async () => {
      expect(await checkOf("globex", "disk")).toMatchObject({ status: "skipped" });
    });
  });

  test("the server's machine need not know the owner's address, and others do not get in", async () => {
    vi.stubEnv("ACME_OWNER_URL", undefined);
    const server = await operator.serve("acme");
    expect(await loginOf("acme")).toMatchObject({ status: "ok", found: expect.stringContaining("acme_server") });
    const applied = await operator.run("apply", "acme", "--via", "db");
    expect([applied.exitCode, applied.stderr]).toEqual([6, expect.stringContaining("database.ownerUrl")]);
    await server.kill("SIGTERM");
    vi.unstubAllEnvs();
    await administer("create role stranger login");
    const sql = connect({ url: urlOf("stranger", "acme_markets") }, { name: "test", max: 1 });
    await expect(sql`select 1`).rejects.toMatchObject({ code: "42501" });
    await sql.end({ timeout: 5 });
  });

  test.each([
    [
      "grant acme_owner to acme_server",
      "may alter, update, delete, truncate, put triggers on assessment, audit",
      "revoke acme_owner from acme_server",
    ],
    [
      "grant pg_write_all_data to acme_server",
      "may update, delete assessment, audit",
      "revoke pg_write_all_data from acme_server",
    ],
    ["alter role acme_server superuser", "is a superuser", "alter role acme_server nosuperuser"],
    ["grant admin to acme_server", "is a superuser (as admin)", "revoke admin from acme_server"],
    [
      "alter role acme_server noinherit; grant acme_owner to acme_server",
      "(as acme_owner)",
      "revoke acme_owner from acme_server",
    ],
  ])("after %s doctor fails, and says what the login may do", async (give, found, take) => {
    const sql = connect({ url: urlOf("acme_server", "acme_markets") }, { name: "test", max: 1 });
    await administer(give);
    expect(evaluateLogin(await readLoginRights(sql), false)).toMatchObject({
      status: "fail",
      found: expect.stringContaining(found),
    });
    await administer(take);
    expect(evaluateLogin(await readLoginRights(sql), false)).toMatchObject({ status: "ok" });
    await sql.end({ timeout: 5 });
  });

  test("a login that does not exist is named before anything is changed", async () => {
    vi.stubEnv("ACME_SERVER_URL", urlOf("nobody_yet", "acme_markets"));
    const { exitCode, stderr } = await operator.run("apply", "acme", "--via", "db");
    vi.unstubAllEnvs();
    expect([exitCode, stderr]).toEqual([6, expect.stringContaining("nobody_yet")]);
  });

  test("a restored database serves the same login", async () => {
    const file = join(operator.directory, "acme.gz");
    expect((await operator.run("db", "backup", file, "-t", "acme")).exitCode).toBe(0);
    const restored = await operator.run("db", "restore", file, "-t", "acme", "--yes");
    expect(restored.exitCode, restored.stderr).toBe(0);
    expect((await operator.run("reconcile", "-t", "acme")).exitCode).toBe(0);
    expect(await loginOf("acme")).toMatchObject({ status: "ok" });
  });

  describe.skipIf(!hasPooler).each(POOLERS)(
    "behind PgBouncer in transaction mode, which %s",
    (name, setting, { owner, server }) => {
      const tenant = name.replace(" ", "-");
      const prefix = environmentPrefix(tenant);
      let stop: () => Promise<unknown>;

      beforeAll(async () => {
        const place = join(directory, tenant);
        await mkdir(place);
        if (account) await chown(place, account.uid, account.gid);
        const lines = [
          ...["[databases]", `* = host=${directory}`, "[pgbouncer]", "listen_addr =", `unix_socket_dir = ${place}`],
          ...["listen_port = 6432", "auth_type = trust", `auth_file = ${join(place, "users")}`],
          ...["pool_mode = transaction", "default_pool_size = 3", setting],
        ];
        await writeFile(join(place, "pgbouncer.ini"), lines.join("\n"));
        await writeFile(join(place, "users"), [owner, server].map((login) => `"${login}" ""\n`).join(""));
        await administer(`create database "${tenant}" owner ${owner}`);
        const options = { cwd: "/", stdio: "ignore", reject: false, ...account } as const;
        const pooler = execa(POOLER, ["-q", join(place, "pgbouncer.ini")], options);
        stop = () => {
          pooler.kill("SIGINT");
          return pooler;
        };
        await vi.waitFor(() => expect(existsSync(join(place, ".s.PGSQL.6432"))).toBe(true), { timeout: 60_000 });
        await operator.run("init", tenant);
        await operator.edit(tenant, (text) =>
          withDatabase(text, `${prefix}_DATABASE_URL`, owner === server ? undefined : `${prefix}_OWNER_URL`),
        );
        process.env[`${prefix}_DATABASE_URL`] = urlOf(server, tenant, place, 6432);
        process.env[`${prefix}_OWNER_URL`] = urlOf(owner, tenant, place, 6432);
      });

      afterAll(() => stop?.());

      test("a market is traded over HTTP, settled, reconciled and verified", async () => {
        const applied = await operator.run("apply", tenant, "-o", "json");
        expect(applied.exitCode, applied.stderr).toBe(0);
        await tradeAndSettle(tenant);
        const { stdout } = await operator.run("doctor", "-t", tenant, "-o", "json");
        expect(JSON.parse(stdout)).toMatchObject({ ok: true });
        expect(await loginOf(tenant)).toMatchObject({ status: owner === server ? "warn" : "ok" });
      });
    },
  );

  async function tradeAndSettle(tenant: string): Promise<void> {
    const server = await operator.serve(tenant);
    const secrets = await operator.secrets();
    const run = (...args: string[]) => operator.run(...args, "-t", tenant);
    const created = await run(
      ...["market", "create", "--question", "Outside?", "--category", "test", "--kind", "lmsr", "--p0", "0.4"],
      ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "-o", "json"],
    );
    const { id } = JSON.parse(created.stdout) as { id: string };
    const deposit = { event: "deposit.completed", userId: "usr_1", amountUsd: 100, txRef: "tx_1" };
    const secret = secrets[`${tenant.toUpperCase().replaceAll("-", "_")}_WEBHOOK_SECRET`] ?? "";
    const paid = await postWebhook(server.url, `/payments/inbound/${tenant}`, secret, deposit);
    expect(paid.status).toBe(200);
    const trade = ["trade", "place", "--market", id, "--side", "yes", "--amount", "10", "--user", "usr_1"];
    // Both doors at once: the database's sessions go from hand to hand.
    const trades = await Promise.all([run(...trade), run(...trade), run(...trade, "--via", "db")]);
    expect(trades.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect(await server.kill("SIGTERM")).toBe(0);
    const settled = await run(
      "market",
      "settle",
      id,
      "--outcome",
      "yes",
      "--reason",
      "test",
      "--early",
      "--yes",
      "-o",
      "json",
    );
    expect(JSON.parse(settled.stdout)).toMatchObject({ status: "settled", payoutsProcessed: 1 });
    expect((await run("reconcile")).exitCode).toBe(0);
    expect((await run("audit", "verify")).exitCode).toBe(0);
  }

  async function administer(statement: string, database = "postgres"): Promise<void> {
    await postgres(bin("psql"), ["-h", directory, "-U", "admin", "-d", database, "-c", statement]);
  }

  async function query(database: string, statement: string): Promise<unknown[]> {
    const sql = connect({ url: urlOf("admin", database) }, { name: "test", max: 1 });
    const rows = await sql.unsafe(statement);
    await sql.end({ timeout: 5 });
    return rows.map((row) => ({ ...row }));
  }
});

/** A tenant file of init's whose database is elsewhere, and whose limits are out of the way. */
function withDatabase(text: string, variable: string, ownerVariable?: string): string {
  const owner = ownerVariable === undefined ? "" : `, ownerUrl: { env: ${ownerVariable} }`;
  const rest = `database: { url: { env: ${variable} }${owner} }\nkyc: { required: false }\n`;
  return withServer(`${withRateLimit(text, 1000)}\n${rest}`).replace('["US"]', "[]");
}

async function idOf(user: string): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (flag) => Number((await execa("id", [flag, user])).stdout)),
  );
  return { uid: uid ?? 0, gid: gid ?? 0 };
}
