import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startClosingSweeper, sweepClosings } from "../../src/services/closing-sweeper.ts";
import type { TenantServices } from "../../src/services/tenant.ts";
import { openScene, type Scene } from "./scene.ts";

/** Long enough for a busy machine to set the scene before it. */
const SOON_MS = 3000;

describe("the closing sweeper", () => {
  let scene: Scene;
  let a: TenantServices;
  let b: TenantServices;
  beforeAll(async () => {
    scene = await openScene({ processes: 2 });
    [a, b] = scene.services as [TenantServices, TenantServices];
  });
  afterAll(() => scene.close());

  async function closings(): Promise<{ actor: string; payload: unknown }[]> {
    const { entries } = await scene.api().listAudit({ type: "market.closed" });
    return entries.map(({ actor, payload }) => ({ actor, payload }));
  }

  test("two processes that sweep at once record every closing exactly once, and no other market's", async () => {
    const closeAt = new Date((await databaseNow(a)) + SOON_MS).toISOString();
    const closing = await Promise.all(
      ["yes", "no"].map(() => scene.market({ question: "Closes soon?", closeAt, liquidityUsd: 10 })),
    );
    const settled = await scene.market({ question: "Settled before?", closeAt, liquidityUsd: 10 });
    await scene.market({ question: "Open for long?", liquidityUsd: 10 });
    await scene.api().suspendMarket({ id: closing[1] ?? "" });
    await scene.api().settleMarket({ marketId: settled, outcome: "yes" });
    expect(await sweepClosings(a)).toBe(0);
    while ((await databaseNow(a)) < Date.parse(closeAt)) await delay(20);

    const recorded = await Promise.all([a, b, a, b].map((each) => sweepClosings(each)));
    expect(recorded.reduce((sum, count) => sum + count, 0)).toBe(2);
    expect(await closings()).toEqual(
      expect.arrayContaining(closing.map((marketId) => ({ actor: "oracle", payload: { marketId, closeAt } }))),
    );
    expect(await closings()).toHaveLength(2);
    expect(await sweepClosings(b)).toBe(0);

    await scene.api().settleMarket({ marketId: closing[0] ?? "", outcome: "no" });
    expect(await sweepClosings(a)).toBe(0);
    expect(await scene.api().getAuditStatus({})).toMatchObject({ verified: true });
    expect(await scene.api().reconcile({})).toMatchObject({ ok: true, discrepancy: 0 });
  });

  test("the running sweeper records a closing by itself, and stops", async () => {
    const before = (await closings()).length;
    const closeAt = new Date((await databaseNow(a)) + SOON_MS).toISOString();
    await scene.market({ question: "Swept?", closeAt, liquidityUsd: 10 });
    const errors: unknown[] = [];
    const sweeper = startClosingSweeper(b, (error) => errors.push(error));
    while ((await closings()).length === before) await delay(50);
    await sweeper.stop();
    expect(errors).toEqual([]);
  });
});

async function databaseNow({ sequencer }: TenantServices): Promise<number> {
  const answer = await sequencer.submit({
    command: { type: "recordReconciliation", ok: true, discrepancyMicro: 0n },
    actor: "cli:clock",
  });
  return answer.result?.checkedAt ?? 0;
}
