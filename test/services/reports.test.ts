import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "../../src/contract/operations.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Side } from "../../src/domain/market/market.ts";
import type { PaymentFact } from "../../src/engine/payments.ts";
import { connect } from "../../src/postgres/connect.ts";
import { Random } from "../ledger/sequencer/random.ts";
import { applyTenant, openTestTenant, type TestTenant } from "../support/tenant.ts";
import { NaiveReports } from "./naive-reports.ts";
import { TimeMachine } from "./time-machine.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAYS = 70;
const TRADES = 600;
const MARKETS = 14;
const TRADERS = Array.from({ length: 12 }, (_, index) => `usr_${index}`);
const SIDES = ["yes", "no"] as const;
const SEED = Number(process.env.PMCTL_TEST_SEED ?? 7);

/** Seventy days of a tenant's life, through the real sequencer, and the list of what happened. */
async function live(scene: TestTenant, machine: TimeMachine, random: Random): Promise<NaiveReports> {
  const happened = new NaiveReports(0, 1);
  const { sequencer } = machine;
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  // Never near midnight, so that an event's day is known before it happens.
  const moments = Array.from({ length: TRADES + MARKETS * 2 }, () => {
    const hour = random.between(HOUR_MS, 22 * HOUR_MS);
    return today - random.int(1, DAYS) * DAY_MS + hour;
  }).toSorted((a, b) => a - b);
  const tag = (index: number) => ({
    symbol: random.pick(["BTCUSD", "XAUUSD"]),
    direction: random.pick(["long", "short"] as const),
    notional: random.int(1, 1e6),
    externalRef: `ref_${index}`,
  });
  let deposits = 0;
  const deposit = async (traderId: string) => {
    const provider = random.pick(["payments", "stripe"]);
    const amountMicro = BigInt(random.int(10_000, 900_000_000));
    deposits += 1;
    const { entry } = await sequencer.submit({
      command: { type: "recordDeposit", provider, traderId, amountMicro, reference: `tx_${deposits}` },
      actor: `provider:${provider}`,
    });
    happened.deposits.push({ provider, amountMicro, ts: Date.parse(entry?.ts ?? "") });
  };
  const withdraw = async (traderId: string, ts: number, approve: boolean) => {
    const amountMicro = BigInt(random.int(1, 9_999));
    const id = `wdr_${happened.withdrawals.length}`;
    const actor = "admin:ops";
    await sequencer.submit({ command: { type: "requestWithdrawal", id, traderId, amountMicro }, actor });
    if (approve) await sequencer.submit({ command: { type: "decideWithdrawal", id, traderId, approve }, actor });
    happened.withdrawals.push({ amountMicro, ts, approved: approve });
  };
  /** Through the other payment provider, and back in part. What the wallet lacks by then is owed, and later deposits pay it. */
  const payAndRefund = async (traderId: string, ts: number) => {
    const amountMicro = BigInt(random.int(10_000, 90_000_000));
    const refundedMicro = (amountMicro * BigInt(random.int(1, 120))) / 100n;
    const backMicro = refundedMicro < amountMicro ? refundedMicro : amountMicro;
    const reference = `pi_${happened.refunds.length}`;
    const about = { type: "recordPayment", provider: "stripe", reference } as const;
    const paid = { kind: "paid", traderId, amountMicro, received: true } as const;
    const refund = { kind: "refund", refunds: [{ id: `re_${reference}`, amountMicro: refundedMicro, failed: false }] };
    const actor = "provider:stripe";
    await sequencer.submit({ command: { ...about, ownerId: undefined, fact: paid }, actor });
    await sequencer.submit({ command: { ...about, ownerId: traderId, fact: refund as PaymentFact }, actor });
    happened.deposits.push({ provider: "stripe", amountMicro, ts });
    happened.refunds.push({ provider: "stripe", amountMicro: backMicro, ts });
  };
  const open = async () => {
    const index = happened.markets.length;
    const market = {
      id: `mkt_${String(index).padStart(2, "0")}`,
      question: `Question ${index}?`,
      category: random.pick(["crypto", "sports", "weather", "politics"]),
    };
    await sequencer.submit({
      command: {
        type: "createMarket",
        ...market,
        kind: random.pick(["cpmm", "lmsr"]),
        p0Ppm: random.int(50_000, 950_000),
        closeAt: 4_000_000_000_000 + index,
        resolutionRef: "manual",
        meta: "{}",
        liquidityMicro: BigInt(random.int(50_000_000, 2_000_000_000)),
      },
      actor: "admin:ops",
    });
    happened.markets.push(market);
  };
  const settle = async () => {
    const unsettled = happened.markets.filter(({ settled }) => !settled);
    const market = random.pick(unsettled);
    if (unsettled.length < 4) return;
    const outcome: Side = random.pick(SIDES);
    const { result } = await sequencer.submit({
      command: { type: "settleMarket", marketId: market.id, outcome },
      actor: "admin:ops",
    });
    if (result) Object.assign(market, { settled: { at: result.settledAt, outcome } });
  };
  const trade = async (index: number) => {
    const market = random.pick(happened.markets.filter(({ settled }) => !settled));
    const [traderId, side] = [random.pick(TRADERS), random.pick(SIDES)];
    const amountMicro = BigInt(Math.round(10 ** random.between(4, 8.3)));
    const terms = { id: `trd_${index}`, marketId: market.id, traderId, side, claimedJurisdiction: undefined };
    const held = happened.heldBy(traderId, market.id, side);
    const sold = random.chance(0.3) ? held : (held * BigInt(random.int(1, 99))) / 100n;
    const command =
      sold > 0n && random.chance(0.4)
        ? ({ type: "sellShares", ...terms, sharesMicro: sold } as const)
        : ({
            type: "placeTrade",
            ...terms,
            amountMicro,
            hedgeRef: random.chance(0.3) ? tag(index) : undefined,
          } as const);
    try {
      const { result } = await sequencer.submit({ command, actor: `user:${traderId}` });
      if (result) happened.trades.push({ ...result, traderId });
    } catch (refusal) {
      // Out of money or past the bounds: then nothing happened.
      if (!(refusal instanceof Fault)) throw refusal;
    }
  };

  machine.reach((moments[0] ?? 0) - HOUR_MS);
  await applyTenant(sequencer);
  for (let count = 0; count < 4; count++) await open();
  for (const [index, moment] of moments.entries()) {
    machine.reach(moment);
    if (index % 9 === 0) {
      const trader = random.pick(TRADERS);
      await deposit(trader);
      if (index % 36 === 0) await withdraw(trader, moment, random.chance(0.7));
      if (index % 27 === 0) await payAndRefund(trader, moment);
      const answers = { q1: random.int(0, 4) };
      if (index % 63 === 0)
        await sequencer.submit({
          command: { type: "submitSuitability", id: `asm_${index}`, traderId: trader, answers },
          actor: `user:${trader}`,
        });
    }
    if (index % 45 === 44) await settle();
    if (index % 50 === 49 && happened.markets.length < MARKETS) await open();
    await trade(index);
  }
  // The last of it happens now, through the services themselves.
  for (const trader of TRADERS.slice(0, 3)) {
    const ids = happened.markets.filter(({ settled }) => !settled).map(({ id }) => id);
    machine.reach(Date.now());
    await deposit(trader);
    const input = { marketId: random.pick(ids), selection: { side: random.pick(SIDES) }, amount: 1.234567 };
    const placed = await scene.api(trader).placeTrade(input);
    const micro = (value: number) => BigInt(Math.round(value * 1e6));
    happened.trades.push({
      ...input,
      action: "buy",
      realizedMicro: null,
      hedgeRef: null,
      side: input.selection.side,
      traderId: trader,
      amountMicro: micro(placed.amount),
      feeMicro: micro(placed.fee),
      sharesMicro: micro(placed.shares),
      yesPriceAfter: placed.yesPriceAfter,
      ts: Date.parse(placed.ts),
    });
  }
  return happened;
}

describe("the reports of a long run", () => {
  let scene: TestTenant;
  let machine: TimeMachine;
  let happened: NaiveReports;
  let api: Api;
  beforeAll(async () => {
    scene = await openTestTenant({ applied: false });
    machine = new TimeMachine(scene.database, (DAYS + 2) * DAY_MS);
    happened = await live(scene, machine, new Random(SEED));
    api = scene.api();
  });
  afterAll(async () => {
    await machine.close();
    await scene.close();
  });

  /** Asks until the answer and what it is compared with belong to one day. */
  async function sameDay<Answer>(periodDays: number, ask: () => Promise<Answer>): Promise<[Answer, NaiveReports]> {
    const before = Date.now();
    const answer = await ask();
    if (Math.floor(before / DAY_MS) !== Math.floor(Date.now() / DAY_MS)) return sameDay(periodDays, ask);
    return [answer, new NaiveReports(before, periodDays, happened)];
  }

  test("the run holds many trades, sales and settlements, and its ledger reconciles", async () => {
    expect(happened.trades.length).toBeGreaterThan(TRADES / 2);
    expect(happened.trades.filter(({ action }) => action === "sell").length).toBeGreaterThan(20);
    expect(happened.markets.filter(({ settled }) => settled).length).toBeGreaterThan(5);
    expect(await api.reconcile({})).toMatchObject({ ok: true, discrepancy: 0 });
  });

  describe.each([1, 7, 30, 69, 3650])("of %i days", (periodDays) => {
    test("overview is exact to the micro-dollar", async () => {
      const [report, naive] = await sameDay(periodDays, () => api.getOverviewReport({ periodDays }));
      expect(report).toEqual({ periodDays, ...naive.overview() });
    });

    test("house is exact to the micro-dollar, category by category", async () => {
      const [report, naive] = await sameDay(periodDays, () => api.getHouseReport({ periodDays }));
      expect(report).toEqual({ periodDays, ...naive.house() });
    });

    test("traders are exact to the micro-dollar, by volume", async () => {
      const [report, naive] = await sameDay(periodDays, () => api.getTradersReport({ periodDays }));
      const traders = report.traders.map(({ sellPnl: _, ...row }) => row);
      expect({ ...report, traders }).toEqual({ periodDays, ...naive.traders() });
    });

    test("funding is exact to the micro-dollar, provider by provider", async () => {
      const [report, naive] = await sameDay(periodDays, () => api.getFundingReport({ periodDays }));
      expect(report).toEqual({ periodDays, ...naive.funding() });
    });
  });

  test("risk is what the worse outcome would cost, market by market", async () => {
    const [report, naive] = await sameDay(1, () => api.listRisk({}));
    expect(report).toEqual(naive.risk());
    expect(report.some(({ maxLiability }) => maxLiability > 0)).toBe(true);
  });

  test("the hedge book is exact to the cent, symbol by symbol", async () => {
    const [report, naive] = await sameDay(1, () => api.getHedgeExposure({}));
    expect(report.hedgeBook).toEqual(naive.hedgeBook());
    expect(report.hedgeBook.map(({ openTrades }) => openTrades > 10)).toEqual([true, true]);
  });

  test("an hour that was quiet repeats the price: history has one point per hour, however few the trades", async () => {
    const { id, settled } = happened.markets.find((market) => market.settled) ?? { id: "", settled: undefined };
    const points = await api.getMarketHistory({ id });
    const trades = happened.trades.filter(({ marketId }) => marketId === id);
    const prices = points.slice(1).map(({ t, yes }) => ({ t: Date.parse(t), yes }));
    for (const { t, yes } of prices)
      expect(yes).toBe(trades.findLast(({ ts }) => ts < t)?.yesPriceAfter ?? points[0]?.yes);
    expect(prices.at(-1)?.t).toBe(settled?.at);
    for (const [index, { t }] of prices.slice(0, -2).entries()) expect((prices[index + 1]?.t ?? 0) - t).toBe(HOUR_MS);
  });

  test("a period is 1 to 3650 days, 30 unless given", async () => {
    expect(await api.getOverviewReport({})).toMatchObject({ periodDays: 30 });
    for (const periodDays of [0, 3651, 1.5])
      await expect(api.getOverviewReport({ periodDays })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });
});

describe("reports of a tenant in which nothing has happened", () => {
  test("are zero, not errors", async () => {
    const scene = await openTestTenant();
    const api = scene.api();
    const zero = { inflows: 0, outflows: 0, pendingWithdrawals: 0, owedUsd: 0, netMovement: 0, byProvider: [] };
    expect(await api.getOverviewReport({})).toEqual({
      periodDays: 30,
      totalVolume: 0,
      houseRevenue: 0,
      settledMarkets: 0,
      activeTraders: 0,
    });
    expect(await api.getHouseReport({})).toEqual({ periodDays: 30, totalFees: 0, spreadIncome: 0, byCategory: [] });
    expect(await api.getTradersReport({})).toEqual({
      periodDays: 30,
      traders: [],
      totals: { traders: 0, trades: 0, volume: 0, totalPnl: 0 },
    });
    // The house's capital has come from outside, but through no provider.
    expect(await api.getFundingReport({})).toEqual({ periodDays: 30, ...zero });
    expect(await api.listRisk({})).toEqual([]);
    const sql = connect(scene.database.connection, { name: "test", max: 1 });
    await sql`insert into account (id, balance_micro, version) values ('pending:ann', 1500000, 1), ('pending:bob', 1, 1)`;
    await sql.end({ timeout: 5 });
    expect(await api.getFundingReport({})).toMatchObject({ pendingWithdrawals: 1.500001, outflows: 0 });
    await scene.close();
  });

  test("a position that was sold out has no tags, whatever is bought later; a rest of it keeps them", async () => {
    const scene = await openTestTenant();
    const api = scene.api("ann");
    await scene.deposit("ann", 100);
    const marketId = await scene.market();
    const tag = (symbol: string) =>
      ({ symbol, direction: "long", notional: 500, externalRef: `of ${symbol}` }) as const;
    const buy = (amount: number, symbol?: string, side: Side = "yes") =>
      api.placeTrade({ marketId, selection: { side }, amount, ...(symbol && { hedgeRef: tag(symbol) }) });
    const sell = (shares: number) => api.placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares });
    const held = async () => (await api.listPositions({})).find(({ side }) => side === "yes")?.shares ?? 0;
    const book = async () =>
      (await api.getHedgeExposure({})).hedgeBook.map((row) => [row.symbol, row.openTrades, row.activeCostMinor]);
    await buy(10, "BTC");
    await buy(7, "ETH", "no");
    await sell((await held()) / 2);
    expect(await book()).toEqual([
      ["BTC", 1, 500],
      ["ETH", 1, 700],
    ]);
    await sell(await held());
    expect(await book()).toEqual([["ETH", 1, 700]]);
    await buy(20);
    expect(await book()).toEqual([["ETH", 1, 700]]);
    await buy(4, "SOL");
    await sell(1);
    expect((await book()).map(([symbol]) => symbol)).toEqual(["ETH", "SOL"]);
    await scene.close();
  });

  test("only open markets are at risk, and one without trades risks nothing", async () => {
    const scene = await openTestTenant();
    const [open, halted] = [await scene.market(), await scene.market()];
    await scene.api().suspendMarket({ id: halted });
    expect(await scene.api().listRisk({})).toEqual([
      { marketId: open, question: "Will it rain?", maxLiability: 0, yesPayout: 0, noPayout: 0 },
    ]);
    await scene.close();
  });
});
