import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "../../src/contract/operations.ts";
import { Fault } from "../../src/domain/fault.ts";
import { DAY_MS, HOUR_MS } from "../../src/domain/time/units.ts";
import type { Command } from "../../src/engine/commands.ts";
import { deposit, market, sale, trade } from "../ledger/sequencer/live.ts";
import { Random } from "../ledger/sequencer/random.ts";
import { applyTenant, openTestTenant, type TestTenant } from "../support/tenant.ts";
import { TimeMachine } from "./time-machine.ts";

const DAYS = 70;
const EVENTS = 500;
const MARKETS = Array.from({ length: 12 }, (_, index) => `mkt_${index}`);
const TRADERS = Array.from({ length: 9 }, (_, index) => `usr_${index}`);
const SEED = Number(process.env.PMCTL_TEST_SEED ?? 7);
const DOLLAR = 1_000_000;
const usd = (micro: unknown) => Number(micro) / DOLLAR;

/** Seventy days of a tenant's life, through the real sequencer. */
async function live(machine: TimeMachine, random: Random): Promise<void> {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const moments = Array.from(
    { length: EVENTS },
    () => today - random.int(1, DAYS) * DAY_MS + random.between(HOUR_MS, 22 * HOUR_MS),
  ).toSorted((a, b) => a - b);
  /** What is refused has not happened: a user out of money, a market that is settled. */
  const submit = (command: Command) =>
    machine.sequencer.submit({ command, actor: "admin:ops" }).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error;
    });
  const some = (index: number): Command => {
    const [marketId, traderId, side] = [
      random.pick(MARKETS),
      random.pick(TRADERS),
      random.pick(["yes", "no"] as const),
    ];
    const dice = random.next();
    const amountMicro = BigInt(Math.round(10 ** random.between(4, 8)));
    if (dice < 0.15)
      return {
        ...deposit(traderId, amountMicro * 9n, `tx_${index}`),
        provider: random.pick(["payments", "stripe"]),
      } as Command;
    if (dice < 0.2) return { type: "requestWithdrawal", id: `wdr_${index}`, traderId, amountMicro: 1000n };
    if (dice < 0.22) return { type: "settleMarket", marketId, outcome: side };
    if (dice < 0.4) return sale(marketId, traderId, { side, sharesMicro: BigInt(random.int(1, 9_000_000)) });
    return trade(marketId, traderId, { side, amountMicro });
  };
  machine.reach((moments[0] ?? 0) - HOUR_MS);
  await applyTenant(machine.sequencer);
  for (const [index, id] of MARKETS.entries())
    await submit(
      market(id, { category: ["crypto", "sports", "weather"][index % 3] ?? "", kind: index % 2 ? "lmsr" : "cpmm" }),
    );
  for (const id of TRADERS) await submit(deposit(id, 900n * 1_000_000n, id));
  for (const [index, moment] of moments.entries()) {
    machine.reach(moment);
    const command = some(index);
    await submit(command);
    if (command.type === "requestWithdrawal" && random.chance(0.7))
      await submit({ type: "decideWithdrawal", id: command.id, traderId: command.traderId, approve: true });
  }
}

/**
 * What a period adds is added up from the entries and the trades, without rollups; what the figures of one period are made of is
 * the model's (`test/model`).
 */
describe("the reports of a long run", () => {
  let scene: TestTenant;
  let machine: TimeMachine;
  let api: Api;
  beforeAll(async () => {
    scene = await openTestTenant({ applied: false });
    machine = new TimeMachine(scene.database, (DAYS + 2) * DAY_MS);
    await live(machine, new Random(SEED));
    api = scene.api();
  });
  afterAll(async () => {
    await machine.close();
    await scene.close();
  });

  test("the run holds many trades, sales and settlements, and its ledger reconciles", async () => {
    const [row] = await scene.sql`
      select count(*)::int as trades, count(released_micro)::int as sales,
             (select count(*)::int from book where status = 'settled') as settled from trade`;
    expect(row?.trades).toBeGreaterThan(EVENTS / 3);
    expect(row?.sales).toBeGreaterThan(10);
    expect(row?.settled).toBeGreaterThan(4);
    expect(await api.reconcile({})).toMatchObject({ ok: true, discrepancy: 0 });
  });

  test.each([1, 7, 30, 69, 3650])("of %i days are those days', exact to the micro-dollar", async (periodDays) => {
    const { sql } = scene;
    const from = (Math.floor(Date.now() / DAY_MS) - periodDays + 1) * DAY_MS;
    const since = sql`a.ts >= ${new Date(from).toISOString()}`;
    const categories = await sql`
      select category, sum(volume) as volume, sum(fees) as fees, sum(spread) as spread, sum(settled)::int as settled
        from (select market_id, amount_micro as volume, fee_micro as fees, 0 as spread, 0 as settled from trade where ts >= ${from}
               union all
              select a.payload::json ->> 'marketId', 0, 0, (a.payload::json ->> 'houseResult')::numeric * 1000000, 1
                from audit a where a.type = 'market.settled' and ${since}) each
        join market m on m.id = market_id
       group by category order by category`;
    const sum = (...fields: string[]) =>
      usd(
        categories.reduce(
          (all, row) => all + fields.reduce((own, field) => own + BigInt(Math.round(Number(row[field]))), 0n),
          0n,
        ),
      );
    const traders = await sql`
      select trader_id as "userId", sum(amount_micro)::float8 / 1e6 as volume, count(*)::int as trades, count(distinct market_id)::int as markets
        from trade where ts >= ${from} group by trader_id order by sum(amount_micro) desc, trader_id collate "C"`;
    expect(await api.getOverviewReport({ periodDays })).toEqual({
      periodDays,
      totalVolume: sum("volume"),
      houseRevenue: sum("fees", "spread"),
      settledMarkets: categories.reduce((all, { settled }) => all + settled, 0),
      activeTraders: traders.length,
    });
    const house = await api.getHouseReport({ periodDays });
    expect(house).toMatchObject({ totalFees: sum("fees"), spreadIncome: sum("spread") });
    expect(house.byCategory.map(({ netMargin: _, ...row }) => row)).toEqual(
      categories.map(({ category, volume, fees, spread }) => ({
        category,
        volume: usd(volume),
        revenue: usd(Number(fees) + Number(spread)),
      })),
    );
    const report = await api.getTradersReport({ periodDays });
    expect(report.traders).toMatchObject([...traders]);
    expect(report.totals).toMatchObject({ traders: traders.length, volume: sum("volume") });
    const realized = await sql<{ userId: string; micro: string }[]>`
      select trader_id as "userId", sum(micro)::text as micro
        from (select trader_id, amount_micro - fee_micro - released_micro as micro from trade
               where released_micro is not null and ts >= ${from}
               union all
              select p.trader_id, case when p.side = a.payload::json ->> 'outcome' then p.shares_micro else 0 end - p.cost_micro
                from position p join audit a on a.type = 'market.settled' and a.payload::json ->> 'marketId' = p.market_id
               where ${since}) each
       group by trader_id`;
    for (const { userId, realizedPnl } of report.traders)
      expect([userId, realizedPnl]).toEqual([userId, usd(realized.find((each) => each.userId === userId)?.micro ?? 0)]);
    for (const trader of report.traders) {
      const { traders: own, totals } = await api.getTradersReport({ periodDays, userId: trader.userId });
      expect(own).toEqual([trader]);
      expect(totals).toMatchObject({ traders: 1, trades: trader.trades, volume: trader.volume });
    }
    const funding = await sql`
      select substr(account, 10) as provider, sum(inflow)::float8 / 1e6 as inflows, sum(outflow)::float8 / 1e6 as outflows
        from transfer t join audit a on a.seq = t.seq
       cross join lateral (values (t.debit, amount_micro, 0), (t.credit, 0, amount_micro)) leg (account, inflow, outflow)
       where account like 'external:%' and account <> 'external:capital' and ${since} group by 1 order by 1`;
    expect((await api.getFundingReport({ periodDays })).byProvider).toEqual([...funding]);
  });

  test("day by day the figures add up to the period and the one before, and the exposure is what trades left at each day's end", async () => {
    const { sql } = scene;
    const [half, whole] = [
      await api.getOverviewReport({ periodDays: 30 }),
      await api.getOverviewReport({ periodDays: 60 }),
    ];
    const { now, before, days } = await api.getDailyReport({ periodDays: 30 });
    expect(now).toMatchObject({
      ...{ volume: half.totalVolume, houseRevenue: half.houseRevenue, settledMarkets: half.settledMarkets },
      activeTraders: half.activeTraders,
    });
    const micro = (value: number) => Math.round(value * DOLLAR);
    expect(micro(before.volume)).toBe(micro(whole.totalVolume) - micro(half.totalVolume));
    expect(micro(before.houseRevenue)).toBe(micro(whole.houseRevenue) - micro(half.houseRevenue));
    expect(micro(now.fees) + micro(now.spreadIncome)).toBe(micro(now.houseRevenue));
    const sum = (of: (day: (typeof days)[number]) => number) => days.reduce((all, day) => all + micro(of(day)), 0);
    expect(sum(({ volume }) => volume)).toBe(micro(now.volume));
    expect(sum(({ houseRevenue }) => houseRevenue)).toBe(micro(now.houseRevenue));
    expect(days).toHaveLength(30);
    const from = Date.parse(days[0]?.day ?? "");
    const [active] = await sql`
      select count(distinct trader_id)::int as traders from trade where ts >= ${from - 30 * DAY_MS} and ts < ${from}`;
    expect(before.activeTraders).toBe(active?.traders);
    for (const { day, activeTraders, exposure } of days) {
      const [startMs, endMs] = [Date.parse(day), Date.parse(day) + DAY_MS];
      const [row] = await sql`
        select (select count(distinct trader_id)::int from trade where ts >= ${startMs} and ts < ${endMs}) as traders,
               coalesce(sum(greatest(greatest(yes, no) - stakes, 0)), 0)::float8 / 1e6 as exposure
          from (select sum(shares_micro) filter (where side = 'yes') as yes, sum(shares_micro) filter (where side = 'no') as no,
                       sum(case when shares_micro > 0 then amount_micro - fee_micro else -amount_micro end) as stakes
                  from trade join book using (market_id)
                 where ts < ${endMs} and (settled_at is null or settled_at >= ${endMs})
                 group by market_id) as held`;
      expect(activeTraders).toBe(row?.traders);
      expect(Math.abs(exposure - row?.exposure)).toBeLessThan(0.02);
    }
    const risks = await api.listRisk({ status: "unsettled" });
    expect(Math.abs(now.exposure - risks.reduce((all, { maxLiability }) => all + maxLiability, 0))).toBeLessThan(0.02);
  });

  test("an hour that was quiet repeats the price: history has one point per hour, however few the trades", async () => {
    const [settled] =
      await scene.sql`select market_id as id, settled_at::float8 as at from book where status = 'settled' limit 1`;
    const points = await api.getMarketHistory({ id: settled?.id });
    const trades = await scene.sql`
      select ts::float8 as ts, yes_price_ppm / 1e6::float8 as yes from trade where market_id = ${settled?.id} order by seq`;
    const prices = points.slice(1).map(({ t, yes }) => ({ t: Date.parse(t), yes }));
    for (const { t, yes } of prices) expect(yes).toBe(trades.findLast(({ ts }) => ts < t)?.yes ?? points[0]?.yes);
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
    const { now, before, days } = await api.getDailyReport({ periodDays: 2 });
    const none = {
      volume: 0,
      fees: 0,
      spreadIncome: 0,
      houseRevenue: 0,
      settledMarkets: 0,
      activeTraders: 0,
      exposure: 0,
    };
    expect([now, before, ...days.map(({ day: _, ...figures }) => figures)]).toEqual([none, none, none, none]);
    expect(await api.getHouseReport({})).toEqual({
      periodDays: 30,
      totalFees: 0,
      spreadIncome: 0,
      refunds: { markets: 0, positions: 0, paid: 0, fees: 0, treasury: 0 },
      byCategory: [],
    });
    expect(await api.getTradersReport({})).toEqual({
      periodDays: 30,
      traders: [],
      totals: { traders: 0, trades: 0, volume: 0, totalPnl: 0 },
    });
    // The house's capital has come from outside, but through no provider.
    expect(await api.getFundingReport({})).toEqual({ periodDays: 30, ...zero });
    expect(await api.listRisk({})).toEqual([]);
    await scene.sql`insert into account (id, balance_micro, version) values ('pending:ann', 1500000, 1), ('pending:bob', 1, 1)`;
    expect(await api.getFundingReport({})).toMatchObject({ pendingWithdrawals: 1.500001, outflows: 0 });
    await scene.close();
  });

  test("the report of risks sums all unsettled markets, by category, and lists those that can cost most", async () => {
    const scene = await openTestTenant();
    const made: string[] = [];
    for (const category of ["crypto", "sports", "crypto", "sports"]) made.push(await scene.market({ category }));
    const [small = "", large = "", settled = "", halted = ""] = made;
    await scene.deposit("ann", 500);
    for (const [id, amount] of [
      [small, 10],
      [large, 90],
      [settled, 50],
      [halted, 30],
    ] as const)
      await scene.api("ann").placeTrade({ marketId: id, selection: { side: "yes" }, amount });
    await scene.api().settleMarket({ marketId: settled, outcome: "no" });
    await scene.api().suspendMarket({ id: halted });
    const risks = await scene.api().listRisk({ status: "unsettled" });
    const of = (id: string) => risks.find(({ marketId }) => marketId === id);
    const sum = (...ids: string[]) =>
      Math.round(ids.reduce((all, id) => all + (of(id)?.maxLiability ?? 0) * 1e6, 0)) / 1e6;
    expect(await scene.api().getRiskReport({ limit: 2 })).toEqual({
      markets: 3,
      maxLiability: sum(small, large, halted),
      treasuryUsd: (await scene.api().getConfig({})).treasuryUsd,
      pricedMarkets: 0,
      byCategory: [
        { category: "sports", markets: 2, maxLiability: sum(large, halted) },
        { category: "crypto", markets: 1, maxLiability: sum(small) },
      ],
      items: [of(large), of(halted)],
    });
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
