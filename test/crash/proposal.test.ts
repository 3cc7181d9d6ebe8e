import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServerProcess } from "../support/operator.ts";
import { type CrashScene, expectExact, fund, openCrashScene, startClients, TRADERS } from "./crash-scene.ts";

/** How long an approval is under way when its server is killed: before, within and after its commit. */
const KILLED_AFTER_MS = [0, 4, 12];

let scene: CrashScene;

beforeAll(async () => {
  scene = await openCrashScene();
  const rules = "resolution: { categories: { seen: { approvals: 2 }, held: { holdHours: 0.001 } } }";
  await scene.operator.edit("acme", (text) => `${text}${rules}\n`);
  expect(await scene.operator.run("apply", "acme", "--yes")).toMatchObject({ exitCode: 0 });
});
afterAll(() => scene?.operator.close());

/** A market in which every client has traded, and the proposal to settle it. */
async function proposedEnd(category: string, server: ServerProcess): Promise<{ marketId: string; id: string }> {
  const { operator } = scene;
  const { stdout } = await operator.run(
    ...["market", "create", "--question", "Proposed?", "--category", category, "--kind", "cpmm", "--p0", "0.5"],
    ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "--liquidity", "1000", "-o", "json"],
  );
  const { id: marketId } = JSON.parse(stdout) as { id: string };
  const clients = startClients({ ...scene, marketIds: [marketId, marketId] }, () => server);
  while (clients.answered() < 2 * TRADERS) await delay(5);
  await clients.stop();
  const settled = await operator.run(
    "market",
    "settle",
    marketId,
    "--outcome",
    "yes",
    ...["--reason", "Seen", "--early", "--yes", "--via", "db", "-o", "json"],
  );
  expect(settled.exitCode, settled.stderr).toBe(0);
  const { proposalId, status } = JSON.parse(settled.stdout) as { proposalId: string; status: string };
  expect(status, settled.stderr).toBe("pending");
  return { marketId, id: proposalId };
}

/** How often the log settles a market and executes its proposal. */
async function onRecord(marketId: string): Promise<{ settled: number; executed: number }> {
  const count = async (type: string) => {
    const { stdout } = await scene.operator.run("audit", "list", "--type", type, "-o", "ndjson", "--via", "db");
    return stdout.split("\n").filter((line) => line.includes(marketId)).length;
  };
  return { settled: await count("market.settled"), executed: await count("proposal.executed") };
}

test("kill -9 around the executing approval: the proposal is executed with its payment, or neither", async () => {
  const { operator, secrets } = scene;
  let server = await operator.serve("acme", "--no-sweep");
  await fund(scene, server.url);
  for (const ms of KILLED_AFTER_MS) {
    const { marketId, id } = await proposedEnd("seen", server);
    const approve = (): Promise<Response | undefined> =>
      fetch(`${server.url}/v1/proposals/${id}/approve`, {
        method: "POST",
        headers: { "x-api-key": secrets.ACME_ADMIN_KEY ?? "" },
      }).catch(() => undefined);
    const lost = approve();
    await delay(ms);
    await server.kill("SIGKILL");
    await lost;
    server = await operator.serve("acme", "--no-sweep");
    const { settled, executed } = await onRecord(marketId);
    expect(executed).toBe(settled);
    // Without an idempotency key, an approval that was counted is refused when it is repeated.
    const again = await approve();
    expect(again?.status, await again?.text()).toBe(executed === 1 ? 400 : 200);
    expect(await onRecord(marketId)).toEqual({ settled: 1, executed: 1 });
    await expectExact(scene, []);
  }
  await server.kill("SIGTERM");
});

test("a proposal that came due while no server ran is executed once, by one of two that start", async () => {
  const { operator } = scene;
  const server = await operator.serve("acme", "--no-sweep");
  await fund(scene, server.url);
  const { marketId } = await proposedEnd("held", server);
  await server.kill("SIGKILL");
  const servers = await Promise.all([operator.serve("acme", "--no-sweep"), operator.serve("acme", "--no-sweep")]);
  await expect
    .poll(async () => (await onRecord(marketId)).executed, { timeout: 60_000, interval: 500 })
    .toBeGreaterThan(0);
  for (const each of servers) await each.kill("SIGTERM");
  expect(await onRecord(marketId)).toEqual({ settled: 1, executed: 1 });
  await expectExact(scene, []);
});
