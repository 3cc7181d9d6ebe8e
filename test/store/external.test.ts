import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newOperator, type Operator, postWebhook } from "../support/operator.ts";

/** Debian's PostgreSQL, of another major version than the embedded one. */
const DEBIAN = "/usr/lib/postgresql";
const version = existsSync(DEBIAN)
  ? readdirSync(DEBIAN).find((name) => existsSync(join(DEBIAN, name, "bin/initdb")))
  : undefined;
if (version === undefined) console.log("skipped: external PostgreSQL (no server below /usr/lib/postgresql)");

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
    operator = await newOperator();
    await operator.run("init", "acme");
    await operator.edit("acme", (text) =>
      `${text}\ndatabase: { url: { env: EXTERNAL_URL } }\nkyc: { required: false }\nrateLimit: { perMinute: 1000 }\n`.replace(
        '["US"]',
        "[]",
      ),
    );
    process.env.EXTERNAL_URL = `postgresql://admin@${encodeURIComponent(directory)}:5432/acme_markets`;
  });

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
    expect(JSON.parse(second.stdout)).toEqual([{ tenant: "acme", changed: false, migrations: [] }]);
    expect(existsSync(join(operator.directory, ".pmctl/postgres"))).toBe(false);
  });

  test("a market is traded over HTTP, settled, reconciled and verified", async () => {
    const server = await operator.serve("acme");
    const secrets = await operator.secrets();
    const created = await operator.run(
      ...["market", "create", "--question", "Outside?", "--category", "test", "--kind", "lmsr", "--p0", "0.4"],
      ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "-o", "json"],
    );
    const { id } = JSON.parse(created.stdout) as { id: string };
    const deposit = { event: "deposit.completed", userId: "usr_1", amountUsd: 100, txRef: "tx_1" };
    const paid = await postWebhook(server.url, "/payments/inbound/acme", secrets.ACME_WEBHOOK_SECRET ?? "", deposit);
    expect(paid.status).toBe(200);
    const trade = ["trade", "place", "--market", id, "--side", "yes", "--amount", "10", "--user", "usr_1"];
    expect((await operator.run(...trade)).exitCode).toBe(0);
    expect(await server.kill("SIGTERM")).toBe(0);
    const settled = await operator.run("market", "settle", id, "--outcome", "yes", "--yes", "-o", "json");
    expect(JSON.parse(settled.stdout)).toMatchObject({ status: "settled", payoutsProcessed: 1 });
    expect((await operator.run("reconcile")).exitCode).toBe(0);
    expect((await operator.run("audit", "verify")).exitCode).toBe(0);
  });
});

async function idOf(user: string): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (flag) => Number((await execa("id", [flag, user])).stdout)),
  );
  return { uid: uid ?? 0, gid: gid ?? 0 };
}
