import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import type { Api } from "../../../src/contract/operations.ts";
import { Random } from "../../ledger/sequencer/random.ts";
import { openTestTenant, type TestTenant } from "../../support/tenant.ts";

const [SEED, STEPS] = [Number(process.env.SEED ?? 7), 400];
const USERS = ["ann", "bob", "cem"];

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant({ processes: 2 });
});
afterAll(() => tenant.close());

/** What a read shows of a state that only ever grows. */
type Shown = Record<string, number>;

test("two processes on one tenant: no read of either shows less than what was acknowledged anywhere before it was asked", async () => {
  const random = new Random(SEED);
  const markets = [
    await tenant.market({ closeAt: "2041-01-01T00:00:00Z" }),
    await tenant.market(),
    await tenant.market(),
  ];
  for (const user of USERS) await tenant.deposit(user, 50_000);
  const apis = tenant.processes.map(
    ({ handlers }) =>
      (user: string) =>
        localApi(handlers, { actor: "admin:ops", user: { id: user } }),
  );

  /** Acknowledged so far, by what a read shows of it: volumes, shares and what was spent. All of it only grows. */
  const acknowledged: Shown = {};
  const grow = (name: string, by: number) => {
    acknowledged[name] = Math.round(((acknowledged[name] ?? 0) + by) * 1e6) / 1e6;
  };
  const trade = async (api: Api, user: string) => {
    const marketId = random.pick(markets);
    const side = random.pick(["yes", "no"] as const);
    const amount = random.int(1, 9);
    const { shares } = await api.placeTrade({ marketId, selection: { side }, amount });
    grow(`volume ${marketId}`, amount);
    grow("volume", amount);
    grow(`shares ${user} ${marketId} ${side}`, shares);
    grow(`spent ${user}`, amount);
  };

  const reads: ((api: Api, user: string) => Promise<Shown>)[] = [
    async (api) => {
      const id = random.pick(markets);
      return { [`volume ${id}`]: (await api.getMarket({ id })).volume };
    },
    async (api) => {
      const { items } = await api.listMarkets({ limit: random.pick([2, 20]) });
      return Object.fromEntries(items.map(({ id, volume24h }) => [`volume ${id}`, volume24h]));
    },
    async (api) => {
      const rows = await api.listTrendingMarkets({});
      const volumes = rows.map(({ id, volume24h }) => [`volume ${id}`, volume24h] as const);
      return { ...Object.fromEntries(volumes), volume: volumes.reduce((sum, [, volume]) => sum + volume, 0) };
    },
    async (api, user) => {
      const rows = await api.listPositions({});
      return Object.fromEntries(
        rows.map(({ marketId, side, shares }) => [`shares ${user} ${marketId} ${side}`, shares]),
      );
    },
    async (api, user) => {
      const { balanceUsd, exposureUsd } = await api.getWallet({});
      // One statement: what a trade takes from the balance is in the exposure.
      expect(balanceUsd + exposureUsd).toBeCloseTo(50_000, 6);
      return { [`spent ${user}`]: exposureUsd };
    },
    // Prices go both ways, so these are held against the market as it stands right after: see below.
    async (api) => ({ points: (await api.getMarketHistory({ id: random.pick(markets) })).length }),
    async (api) => ({ levels: (await api.getMarketDepth({ id: random.pick(markets) })).yes.length }),
  ];

  const stale: unknown[] = [];
  const under = new Set<Promise<void>>();
  for (let step = 0; step < STEPS; step++) {
    const process = random.int(0, apis.length - 1);
    const user = random.pick(USERS);
    const api = apis[process]?.(user);
    const read = random.pick(reads);
    if (!api) continue;
    const work = random.chance(0.25)
      ? trade(api, user)
      : (async () => {
          const before = { ...acknowledged };
          const shown = await read(api, user);
          for (const [name, value] of Object.entries(shown))
            if (value < (before[name] ?? 0) - 1e-6) stale.push({ step, process, name, value, before: before[name] });
        })();
    under.add(work);
    void work.finally(() => under.delete(work));
    // Few at a time, now and then none: reads that meet an untouched memory matter as much as those amid commits.
    const atOnce = random.chance(0.1) ? 0 : random.int(0, 8);
    while (under.size > atOnce) await Promise.race(under);
  }
  await Promise.all(under);
  expect(stale).toEqual([]);

  // At rest both processes show the same, and what the database says: also prices, points and ladders.
  const fresh = await tenant.anotherProcess();
  const shownBy = (api: Api) =>
    Promise.all([
      ...markets.flatMap((id) => [
        api.getMarket({ id }),
        api.getMarketDepth({ id }),
        api.getMarketHistory({ id }).then((points) => points.map(({ yes }) => yes)),
      ]),
      api.listMarkets({}),
      api.listTrendingMarkets({}),
      api.listRecentPrices({ ids: markets.join() }),
      api.listPositions({}),
      api.getWallet({}),
    ]);
  for (const user of USERS) {
    const expected = await shownBy(localApi(fresh.handlers, { actor: "admin:ops", user: { id: user } }));
    for (const api of apis) expect(await shownBy(api(user))).toEqual(expected);
  }
  await fresh.close();
});

test("what another process did to a market is shown at once: halts, settlements, new markets, deposits", async () => {
  const [here, there] = tenant.processes.map(({ handlers }) =>
    localApi(handlers, { actor: "admin:ops", user: { id: "dee" } }),
  );
  if (!here || !there) throw new Error("There are two processes");
  const id = await tenant.market();
  await tenant.deposit("dee", 100);
  await there.placeTrade({ marketId: id, selection: { side: "yes" }, amount: 10 });
  const seen = async () => ({
    status: (await there.getMarket({ id })).status,
    listed: (await there.listMarkets({})).items.some((each) => each.id === id),
    trending: (await there.listTrendingMarkets({})).some((each) => each.id === id),
    offers: (await there.getMarketDepth({ id })).yes.length > 0,
    positions: (await there.listPositions({})).length,
    exposure: (await there.getWallet({})).exposureUsd,
  });
  const open = { status: "open", listed: true, trending: true, offers: true, positions: 1, exposure: 10 };
  for (let round = 0; round < 2; round++) {
    expect(await seen()).toEqual(open);
    await here.suspendMarket({ id });
    expect(await seen()).toEqual({ ...open, status: "suspended", listed: false, trending: false, offers: false });
    await here.resumeMarket({ id });
  }
  expect(await seen()).toEqual(open);
  await here.settleMarket({ marketId: id, outcome: "no" });
  const none = { listed: false, trending: false, offers: false, positions: 0, exposure: 0 };
  expect(await seen()).toEqual({ status: "settled", ...none });
});
