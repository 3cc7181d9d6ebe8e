import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { getRandomPort } from "get-port-please";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { failureOf } from "../../src/cli/errors.ts";
import { connect } from "../../src/postgres/connect.ts";
import { type Account, runAs, serverAccount } from "../../src/postgres/embedded/account.ts";
import { makePair } from "../support/certificates.ts";

const DEBIAN = "/usr/lib/postgresql";
const version = existsSync(DEBIAN)
  ? readdirSync(DEBIAN).find((name) => existsSync(join(DEBIAN, name, "bin/initdb")))
  : undefined;
if (version === undefined) console.log("skipped: TLS to a database (no server below /usr/lib/postgresql)");

const PASSWORD = "hidden-password";
/** The certificate is for this address, and for no name by which it is reached. */
const RIGHT = "127.0.0.1";
const WRONG = "localhost";

describe.skipIf(version === undefined)(`sslmode, with PostgreSQL ${version}`, () => {
  let directory: string;
  let account: Account;
  let port: number;

  const file = (name: string) => join(directory, name);
  const run = (program: string, ...args: string[]) =>
    execa(join(DEBIAN, version ?? "", "bin", program), args, {
      ...runAs(account),
      ...{ cwd: "/", stdin: "ignore", stdout: "ignore" },
    });

  beforeAll(async () => {
    directory = await mkdtemp("/tmp/pmctl-tls-");
    await chmod(directory, 0o755);
    account = await serverAccount(file("none"));
    port = await getRandomPort(RIGHT);
    const [own, other] = await Promise.all([makePair({ names: ["db.example"] }), makePair({ names: ["db.example"] })]);
    await mkdir(file("data"), { mode: 0o700 });
    await writeFile(file("server.pem"), own.cert);
    await writeFile(file("other.pem"), other.cert);
    await writeFile(file("server.key"), own.key, { mode: 0o600 });
    if (!account.isCaller)
      for (const name of ["", "data", "server.key"]) await chown(file(name), account.uid, account.gid);
    await run("initdb", "-D", file("data"), "-A", "trust", "-U", "admin", "--no-sync");
    await writeFile(
      file("data/postgresql.auto.conf"),
      [
        ...[
          `port = ${port}`,
          `listen_addresses = '${RIGHT}'`,
          `unix_socket_directories = '${directory}'`,
          "fsync = off",
        ],
        ...["ssl = on", `ssl_cert_file = '${file("server.pem")}'`, `ssl_key_file = '${file("server.key")}'`],
      ].join("\n"),
    );
    const rules = [
      "local all all trust",
      `host all admin ${RIGHT}/32 trust`,
      `hostssl all encrypted ${RIGHT}/32 trust`,
    ];
    await writeFile(file("data/pg_hba.conf"), `${rules.join("\n")}\n`);
    await run("pg_ctl", "-D", file("data"), "-l", file("log"), "-w", "start");
    await run(
      "psql",
      "-h",
      directory,
      "-p",
      String(port),
      "-U",
      "admin",
      "-c",
      "create role encrypted login",
      "postgres",
    );
  });

  afterAll(async () => {
    await run("pg_ctl", "-D", file("data"), "-m", "immediate", "stop");
    await rm(directory, { recursive: true, force: true });
  });

  /** Whether the session is encrypted, or how a command ends. */
  async function answer(parameters: string, host: string, login = "admin") {
    const query = parameters.replace(
      /sslrootcert=(\w+\.pem)/,
      (_, name) => `sslrootcert=${encodeURIComponent(file(name))}`,
    );
    const url = `postgres://${login}:${PASSWORD}@${host}:${port}/postgres?${query}`;
    const sql = connect({ url }, { name: "test", max: 1 });
    try {
      const [row] = await sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
      return row?.ssl === true ? "encrypted" : "plain";
    } catch (error) {
      const { exit, code, ...said } = failureOf(error);
      const text = `${JSON.stringify(said)} ${error instanceof Error ? error.message : ""}`;
      expect(text).not.toContain(PASSWORD);
      expect([exit, code]).toEqual([9, "DATABASE_UNAVAILABLE"]);
      return text;
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  const NOT_TRUSTED = /self.signed certificate/i;
  const NOT_ITS_NAME = /localhost/;
  const NO_TLS = /does not encrypt connections/;

  describe("of a server that encrypts", () => {
    test.each<[string, string, string | RegExp]>([
      ["sslmode=disable", RIGHT, "plain"],
      ["sslmode=allow", RIGHT, "plain"],
      ["", RIGHT, "encrypted"],
      ["sslmode=prefer", WRONG, "encrypted"],
      ["sslmode=require", WRONG, "encrypted"],
      ["sslmode=require&sslrootcert=server.pem", WRONG, "encrypted"],
      ["sslmode=require&sslrootcert=other.pem", RIGHT, NOT_TRUSTED],
      ["sslmode=verify-ca&sslrootcert=server.pem", WRONG, "encrypted"],
      ["sslmode=verify-ca&sslrootcert=other.pem", RIGHT, NOT_TRUSTED],
      ["sslmode=verify-ca", RIGHT, NOT_TRUSTED],
      ["sslmode=verify-full&sslrootcert=server.pem", RIGHT, "encrypted"],
      ["sslmode=verify-full&sslrootcert=server.pem", WRONG, NOT_ITS_NAME],
      ["sslmode=verify-full&sslrootcert=other.pem", RIGHT, NOT_TRUSTED],
      ["sslmode=verify-full&sslrootcert=system", RIGHT, NOT_TRUSTED],
      ["sslrootcert=system", RIGHT, NOT_TRUSTED],
    ])("%s at %s", async (parameters, host, expected) => {
      expect(await answer(parameters, host)).toMatch(expected);
    });

    test("allow encrypts where the login is let in no other way", async () => {
      expect(await answer("sslmode=allow", RIGHT, "encrypted")).toBe("encrypted");
    });
  });

  describe("of a server that does not", () => {
    beforeAll(async () => {
      const ask = ["-h", directory, "-p", String(port), "-U", "admin", "postgres"];
      await run("psql", ...ask, "-c", "alter system set ssl = off", "-c", "select pg_reload_conf()");
      await vi.waitFor(async () => expect(await answer("sslmode=prefer", RIGHT)).toBe("plain"), { timeout: 60_000 });
    });

    test.each<[string, string | RegExp]>([
      ["sslmode=disable", "plain"],
      ["sslmode=allow", "plain"],
      ["sslmode=prefer", "plain"],
      ["sslmode=require", NO_TLS],
      ["sslmode=verify-ca&sslrootcert=server.pem", NO_TLS],
      ["sslmode=verify-full&sslrootcert=server.pem", NO_TLS],
    ])("%s", async (parameters, expected) => {
      expect(await answer(parameters, RIGHT)).toMatch(expected);
    });
  });
});
