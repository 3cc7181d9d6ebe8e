import { Agent } from "node:http";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ownTime } from "../support/own-time.ts";
import {
  closeAll,
  closingMarket,
  directoryWith,
  ended,
  heldSettlement,
  hostOf,
  inDatabase,
  isClosingRecorded,
  open,
  operator,
  proposalIn,
  secrets,
  sessionsOf,
} from "./support/shared-server.ts";

describe("many tenants in one process", () => {
  beforeAll(async () => {
    await directoryWith("acme", "zeta");
    await operator.run("init", "broken");
    await operator.edit("broken", (file) => file.replace("version: 1", "version: 2"));
  });
  afterAll(closeAll);

  test("each request belongs to the tenant of its host, and a tenant is closed when it is not asked for", async () => {
    const shared = await open("--idle-seconds", "1");
    const { answers, ask, ops, tenants, child, printed } = shared;
    expect(printed).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      opsUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      tenants: 3,
      pid: child.pid,
    });
    expect(await ops("/livez")).toEqual([200, { ok: true }]);
    expect(await ops("/readyz")).toMatchObject([200, { ok: true, draining: false }]);
    expect(await ops("/readyz?tenant=nobody")).toMatchObject([404, {}]);
    expect(await ops("/readyz?tenant=acme&tenant=zeta")).toEqual([400, { error: "A query parameter is given twice" }]);
    const problem = expect.stringMatching(/tenant\.yaml:\d+:\d+ {2}version/);
    expect(await tenants()).toMatchObject([
      { tenant: "acme", hosts: [hostOf("acme")], problem: null },
      { tenant: "broken", hosts: [], state: "failed", problem },
      { tenant: "zeta", hosts: [hostOf("zeta")], problem: null },
    ]);
    expect(await ops("/readyz?tenant=broken")).toMatchObject([503, { ok: false, state: "failed" }]);

    await answers(hostOf("acme"));
    for (const host of [hostOf("acme"), "PREDICT.acme.example.:8080"])
      expect(await ask(host)).toMatchObject({ status: 200, body: { ok: true } });
    const unknown = await ask("nobody.test", "/health", { headers: { "x-forwarded-host": hostOf("acme") } });
    expect(unknown).toEqual({
      status: 404,
      code: "UNKNOWN_HOST",
      body: { error: "No tenant is served under this host" },
    });
    expect(await ask("nobody.test", `http://${hostOf("acme")}/health`)).toMatchObject({ status: 200 });
    expect(await ops("/readyz?tenant=acme")).toMatchObject([200, { ok: true, tenant: "acme", writes: true }]);
    const [, metrics] = await ops("/metrics");
    expect(metrics).toContain('pmctl_http_requests_total{tenant="acme",route="/health",method="GET",status="200"} 4\n');
    expect(metrics).toContain('pmctl_tenants{state="failed"} 1\n');
    expect(String(metrics).match(/^# TYPE pmctl_http_requests_total /gm)).toHaveLength(1);

    // One connection may carry requests of several tenants, each with its own key.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const policyOf = (tenant: string, key: string) =>
      ask(hostOf(tenant), "/v1/policy", { agent, headers: { "x-api-key": secrets[key] ?? "" } });
    for (const [tenant, key, status] of [
      ["acme", "ACME_ADMIN_KEY", 200],
      ["zeta", "ZETA_ADMIN_KEY", 200],
      ["zeta", "ACME_ADMIN_KEY", 401],
      ["acme", "ACME_ADMIN_KEY", 200],
    ] as const)
      expect((await policyOf(tenant, key)).status).toBe(status);
    agent.destroy();

    // A command of this machine finds the server of a tenant that is idle, too.
    for (const tenant of ["acme", "zeta"])
      expect(await operator.run("-t", tenant, "--via", "http", "market", "list", "-o", "json")).toMatchObject({
        exitCode: 0,
      });

    await vi.waitFor(
      async () => expect((await tenants()).map(({ state }) => state)).toEqual(["idle", "failed", "idle"]),
      { timeout: 60_000, interval: 100 },
    );
    await vi.waitFor(async () => expect(await sessionsOf("acme")).toEqual([]), { timeout: 60_000, interval: 100 });
    // What a command changes past the server is noticed, and done in time.
    const proposed = await heldSettlement("zeta");
    const { id } = await closingMarket("acme");
    await vi.waitFor(async () => expect(await isClosingRecorded("acme", id)).toBe(true), {
      timeout: 60_000,
      interval: 500,
    });
    // No request woke zeta, which was idle: the server opened it for the proposal, and its sweep executed that.
    await vi.waitFor(
      async () => expect(await proposalIn("zeta", proposed)).toEqual({ status: "executed", decided_by: "oracle" }),
      { timeout: 60_000, interval: 500 },
    );
    expect(await ended(child)).toBe(0);
    expect(shared.said()).not.toContain("The listener failed");
  });

  test("a tenant whose file is mended or that had its first apply is served; one whose database hangs is failed, its neighbours answer", async () => {
    const { ask, answers, tenants, said, child } = await open();
    const late = () => ask(hostOf("broken"));
    expect(await late()).toMatchObject({ status: 404, code: "UNKNOWN_HOST" });
    await operator.edit("broken", (file) => file.replace("version: 2", "version: 1"));
    await vi.waitFor(() => expect(said()).toContain("broken is served again"), { timeout: 60_000 });
    expect(await late()).toMatchObject({ status: 500, code: "DATABASE_UNAVAILABLE" });
    expect(await operator.run("apply", "broken")).toMatchObject({ exitCode: 0 });
    await vi.waitFor(async () => expect(await late()).toMatchObject({ status: 200 }), { timeout: 60_000 });

    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await answers(hostOf("zeta"), agent);
    // Its database takes no more connections, and what it has hangs.
    await inDatabase("zeta", (sql) => sql`alter database acme connection limit 0`);
    try {
      const elapsed = ownTime();
      const [, neighbour] = await Promise.all([
        vi.waitFor(
          async () => expect(await ask(hostOf("acme"))).toMatchObject({ status: 500, code: "DATABASE_UNAVAILABLE" }),
          { timeout: 60_000 },
        ),
        ask(hostOf("zeta"), "/health", { agent }),
      ]);
      expect(elapsed()).toBeLessThan(10_000);
      expect(neighbour).toMatchObject({ status: 200 });
      expect((await tenants()).find(({ tenant }) => tenant === "acme")).toMatchObject({ state: "failed" });
    } finally {
      await inDatabase("zeta", (sql) => sql`alter database acme connection limit -1`);
      agent.destroy();
    }
    await answers(hostOf("acme"));
    expect(await ended(child)).toBe(0);
  });

  test("--https shows each name's own certificate", async () => {
    const { port, printed, child } = await open("--https");
    expect(printed.url).toMatch(/^https:/);
    const secure = (servername: string) =>
      new Promise<[string, string | undefined]>((resolve, reject) => {
        const socket = connectTls({ port, host: "127.0.0.1", servername, rejectUnauthorized: false }, () => {
          const names = socket.getPeerCertificate().subjectaltname ?? "";
          socket.setEncoding("latin1").once("data", (answer: string) => {
            resolve([names, answer.split("\r\n", 1)[0]]);
            socket.destroy();
          });
          socket.write(`GET /health HTTP/1.1\r\nhost: ${servername}\r\n\r\n`);
        });
        socket.once("error", reject);
      });
    // A tenant that is still being opened answers 503 on a busy machine.
    await expect
      .poll(() => secure(hostOf("acme")))
      .toEqual([expect.stringContaining(`DNS:${hostOf("acme")}`), "HTTP/1.1 200 OK"]);
    expect(await secure("nobody.test")).toEqual([expect.stringContaining("DNS:localhost"), "HTTP/1.1 404 Not Found"]);
    expect(await ended(child)).toBe(0);
  });
});
