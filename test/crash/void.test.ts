import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServerProcess } from "../support/operator.ts";
import { type CrashScene, expectExact, fund, openCrashScene, startClients, TRADERS } from "./crash-scene.ts";

/** How long the void is under way when its server is killed: before, within and after its commit. */
const KILLED_AFTER_MS = [0, 4, 12];

let scene: CrashScene;

beforeAll(async () => {
  scene = await openCrashScene();
});
afterAll(() => scene?.operator.close());

test("kill -9 in the middle of a void pays every position back once, however often its caller asks again", async () => {
  const { operator, secrets } = scene;
  let server: ServerProcess = await operator.serve("acme", "--no-sweep");
  await fund(scene, server.url);
  for (const [round, ms] of KILLED_AFTER_MS.entries()) {
    const { stdout } = await operator.run(
      ...["market", "create", "--question", `Void ${round}?`, "--category", "test", "--kind", "cpmm", "--p0", "0.5"],
      ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "--liquidity", "1000", "-o", "json"],
    );
    const { id } = JSON.parse(stdout) as { id: string };
    const clients = startClients({ ...scene, marketIds: [id, id] }, () => server);
    while (clients.answered() < 2 * TRADERS) await delay(5);
    await clients.stop();
    const { stdout: preview } = await operator.run("market", "void", id, "--preview", "-o", "json");
    const { payouts, totalUsd, fromFeesUsd } = JSON.parse(preview);
    expect(payouts).toBeGreaterThanOrEqual(TRADERS);
    const ask = (): Promise<Response | undefined> =>
      fetch(`${server.url}/v1/markets/${id}/void`, {
        method: "POST",
        headers: {
          "x-api-key": secrets.ACME_ADMIN_KEY ?? "",
          "content-type": "application/json",
          "idempotency-key": `void ${round}`,
        },
        body: JSON.stringify({ reason: "The match was called off" }),
      }).catch(() => undefined);
    const lost = ask();
    await delay(ms);
    await server.kill("SIGKILL");
    await lost;
    server = await operator.serve("acme", "--no-sweep");
    const answers = [await ask(), await ask()];
    expect(answers.map((answer) => answer?.status)).toEqual([200, 200]);
    const [first, second] = await Promise.all(answers.map((answer) => answer?.json()));
    expect(first).toMatchObject({ id, payoutsProcessed: payouts, refundedUsd: totalUsd, fromFeesUsd });
    expect(second).toEqual(first);
    const voids = await operator.run("audit", "list", "--type", "market.voided", "-o", "ndjson");
    expect(voids.stdout.split("\n").filter((line) => line.includes(id))).toHaveLength(1);
    await expectExact(scene, clients.orders);
  }
  await server.kill("SIGTERM");
});
