import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Fault } from "../../src/domain/fault.ts";
import { anyMarket } from "../support/market.ts";
import { doors, type TestDoor } from "./support/doors.ts";

const REASON = "The match was called off";

/** The sums of the contract's two worked examples, which each door pays to the micro-dollar. */
describe.each(doors)("how markets end over %s", (_name, open) => {
  let door: TestDoor;
  beforeAll(async () => {
    door = await open({ correctionHours: 24 });
  });
  afterAll(() => door?.close());

  let markets = 0;
  /** Opens a market of the examples, and users of its own for it. */
  async function opened(liquidityUsd: number) {
    const { id } = await door.api().createMarket(anyMarket({ question: "Will they win?", liquidityUsd }));
    const nth = ++markets;
    const named = (user: string) => `${user}${nth}`;
    for (const user of ["ann", "bob", "cyd", "dan"]) await door.deposit(named(user), 300);
    const buy = (user: string, side: "yes" | "no", amount: number) =>
      door.api(named(user)).placeTrade({ marketId: id, selection: { side }, amount });
    const sell = (user: string, side: "yes" | "no", shares: number) =>
      door.api(named(user)).placeTrade({ marketId: id, selection: { side, action: "sell" }, shares });
    const balance = async (user: string) => (await door.api().getUser({ id: named(user) })).balanceUsd;
    return { id, named, buy, sell, balance };
  }

  async function firstExample() {
    const market = await opened(100);
    const { buy, sell } = market;
    expect(await buy("ann", "yes", 100)).toMatchObject({ shares: 148.748743 });
    expect(await buy("bob", "yes", 300)).toMatchObject({ shares: 327.089966 });
    expect(await sell("ann", "yes", 148.748743)).toMatchObject({ amount: 140.760046 });
    expect(await sell("bob", "yes", 100)).toMatchObject({ amount: 90.392414 });
    expect(await buy("cyd", "no", 50)).toMatchObject({ shares: 199.744301 });
    return market;
  }

  async function secondExample() {
    const market = await opened(20);
    const { buy, sell } = market;
    const ann = await buy("ann", "yes", 20);
    await buy("bob", "yes", 100);
    expect(await sell("ann", "yes", ann.shares)).toMatchObject({ amount: 28.98897 });
    const cyd = await buy("cyd", "no", 40);
    await buy("dan", "no", 200);
    expect(await sell("cyd", "no", cyd.shares)).toMatchObject({ amount: 137.946606 });
    return market;
  }

  type Traded = Awaited<ReturnType<typeof opened>>;

  /** How much the wallets of a market's users change. */
  async function gains({ balance }: Traded, work: () => Promise<unknown>) {
    const users = ["ann", "bob", "cyd", "dan"];
    const before = await Promise.all(users.map(balance));
    await work();
    const after = await Promise.all(users.map(balance));
    const micro = users.map((_, index) => Math.round(((after[index] ?? 0) - (before[index] ?? 0)) * 1e6) / 1e6);
    return Object.fromEntries(users.map((user, index) => [user, micro[index]]).filter(([, gain]) => gain !== 0));
  }

  const reconciled = async () => expect(await door.api().reconcile({ full: "true" })).toMatchObject({ ok: true });

  const code = (work: Promise<unknown>) =>
    work.then(
      () => "accepted",
      (error: unknown) => {
        if (error instanceof Fault) return error.code;
        throw error;
      },
    );

  test("a void pays what open positions cost, as its preview says, and lines of statements name it", async () => {
    const market = await firstExample();
    const { id, named } = market;
    const sums = { fromFeesUsd: 2.582822, fromTreasuryUsd: 0, toTreasuryUsd: 58.648247 };
    expect(await door.api().previewSettlement({ id, outcome: "void" })).toMatchObject({
      ...{ outcome: "void", price: null, payouts: 2, escrowUsd: 314.34754, totalUsd: 258.282115, ...sums },
      ...{ houseResultUsd: -41.351753, largest: { userId: named("bob"), amountUsd: 208.282115 } },
    });
    const expected = { expectPayouts: 2, expectTotalUsd: 258.282115 };
    const answer = { id, status: "settled", outcome: "void", payoutsProcessed: 2, refundedUsd: 258.282115, ...sums };
    const gained = await gains(market, async () => {
      expect(await door.api().voidMarket({ id, reason: REASON, ...expected })).toMatchObject(answer);
    });
    expect(gained).toEqual({ bob: 208.282115, cyd: 50 });
    expect(await door.api().getMarket({ id })).toMatchObject({
      ...{ status: "settled", outcome: "void", reason: REASON, corrections: [] },
    });
    const { items } = await door.api(named("bob")).listStatement({ limit: 1 });
    expect(items).toMatchObject([{ type: "market.voided", amount: 208.282115, marketId: id }]);
    const { settlements } = await door.api(named("bob")).getPortfolio({});
    expect(settlements).toMatchObject([
      { marketId: id, outcome: "void", cost: 208.282115, payout: 208.282115, shares: 227.089966 },
    ]);
    const [entry] = (await door.api().listAudit({ limit: 1, type: "market.voided" })).entries;
    expect(entry).toMatchObject({
      actor: door.actor,
      payload: {
        ...{ marketId: id, reason: REASON, payoutsProcessed: 2, refunded: "258.282115", fromFees: "2.582822" },
        ...{ fromTreasury: "0", toTreasury: "58.648247" },
      },
    });
    await reconciled();
  });

  test("the account that is paid most is found with both of its sides", async () => {
    const { id, named, buy } = await opened(100);
    await buy("ann", "yes", 20);
    await buy("bob", "yes", 30);
    await buy("ann", "no", 20);
    expect(await door.api().previewSettlement({ id, outcome: "void" })).toMatchObject({
      largest: { userId: named("ann"), amountUsd: 40 },
    });
  });

  test("a fraction pays each side its part, rounded down for each position", async () => {
    const market = await firstExample();
    const { id } = market;
    const preview = await door.api().previewSettlement({ id, outcome: "yes=0.4" });
    expect(preview).toMatchObject({ outcome: { yes: 0.4 }, price: null, payouts: 2, toTreasuryUsd: 103.664974 });
    const gained = await gains(market, async () => {
      const expected = { expectPayouts: 2, expectTotalUsd: preview.totalUsd };
      expect(await door.api().settleMarket({ marketId: id, outcome: { yes: 0.4 }, ...expected })).toMatchObject({
        ...{ outcome: { yes: 0.4 }, payoutsProcessed: 2 },
      });
    });
    expect(gained).toEqual({ bob: 90.835986, cyd: 119.84658 });
    expect((await door.api().getMarket({ id })).outcome).toEqual({ yes: 0.4 });
    const [entry] = (await door.api().listAudit({ limit: 1, type: "market.settled" })).entries;
    expect(entry?.payload).toMatchObject({ outcome: { yes: "0.4" }, returned: "103.664974" });
    await reconciled();
  });

  test("a correction takes back what wallets hold, the rest is owed, and both decisions stay on record", async () => {
    const market = await firstExample();
    const { id, named, balance } = market;
    const { settledAt } = await door.api().settleMarket({ marketId: id, outcome: "yes" });
    // Leaves 100 in the wallet.
    const amount = Math.round(((await balance("bob")) - 100) * 1e6) / 1e6;
    await door.api(named("bob")).requestWithdrawal({ amount });
    const sums = {
      ...{ users: 2, takenBackUsd: 227.089966, receivablesUsd: 127.089966, paidUsd: 199.744301, feesUsd: 0 },
      ...{ fromTreasuryUsd: 0, toTreasuryUsd: 27.345665 },
    };
    expect(await door.api().previewCorrection({ id, outcome: "no" })).toMatchObject({
      ...{ marketId: id, from: "yes", to: "no", ...sums },
      until: new Date(Date.parse(settledAt) + 24 * 3_600_000).toISOString(),
    });
    const answer = { id, status: "settled", from: "yes", outcome: "no", ...sums };
    const gained = await gains(market, async () => {
      const corrected = await door.api().correctMarket({ id, outcome: "no", reason: "The final report" });
      expect(corrected).toMatchObject(answer);
    });
    expect(gained).toEqual({ bob: -100, cyd: 199.744301 });
    expect(await door.api().getUser({ id: named("bob") })).toMatchObject({ owedUsd: 127.089966 });
    const corrections = [{ from: "yes", to: "no", at: expect.any(String), reason: "The final report" }];
    expect(await door.api().getMarket({ id })).toMatchObject({ outcome: "no", settledAt, corrections });
    const { items } = await door.api(named("bob")).listStatement({ limit: 2 });
    expect(items.map(({ type, amount: moved, owed = 0 }) => [type, moved, owed])).toEqual([
      ["market.corrected", 0, 127.089966],
      ["market.corrected", -100, 0],
    ]);
    const told = { marketId: id, from: "yes", outcome: "no", reason: "The final report" };
    expect(items).toMatchObject([told, told]);
    const { settlements } = await door.api(named("cyd")).getPortfolio({});
    expect(settlements).toMatchObject([{ outcome: "no", payout: 199.744301, corrections }]);
    await reconciled();
    // A later payment repays first.
    await door.deposit(named("bob"), 200);
    expect(await balance("bob")).toBe(72.910034);
    // And back again, into a void: both have what they had paid.
    const voided = await door.api().previewCorrection({ id, outcome: "void" });
    expect(voided).toMatchObject({ takenBackUsd: 149.744301, paidUsd: 208.282115, feesUsd: -2.582822 });
    const { takenBackUsd, paidUsd, feesUsd, fromTreasuryUsd, toTreasuryUsd } = voided;
    expect(takenBackUsd + fromTreasuryUsd).toBeCloseTo(paidUsd + toTreasuryUsd + feesUsd, 6);
    await door.api().correctMarket({ id, outcome: "void", reason: "It was never played" });
    expect(await door.api().getMarket({ id })).toMatchObject({
      ...{ outcome: "void", reason: "It was never played", corrections: [...corrections, { from: "no", to: "void" }] },
    });
    await reconciled();
  });

  test("a void that needs the treasury is refused until a person states enough, and then takes it", async () => {
    const market = await secondExample();
    const { id } = market;
    expect(await door.api().previewSettlement({ id, outcome: "void" })).toMatchObject({
      ...{ escrowUsd: 209.464424, totalUsd: 300, fromFeesUsd: 3, fromTreasuryUsd: 87.535576, toTreasuryUsd: 0 },
      houseResultUsd: -107.535576,
    });
    const attempt = (maxTreasuryUsd?: number) => door.api().voidMarket({ id, reason: REASON, maxTreasuryUsd });
    const refusals = await gains(market, async () => {
      for (const most of [undefined, 0, 87.535575]) expect(await code(attempt(most))).toBe("EXPECTATION_NOT_MET");
    });
    expect(refusals).toEqual({});
    expect((await door.api().getMarket({ id })).status).toBe("open");
    const gained = await gains(market, () => attempt(87.535576));
    expect(gained).toEqual({ bob: 100, dan: 200 });
    await reconciled();
    const { refunds } = await door.api().getHouseReport({});
    expect(refunds).toMatchObject({ treasury: 87.535576 });
  });

  test("errors come in their order, and a refused end pays nothing", async () => {
    const api = door.api();
    const market = await firstExample();
    const { id } = market;
    const voided = (change: object) => code(api.voidMarket({ id, reason: REASON, ...change }));
    const corrected = (change: object) => code(api.correctMarket({ id, outcome: "no", reason: REASON, ...change }));
    const gained = await gains(market, async () => {
      expect(await voided({ reason: "" })).toBe("BAD_REQUEST");
      expect(await voided({ reason: "x".repeat(501) })).toBe("BAD_REQUEST");
      expect(await voided({ id: "mkt_none" })).toBe("MARKET_NOT_FOUND");
      expect(await voided({ expectPayouts: 3 })).toBe("EXPECTATION_NOT_MET");
      expect(await voided({ expectTotalUsd: 1 })).toBe("EXPECTATION_NOT_MET");
      expect(await code(api.previewCorrection({ id, outcome: "no" }))).toBe("MARKET_NOT_SETTLED");
      expect(await corrected({})).toBe("MARKET_NOT_SETTLED");
      expect(await corrected({ id: "mkt_none" })).toBe("MARKET_NOT_FOUND");
      for (const outcome of ["yes=0", "yes=1", "yes=0.1234567", "maybe", "0.4"])
        expect(await code(api.previewSettlement({ id, outcome }))).toBe("BAD_REQUEST");
      for (const yes of [0, 1, -0.1, 0.1234567])
        expect(await code(api.settleMarket({ marketId: id, outcome: { yes } }))).toBe("BAD_REQUEST");
      expect(await code(api.settleMarket({ marketId: id, outcome: "void" as "yes" }))).toBe("BAD_REQUEST");
    });
    expect(gained).toEqual({});
    await api.settleMarket({ marketId: id, outcome: "no" });
    expect(await voided({ expectPayouts: 3 })).toBe("MARKET_SETTLED");
    expect(await code(api.previewSettlement({ id, outcome: "void" }))).toBe("MARKET_SETTLED");
    expect(await corrected({})).toBe("OUTCOME_UNCHANGED");
    const { fromTreasuryUsd } = await api.previewCorrection({ id, outcome: "yes" });
    expect(fromTreasuryUsd).toBe(27.345665);
    expect(await corrected({ outcome: "yes", maxTreasuryUsd: 27.345664 })).toBe("EXPECTATION_NOT_MET");
    expect(await corrected({ outcome: "yes", maxTreasuryUsd: 27.345665 })).toBe("accepted");
    await door.sql`update book set settled_at = settled_at - 86400000 where market_id = ${id}`;
    const late = await open({ correctionHours: 0 });
    const { id: final } = await late.api().createMarket(anyMarket({}));
    await late.api().settleMarket({ marketId: final, outcome: "yes" });
    for (const outcome of ["yes", "no"] as const)
      expect(await code(late.api().correctMarket({ id: final, outcome, reason: REASON }))).toBe("CORRECTION_CLOSED");
    await late.close();
    await door.sql`update book set settled_at = settled_at + 86400000 where market_id = ${id}`;
  });

  test("a trade, a settlement and a second void of a voided market are refused", async () => {
    const { id, buy } = await firstExample();
    await door.api().suspendMarket({ id });
    await door.api().voidMarket({ id, reason: REASON });
    expect(await code(buy("dan", "yes", 5))).toBe("MARKET_SETTLED");
    expect(await code(door.api().settleMarket({ marketId: id, outcome: "yes" }))).toBe("MARKET_SETTLED");
    expect(await code(door.api().voidMarket({ id, reason: REASON }))).toBe("MARKET_SETTLED");
  });
});
