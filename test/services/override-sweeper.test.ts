import { afterAll, beforeAll, expect, test } from "vitest";
import { comparedFields } from "../../src/console/views/configuration/compared.ts";
import { startSweeper, sweepOverrides } from "../../src/services/background/sweepers.ts";
import { ownTime } from "../support/own-time.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant({ policy: { maxTradeUsd: 500 } });
});
afterAll(() => tenant?.close());

const override = (maxTradeUsd: number, ttlMs: number) =>
  tenant.services.sequencer.submit({
    command: { type: "updatePolicy", patch: { maxTradeUsd }, ttlMs },
    actor: "admin:ops",
  });
const endings = async () =>
  (await tenant.api().listAudit({ type: "policy.updated" })).entries.filter(({ payload }) => payload.overridesEnded);

/** Asks until it is so; the test's own time limit ends it. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

test("an override that still holds is left alone", async () => {
  await override(5, 3_600_000);
  expect(await sweepOverrides(tenant.services)).toBe(0);
  expect(await tenant.api().getPolicy({})).toMatchObject({ maxTradeUsd: 5 });
});

test("two processes that sweep at once record an end exactly once, and name the system", async () => {
  await override(6, 1);
  await until(async () => (await tenant.api().getPolicy({})).maxTradeUsd === 500);
  const second = await tenant.anotherProcess();
  const ended = await Promise.all([sweepOverrides(tenant.services), sweepOverrides(second)]);
  await second.close();
  expect(ended.reduce((sum, each) => sum + each, 0)).toBe(1);
  // Neither an override nor its end changes what the files state, so both explain no difference from them.
  const config = JSON.parse(JSON.stringify(await tenant.api().getConfig({})));
  expect(config.changes.map(({ actor }: { actor: string }) => actor)).not.toContain("oracle");
  expect(comparedFields(config).find(({ field }) => field === "policy.maxTradeUsd")?.changed).toBeUndefined();
  expect(await endings()).toMatchObject([
    { actor: "oracle", payload: { changes: { maxTradeUsd: { from: 6, to: 500 } }, overridesEnded: ["maxTradeUsd"] } },
  ]);
});

test("the running sweeper records an end by itself, within the promised ten seconds", async () => {
  const errors: unknown[] = [];
  const elapsed = ownTime();
  const sweeper = startSweeper(
    () => sweepOverrides(tenant.services),
    (error) => errors.push(error),
  );
  await override(7, 1);
  await until(async () => (await tenant.api().getPolicy({})).maxTradeUsd === 500);
  await until(async () => (await endings()).length === 2);
  expect(elapsed()).toBeLessThan(10_000);
  await sweeper.stop();
  expect(errors).toEqual([]);
});
