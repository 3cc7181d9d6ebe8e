import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mismatchOf } from "../../src/contract/encode.ts";
import type { Api } from "../../src/contract/operations.ts";
import { streamEvents } from "../../src/contract/resources/stream.ts";
import { outgoingEventsOf } from "../../src/outgoing/events.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { readEntriesAfter } from "../../src/queries/stream.ts";
import { holdAnswersStrictly, onMismatch } from "../../src/services/answers.ts";
import { liveEventsOf } from "../../src/services/streams.ts";
import { doors, type TestDoor } from "../cli/support/doors.ts";
import { insertDearTrade } from "../support/dear-trade.ts";
import { anyMarket } from "../support/market.ts";

const USER = "usr_1";
const HOSTILE = `Will\u0007 it \u202eniar\u2028?${"q".repeat(1000)}`;

/** Every read of the contract that shows what is stored. */
function readsOf(
  user: Api,
  operator: Api,
  marketId: string,
  tradeId: string,
): [name: string, () => Promise<unknown>][] {
  return [
    ["listMarkets", () => operator.listMarkets({})],
    ["getMarket", () => operator.getMarket({ id: marketId })],
    ["listTrendingMarkets", () => operator.listTrendingMarkets({})],
    ["listRecentPrices", () => operator.listRecentPrices({ ids: marketId })],
    ["getMarketHistory", () => operator.getMarketHistory({ id: marketId })],
    ["getMarketDepth", () => operator.getMarketDepth({ id: marketId })],
    ["previewSettlement", () => operator.previewSettlement({ id: marketId, outcome: "yes" })],
    ["listPositions", () => user.listPositions({})],
    ["getPortfolio", () => user.getPortfolio({})],
    ["listOrders", () => user.listOrders({})],
    ["getOrder", () => user.getOrder({ id: tradeId })],
    ["getWallet", () => user.getWallet({})],
    ["listStatement", () => user.listStatement({})],
    ["getSuitability", () => user.getSuitability({})],
    ["getUser", () => operator.getUser({ id: USER })],
    ["listWithdrawals", () => operator.listWithdrawals({})],
    ["explainTrade", () => operator.explainTrade({ tradeId })],
    ["getHedgeExposure", () => operator.getHedgeExposure({})],
    ["listRisk", () => operator.listRisk({})],
    ["getOverviewReport", () => operator.getOverviewReport({})],
    ["getHouseReport", () => operator.getHouseReport({})],
    ["getTradersReport", () => operator.getTradersReport({})],
    ["getFundingReport", () => operator.getFundingReport({})],
    ["getOracleStatus", () => operator.getOracleStatus({})],
    ["listHeldMarkets", () => operator.listHeldMarkets({})],
    ["listAudit", () => operator.listAudit({})],
    ["getAuditStatus", () => operator.getAuditStatus({})],
    ["explainLedger", () => operator.explainLedger({})],
    ["getPolicy", () => operator.getPolicy({})],
    ["getConfig", () => operator.getConfig({})],
    ["listApplies", () => operator.listApplies({})],
    ["listKeys", () => operator.listKeys({})],
    ["listWebhookDeliveries", () => operator.listWebhookDeliveries({})],
    ["listWebhookReceivers", () => operator.listWebhookReceivers({})],
    ["getHealth", () => operator.getHealth({})],
  ];
}

describe.each(doors)("through the door %s", (_name, open) => {
  let door: TestDoor;
  let sql: Sql;
  let user: Api;
  let operator: Api;
  let marketId: string;
  const TRADE = "trd_dear";

  beforeAll(async () => {
    door = await open();
    sql = connect(door.database.connection, { name: "test", max: 1 });
    [user, operator] = [door.api(USER), door.api()];
    await door.deposit(USER, 900);
    ({ id: marketId } = await operator.createMarket(anyMarket({ p0: 0.99, liquidityUsd: 5000 })));
    await insertDearTrade(door.services, door.database.connection, {
      type: "placeTrade",
      id: TRADE,
      marketId,
      traderId: USER,
      side: "yes",
      amountMicro: 10_100_000n,
      feeMicro: 200_000n,
      hedgeRef: { symbol: "BTCUSD", direction: "long", notional: 100_000, externalRef: "pos-7" },
      claimedJurisdiction: undefined,
    });
  });
  afterAll(async () => {
    await sql?.end({ timeout: 5 });
    await door?.close();
  });

  /** As another process does that writes: what this one has answered before counts for nothing any more. */
  const forgetAnswers = () => sql`update head set epoch = epoch + 1`;

  test.each([
    ["trade", () => user.placeTrade({ marketId, selection: { side: "yes" }, amount: 10 })],
    ["order", () => user.placeOrder({ marketId, selection: { outcome: 1 }, amount: 10 })],
    ["quote", () => user.quoteTrade({ marketId, selection: { side: "yes" }, amount: 10 })],
    ["quote of nobody", () => operator.quoteTrade({ marketId, selection: { side: "yes" }, amount: 10 })],
  ])("a %s that costs more than it can pay is refused, and nothing is on record", async (_what, ask) => {
    const before = (await operator.getAuditStatus({})).count;
    await expect(ask()).rejects.toMatchObject({
      code: "COST_EXCEEDS_PAYOUT",
      status: 400,
      exitCode: 7,
      message: "With the fee this costs more than it can pay",
    });
    expect((await operator.getAuditStatus({})).count).toBe(before);
  });

  test("what an older version sold so dear is read everywhere, and the ledger and the chain hold", async () => {
    for (const [name, read] of readsOf(user, operator, marketId, TRADE))
      await expect(read(), name).resolves.toBeDefined();
    const [position] = await user.listPositions({});
    expect(position?.avgCost).toBeGreaterThan(1);
    expect((await user.getPortfolio({})).positions).toEqual([position]);
    const order = await user.getOrder({ id: TRADE });
    expect(order).toMatchObject({ amount: 10.1, fee: 0.2, hedgeRef: { symbol: "BTCUSD" } });
    expect(order.avgPrice).toBe(position?.avgCost);
    expect((await operator.explainTrade({ tradeId: TRADE })).avgPrice).toBe(order.avgPrice);
    const [event] = (await readEntriesAfter(sql, { after: 0n, limit: 500 }, door.services.isSealed))
      .flatMap((entry) => outgoingEventsOf(entry, "?"))
      .slice(-1);
    for (const { name, data } of (
      await readEntriesAfter(sql, { after: 0n, limit: 500 }, door.services.isSealed)
    ).flatMap(liveEventsOf))
      expect([name, mismatchOf(streamEvents[name], data)]).toEqual([name, undefined]);
    expect(event).toMatchObject({ type: "order.filled", data: { avgPrice: order.avgPrice } });
    expect(await operator.getAuditStatus({})).toMatchObject({ verified: false, problem: { kind: "ledger" } });
    // The rows hold together; the engine of today would not have made the trade.
    const checks = await reconcileLedger(sql, [door.services.auditKey]);
    expect(checks.filter(({ differenceMicro }) => differenceMicro !== 0n).map(({ name }) => name)).toEqual(["record"]);
  });

  test("a change on top of it is answered, and a sale of it is too", async () => {
    const sold = await user.placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares: 4 });
    expect(sold.position.avgCost).toBeGreaterThan(1);
    expect(sold.realizedPnl).toBeLessThan(0);
  });

  describe("rows that today's rules would not let in", () => {
    let restore: () => void;
    const mismatches: string[] = [];
    beforeAll(async () => {
      const before = holdAnswersStrictly(false);
      const stop = onMismatch(({ operation, problem }) => mismatches.push(`${operation} ${problem}`));
      restore = () => {
        holdAnswersStrictly(before);
        stop();
      };
      await sql`update market set question = ${HOSTILE}, category = ${"No slug! \u0007"}, resolution_ref = ${HOSTILE},
                       meta = ${JSON.stringify({ "k\u0007": "\u202e", deep: [HOSTILE.repeat(9)] })}`;
      await sql`update hedge set symbol = ${`x\u0007${"y".repeat(300)}`}, external_ref = ${HOSTILE}, notional_minor = 9007199254740993`;
      await sql`update trader set jurisdiction = 'nowhere at all', suitability_score = 20, suitability_at = 1`;
      await sql`update api_key set name = ${`a name\u0007 ${"n".repeat(1000)}`} where name <> 'ops'`;
      await sql`insert into api_key (hash, name, type, created_at, version, scopes, networks) values (${"f".repeat(64)}, ${HOSTILE}, 'public', 5, 1, '', '')`;
      await sql`insert into webhook_receiver (name, fingerprint, position) values (${HOSTILE}, 'x', 0)`;
      await sql`
        insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at, last_attempt_at, last_excerpt)
        values (${HOSTILE}, ${HOSTILE}, 1, 'order.filled', 'dead', 8, 5, 0, 5, ${HOSTILE})`;
      await sql`
        insert into withdrawal (id, trader_id, amount_micro, status, created_at, version)
        values ('wdr_huge', ${`u ${HOSTILE}`}, 9000000000000000000, 'pending', 5, 1)`;
      const [tenant] = await sql`select policy from tenant`;
      const policy = {
        ...JSON.parse(String(tenant?.policy)),
        maxUserExposureUsd: 0.0000001,
        resolution_url: "not a url?key=1",
        jurisdictions: { allowed: ["nowhere at all"], blocked: ["??"] },
        suitabilityThresholds: {
          blockBelow: -1,
          tiers: [
            { minScore: 5, capUsd: 0 },
            { minScore: 5, capUsd: null },
          ],
        },
        ofANewerVersion: true,
      };
      await sql`update tenant set policy = ${JSON.stringify(policy)}`;
      await forgetAnswers();
    });
    afterAll(() => restore?.());

    test("are read by every operation, and fit what it says it answers", async () => {
      for (const [name, read] of readsOf(user, operator, marketId, TRADE))
        await expect(read(), name).resolves.toBeDefined();
      expect(mismatches).toEqual([]);
      expect((await operator.getMarket({ id: marketId })).question).toBe(HOSTILE);
      expect((await user.getOrder({ id: TRADE })).hedgeRef?.externalRef).toBe(HOSTILE);
      expect((await operator.getPolicy({})).jurisdictions.blocked).toEqual(["??"]);
    });

    test("and beyond every schema too: they are answered, and the operation is named", async () => {
      await sql`update api_key set created_at = 9000000000000000 where name = ${HOSTILE}`;
      await sql`update position set cost_micro = 9000000000000000000`;
      await sql`update book set volume_micro = 9000000000000000000`;
      await sql`update market set created_at = 9000000000000000`;
      await sql`update trade set yes_price_ppm = 2000000, ts = 9000000000000000`;
      await sql`update webhook_delivery set attempts = -5`;
      await forgetAnswers();
      for (const [name, read] of readsOf(user, operator, marketId, TRADE)) {
        await expect(read(), name).resolves.toBeDefined();
      }
      const named = new Set(mismatches.map((line) => line.split(" ")[0]));
      for (const operation of ["getMarket", "getOrder", "explainTrade", "listKeys", "listWebhookDeliveries"])
        expect(named).toContain(operation);
      expect((await operator.getMarket({ id: marketId })).question).toBe(HOSTILE);
    });
  });
});
