import { chmod, readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { execa } from "execa";
import { exportJWK, generateKeyPair } from "jose";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Finding } from "../../src/app/checks/check.ts";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { makePair } from "../support/certificates.ts";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { withServer } from "../support/tenant-text.ts";

interface Diagnosis {
  ok: boolean;
  checks: (Finding & { tenant: string | null })[];
}

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator({ cluster: "none" });
  await operator.run("init", "acme");
  await operator.edit("acme", (text) => withServer(text, "port: 0, opsPort: 0, trustProxy: [127.0.0.1]"));
});
afterAll(() => operator.close());

async function doctor(...args: string[]) {
  const { stdout, stderr, exitCode } = await operator.run("doctor", ...args, "-o", "json");
  const diagnosis = JSON.parse(stdout) as Diagnosis;
  const statusOf = (check: string) => diagnosis.checks.find((each) => each.check === check)?.status;
  return { exitCode, stdout, stderr, statusOf, ...diagnosis };
}

/** Runs with other texts in files, and puts the old ones back. */
async function withFile<T>(path: string, change: (text: string) => string, work: () => Promise<T>): Promise<T> {
  const file = join(operator.directory, path);
  const before = await readFile(file, "utf8");
  await writeFile(file, change(before));
  try {
    return await work();
  } finally {
    await writeFile(file, before);
  }
}

test("before the first apply it says that there is no database and what makes one, and starts none", async () => {
  const { exitCode, checks } = await doctor();
  expect(exitCode).toBe(1);
  expect(checks.filter(({ status }) => status === "fail")).toMatchObject([
    { check: "database", remedy: "Create it", commands: ["pmctl apply acme"] },
  ]);
  const onScreen = await operator.run("doctor", "-o", "table");
  expect(onScreen.stdout).toMatch(/database .* has no database yet\. Create it:\n +pmctl apply acme\n/);
  expect((await embeddedCluster(operator.directory).status()).running).toBe(false);
});

test("a command of a directory that -C named is for that directory", async () => {
  const elsewhere = operator.directory;
  const { stdout } = await operator.run("doctor", "-C", elsewhere, "-o", "json");
  const { checks } = JSON.parse(stdout) as Diagnosis;
  expect(checks.find(({ check }) => check === "database")?.commands).toEqual([`pmctl -C ${elsewhere} apply acme`]);
});

test("--pre asks only for what must be there first, and needs no tenant", async () => {
  const { exitCode, checks } = await doctor("--pre");
  expect(exitCode).toBe(0);
  expect(checks.map(({ check }) => check)).toEqual(["node", "embedded PostgreSQL", "directory", "disk"]);
});

describe("of an applied tenant", () => {
  beforeAll(async () => {
    expect((await operator.run("apply", "acme")).exitCode).toBe(0);
  });
  beforeEach(() => chmod(join(operator.directory, ".env"), 0o600));

  test.each([
    [["localhost", "other.example"], "fail", "it is not for predict.acme.example, the host of baseUrl"],
    [["*.acme.example"], "ok", "for predict.acme.example"],
  ] as const)("a certificate for %s is judged by the host of baseUrl", async (names, status, found) => {
    const { cert, key } = await makePair({ names: [...names] });
    await writeFile(join(operator.directory, "tenants/acme/site.crt"), cert);
    await writeFile(join(operator.directory, "tenants/acme/site.key"), key, { mode: 0o600 });
    const withCertificate = (text: string) =>
      text
        .replace(/baseUrl: .*/, "baseUrl: https://predict.acme.example")
        .replace("server: {", "server: { tls: { cert: site.crt, key: { file: site.key } },");
    await withFile("tenants/acme/tenant.yaml", withCertificate, async () => {
      const { checks } = await doctor();
      expect(checks.filter(({ check }) => check === "tenant file").map(({ status, found }) => [status, found])).toEqual(
        [["ok", expect.any(String)]],
      );
      expect(checks.find(({ check }) => check === "certificate")).toMatchObject({
        status,
        found: expect.stringContaining(found),
      });
    });
  });

  test("finds everything in place, and no secret in what it says", async () => {
    const { exitCode, ok, stdout, stderr, checks } = await doctor();
    expect({ exitCode, ok }).toEqual({ exitCode: 0, ok: true });
    expect(checks.filter(({ status }) => status === "fail")).toEqual([]);
    for (const secret of Object.values(await operator.secrets())) expect(stdout + stderr).not.toContain(secret);
  });

  test("makes all checks although some fail, and ends with 1", async () => {
    await chmod(join(operator.directory, ".env"), 0o644);
    const { exitCode, ok, statusOf, stderr } = await withFile(
      ".env",
      (text) =>
        text.replace(/^ACME_WEBHOOK_SECRET=.*$/m, "ACME_WEBHOOK_SECRET=short").replace(/^ACME_ADMIN_KEY=.*\n/m, ""),
      () => doctor("acme"),
    );
    expect({ exitCode, ok }).toEqual({ exitCode: 1, ok: false });
    expect(statusOf(".env permissions")).toBe("fail");
    expect(statusOf("secret keys.admin[0].secret")).toBe("fail");
    expect(statusOf("secret webhooks.inbound.secrets[0]")).toBe("fail");
    expect(statusOf("database")).toBe("ok");
    expect(statusOf("treasury")).toBe("ok");
    expect(stderr).toMatch(/\d+ checks: 3 failed/);
  });

  test("says where an invalid file is wrong", async () => {
    const { exitCode, checks } = await withFile(
      "tenants/acme/tenant.yaml",
      (text) => text.replace("feeBps: 100", "feeBps: 20000"),
      () => doctor(),
    );
    expect(exitCode).toBe(1);
    expect(checks.find(({ check }) => check === "tenant file")).toMatchObject({
      status: "fail",
      found: expect.stringMatching(/tenant\.yaml:\d+:\d+ policy\.feeBps must be at most 1000/),
      commands: ["pmctl validate acme"],
    });
  });

  test("notices another audit key, and a changed entry", async () => {
    const changed = await withFile(
      ".env",
      (text) => text.replace(/^ACME_AUDIT_KEY=.*$/m, "ACME_AUDIT_KEY=some-other-key-0123456789abcdefghij"),
      () => doctor(),
    );
    expect(changed.statusOf("audit key")).toBe("fail");
    expect(changed.statusOf("audit chain")).toBeUndefined();
    const sql = postgres({ ...embeddedCluster(operator.directory).connection("acme"), max: 1 });
    const [entry] = await sql`select seq, actor from audit order by seq desc limit 1`;
    await sql`update audit set actor = 'cli:somebody' where seq = ${entry?.seq}`;
    const forged = await doctor();
    await sql`update audit set actor = ${entry?.actor} where seq = ${entry?.seq}`;
    await sql.end();
    expect({ exitCode: forged.exitCode, chain: forged.statusOf("audit chain") }).toEqual({
      exitCode: 8,
      chain: "fail",
    });
    expect((await doctor()).statusOf("audit chain")).toBe("ok");
  });

  test("with another log's audit key no server starts and nothing is put on record: 6, and both fingerprints", async () => {
    const history = async () => (await operator.run("audit", "list", "-t", "acme", "-o", "json")).stdout;
    const before = await history();
    await withFile(
      ".env",
      (text) => text.replace(/^ACME_AUDIT_KEY=.*$/m, "ACME_AUDIT_KEY=some-other-key-0123456789abcdefghij"),
      async () => {
        for (const command of [
          ["audit", "verify", "-t", "acme"],
          ["reconcile", "--full", "-t", "acme"],
          ["policy", "set", "feeBps=90", "-t", "acme", "--yes"],
          ["serve", "acme"],
        ])
          expect(await operator.run(...command), command.join(" ")).toMatchObject({
            exitCode: 6,
            stderr: expect.stringMatching(
              /key belongs to another log: .* key ak_\w{12}, .* given keys: ak_\w{12}\. Restore/,
            ),
          });
      },
    );
    expect(await history()).toBe(before);
  });

  test("what another hand wrote beside the log is a discrepancy: 8, and what mends it", async () => {
    const sql = postgres({ ...embeddedCluster(operator.directory).connection("acme"), max: 1 });
    await sql`insert into api_key values (${"9".repeat(64)}, 'thief', 'admin', 0, null, 1, '*', '')`;
    const { exitCode, statusOf, checks } = await doctor();
    await sql`delete from api_key where name = 'thief'`;
    await sql.end();
    expect([exitCode, statusOf("on record")]).toEqual([8, "fail"]);
    expect(checks.find(({ check }) => check === "on record")?.commands).toContain("pmctl key revoke thief -t acme");
  });

  test("notices markets that wait for their outcome, a schema that is behind, and a treasury that is empty", async () => {
    const sql = postgres({ ...embeddedCluster(operator.directory).connection("acme"), max: 1 });
    const { stdout } = await operator.run(
      ...["market", "create", "--question", "Q?", "--category", "c", "--kind", "lmsr", "--p0", "0.5"],
      ...["--close-at", "2035-01-01T00:00:00Z", "--resolution-ref", "by hand", "--fields", "id"],
    );
    const { id } = JSON.parse(stdout) as { id: string };
    await sql`update market set close_at = 1 where id = ${id}`;
    const { statusOf, checks } = await doctor();
    expect(statusOf("settlements")).toBe("warn");
    expect(checks.find(({ check }) => check === "settlements")?.commands).toContain(
      `pmctl market settle ${id} --outcome yes -t acme`,
    );
    await sql`update market set close_at = 2051222400000 where id = ${id}`;
    const short = await withFile(
      "tenants/acme/tenant.yaml",
      (text) => text.replace("files: [markets/*.yaml]", "files: [markets/*.yaml]\n  liquidityUsd: 5000000"),
      () => doctor(),
    );
    expect(short.statusOf("treasury")).toBe("fail");
    const [last] = await sql`delete from migration where version = (select max(version) from migration) returning *`;
    const behind = await doctor();
    await sql`insert into migration ${sql(last as never)}`;
    await sql.end();
    expect([behind.statusOf("schema"), behind.statusOf("treasury")]).toEqual(["fail", "skipped"]);
  });

  test("asks a running server for its health, and sees a port that another program has", async () => {
    const server: ServerProcess = await operator.serve("acme");
    const served = await doctor();
    await server.kill("SIGTERM");
    expect(["ports", "health", "readiness"].map(served.statusOf)).toEqual(["ok", "ok", "ok"]);

    const other = createServer((_, res) => res.end("{}")).listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    const { exitCode, statusOf } = await withFile(
      "tenants/acme/tenant.yaml",
      (text) => text.replace("port: 0, opsPort: 0", `port: ${port}, opsPort: 0`),
      () => doctor(),
    );
    other.close();
    expect({ exitCode, port: statusOf("server.port") }).toEqual({ exitCode: 1, port: "fail" });
  });

  test("fetches the key set as the server would, and refuses a private address that is not allowed", async () => {
    const { publicKey } = await generateKeyPair("ES256");
    const body = JSON.stringify({ keys: [await exportJWK(publicKey)] });
    const issuer = createServer((_, res) => res.end(body)).listen(0, "127.0.0.1");
    await new Promise((resolve) => issuer.once("listening", resolve));
    const { port } = issuer.address() as AddressInfo;
    const jwt = (url: string) => (text: string) =>
      text.replace(/jwt: \{.*\}.*/, `jwt: { algorithm: ES256, jwks: { url: "${url}" } }`);
    const allowed = await withFile(
      "tenants/acme/tenant.yaml",
      (text) => `${jwt(`http://127.0.0.1:${port}/keys`)(text)}network: { allowPrivate: [127.0.0.1] }\n`,
      () => doctor(),
    );
    const refused = await withFile(
      "tenants/acme/tenant.yaml",
      (text) => `${jwt(`https://localhost:${port}/keys`)(text)}network: { allowPorts: [${port}] }\n`,
      () => doctor(),
    );
    issuer.close();
    expect([allowed.statusOf("user tokens"), refused.statusOf("user tokens")]).toEqual(["ok", "fail"]);
  });

  test("sees that git would publish .env", async () => {
    await execa("git", ["init", "-q"], { cwd: operator.directory });
    expect((await doctor()).statusOf(".env and git")).toBe("ok");
    await rename(join(operator.directory, ".gitignore"), join(operator.directory, "not-ignored"));
    const { exitCode, statusOf } = await doctor();
    await rename(join(operator.directory, "not-ignored"), join(operator.directory, ".gitignore"));
    expect({ exitCode, git: statusOf(".env and git") }).toEqual({ exitCode: 1, git: "fail" });
  });

  test("a database that was stopped fails, stays stopped, and the checks that need it are skipped", async () => {
    await operator.run("db", "stop");
    const { exitCode, statusOf } = await doctor();
    expect({ exitCode, database: statusOf("database"), treasury: statusOf("treasury") }).toEqual({
      exitCode: 1,
      database: "fail",
      treasury: "skipped",
    });
    expect((await embeddedCluster(operator.directory).status()).running).toBe(false);
  });
});
