import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import type { Api } from "../../../src/contract/operations.ts";
import { Random } from "../../ledger/sequencer/random.ts";
import { openTestTenant, type TestTenant } from "../../support/tenant.ts";

const [SEED, STEPS] = [Number(process.env.SEED ?? 7), 400];
const USERS = ["ann", "bob", "cem"];

// That both show the same at rest, and at once what the other did to a market, is the model's (`test/model`).

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
});
