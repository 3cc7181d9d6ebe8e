import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";

/** Asks until the answer is as wanted; the test's own time limit ends it. */
async function eventually<T>(ask: () => Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    await delay(100);
  }
}

describe("a tenant from an empty directory", () => {
  let operator: Operator;
  beforeAll(async () => {
    operator = await newOperator({ cluster: "none" });
    await operator.run("init", "acme");
  });
  afterAll(() => operator?.close());

  test("validate needs no secrets; apply without one stops with 6 and names it, before any database exists", async () => {
    const env = join(operator.directory, ".env");
    const secrets = await readFile(env, "utf8");
    await writeFile(env, secrets.replace(/^ACME_AUDIT_KEY=.*\n/m, ""));
    expect((await operator.run("validate")).exitCode).toBe(0);
    const applied = await operator.run("apply", "acme");
    expect(applied).toMatchObject({ exitCode: 6, stdout: "" });
    expect(applied.stderr).toContain("ACME_AUDIT_KEY");
    await expect(stat(join(operator.directory, ".pmctl"))).rejects.toThrow();
    await writeFile(env, secrets);
  });

  test("serve before apply is refused with what to do, and leaves nothing applied", async () => {
    const served = await operator.run("serve", "acme", "--port", "0", "--ops-port", "0");
    expect(served.exitCode).toBe(3);
    expect(served.stderr).toContain("pmctl apply");
  });
});

describe("a running server and its embedded database", () => {
  let operator: Operator;
  let server: ServerProcess;
  beforeAll(async () => {
    operator = await newOperator();
    await operator.run("init", "acme");
    await operator.edit("acme", (text) => withRateLimit(text, 10_000));
    await operator.run("apply", "acme");
    server = await operator.serve("acme");
  });
  afterAll(() => operator?.close());

  const health = async () => {
    const startedAt = performance.now();
    const response = await fetch(`${server.url}/health`);
    const body = (await response.json()) as { ok: boolean; db: boolean };
    return { status: response.status, body, seconds: (performance.now() - startedAt) / 1000 };
  };

  test("a database stopped on purpose makes it unhealthy within 2 s; it is not started again, and comes back with it", async () => {
    expect((await health()).status).toBe(200);
    const asked = await operator.run("db", "stop");
    expect(asked).toMatchObject({
      exitCode: 6,
      stdout: "",
      stderr: expect.stringMatching(/connected to it, pmctl \(acme\), .*--yes/),
    });
    expect((await health()).status).toBe(200);
    expect(await operator.run("db", "stop", "--yes", "--quiet")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    const answers = [];
    for (let ask = 0; ask < 5; ask++) answers.push(await health());
    for (const away of answers)
      expect(away).toMatchObject({ status: 503, body: { ok: false, db: false, service: "pmctl" } });
    // The quickest of them: the others may have waited for their turn on a busy machine.
    expect(Math.min(...answers.map(({ seconds }) => seconds))).toBeLessThan(2);
    const secrets = await operator.secrets();
    const refused = await fetch(`${server.url}/v1/markets`, {
      headers: { "x-api-key": secrets.ACME_PUBLIC_KEY ?? "" },
    });
    expect(refused.status).toBe(500);
    expect(Object.keys((await refused.json()) as object)).toEqual(["error"]);
    const ready = async () => {
      const answer = await fetch(`${server.opsUrl}/readyz`);
      return { status: answer.status, body: (await answer.json()) as { database: unknown } };
    };
    expect((await ready()).status).toBe(503);
    // What is told of the database is a few seconds old.
    expect(await eventually(ready, ({ body }) => body.database === null)).toMatchObject({
      status: 503,
      body: { server: expect.any(String), writes: false, database: null },
    });
    expect((await fetch(`${server.opsUrl}/livez`)).status).toBe(200);
    // Longer than the server's look at a crashed database.
    await delay(2500);
    expect(JSON.parse((await operator.run("db", "status", "-o", "json")).stdout)).toMatchObject({ running: false });
    expect((await operator.run("db", "start")).exitCode).toBe(0);
    expect(await eventually(health, ({ status }) => status === 200)).toMatchObject({ status: 200, body: { ok: true } });
  });

  test("a database that crashed is started again by the server itself", async () => {
    const { dataDir } = JSON.parse((await operator.run("db", "status", "-o", "json")).stdout) as { dataDir: string };
    const pidOf = async () => (await readFile(join(dataDir, "postmaster.pid"), "utf8").catch(() => "")).split("\n")[0];
    const pid = await pidOf();
    // Signals to 0 go to this process and all of its group.
    expect(Number(pid)).toBeGreaterThan(1);
    process.kill(Number(pid), "SIGKILL");
    await eventually(pidOf, (now) => now !== "" && now !== pid);
    expect(await eventually(health, ({ status }) => status === 200)).toMatchObject({ status: 200 });
  });

  test("SIGTERM ends it with 0, and its socket goes with it", async () => {
    expect(await server.kill("SIGTERM")).toBe(0);
    const listed = await operator.run("market", "list", "-o", "json");
    expect(listed.exitCode, listed.stderr).toBe(0);
    expect(JSON.parse(listed.stdout)).toEqual([]);
  });
});

describe("the demo", () => {
  test.each(["demo", "demo --once"])("%s makes nothing when it cannot listen on the address", async (command) => {
    const operator = await newOperator({ cluster: "none" });
    try {
      const { exitCode, stdout, stderr } = await operator.run(...command.split(" "), "--host", "x y");
      expect([exitCode, stdout]).toEqual([6, ""]);
      // Without a network the system says EAI_AGAIN of every name.
      expect(stderr).toMatch(/^pmctl: Cannot listen on x y port 0: (ENOTFOUND|EAI_AGAIN)$/);
      expect(await readdir(operator.directory)).toEqual([]);
    } finally {
      await operator.close();
    }
  });

  test("--once runs a market of each kind to the end, twice over in one directory, and leaves no database running", async () => {
    const operator = await newOperator({ cluster: "none" });
    try {
      for (const [flags, warnings] of [
        [[], 0],
        [["--host", "0.0.0.0"], 1],
      ] as const) {
        const { exitCode, stdout, stderr } = await operator.run("demo", "--once", "-o", "json", ...flags);
        expect(exitCode, stderr).toBe(0);
        // The page of the demo hands its users' tokens to every visitor.
        expect(stderr.split("\n").filter((line) => /anyone .* tokens/i.test(line))).toHaveLength(warnings);
        const summary = JSON.parse(stdout);
        expect(summary).toMatchObject({
          trades: 8,
          reconciliation: { ok: true, discrepancy: 0 },
          audit: { verified: true },
        });
        expect(summary.markets.map(({ kind }: { kind: string }) => kind)).toEqual(["cpmm", "lmsr"]);
        expect(JSON.parse((await operator.run("db", "status", "-o", "json")).stdout)).toMatchObject({ running: false });
      }
    } finally {
      await rm(join(operator.directory, "tenants"), { recursive: true, force: true });
      await operator.close();
    }
  });
});
