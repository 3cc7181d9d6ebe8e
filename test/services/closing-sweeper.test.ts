import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/postgres/connect.ts";
import { sweepClosings } from "../../src/services/background/sweepers.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { AUDIT_SECRET, openTestTenant, type TestTenant } from "../support/tenant.ts";

describe("the closing sweeper", () => {
  let scene: TestTenant;
  beforeAll(async () => {
    scene = await openTestTenant();
  });
  afterAll(() => scene.close());

  /**
   * Moves the closing time of markets into the past, as if the time had come. Resolves to it, and to two processes that
   * find it so.
   */
  async function passClosing(...ids: string[]): Promise<{ closeAt: string; processes: TenantServices[] }> {
    const sql = connect(scene.database.connection, { name: "test", max: 1 });
    const closeAt = Date.now() - 1000;
    await sql`update market set close_at = ${closeAt} where id in ${sql(ids)}`;
    await sql.end({ timeout: 5 });
    const options = { tenantId: "acme", connection: scene.database.server, auditSecret: AUDIT_SECRET, connections: 8 };
    const processes = await Promise.all([openTenant(options), openTenant(options)]);
    onTestFinished(async () => void (await Promise.all(processes.map((each) => each.close()))));
    return { closeAt: new Date(closeAt).toISOString(), processes };
  }

  async function closings(): Promise<{ actor: string; payload: unknown }[]> {
    const { entries } = await scene.api().listAudit({ type: "market.closed" });
    return entries.map(({ actor, payload }) => ({ actor, payload }));
  }

  test("two processes that sweep at once record every closing exactly once, and no other market's", async () => {
    const closing = await Promise.all(
      ["yes", "no"].map(() => scene.market({ question: "Closes soon?", liquidityUsd: 10 })),
    );
    const settled = await scene.market({ question: "Settled before?", liquidityUsd: 10 });
    await scene.market({ question: "Open for long?", liquidityUsd: 10 });
    await scene.api().suspendMarket({ id: closing[1] ?? "" });
    await scene.api().settleMarket({ marketId: settled, outcome: "yes" });
    expect(await sweepClosings(scene.processes[0] as TenantServices)).toBe(0);
    const { closeAt, processes } = await passClosing(...closing, settled);
    const [a, b] = processes as [TenantServices, TenantServices];

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
    // Nothing but the closing times that the test moved, which the record has otherwise.
    expect(await scene.faults()).toEqual(["markets", "record"]);
  });
});
