import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { httpApi } from "../../src/client/http-api.ts";
import { localApi } from "../../src/client/local-api.ts";
import type { Api } from "../../src/contract/operations.ts";
import { Random } from "../ledger/sequencer/random.ts";
import { serveServices, userToken } from "../server/support/harness.ts";
import { ADMIN_KEY, openTestTenant, type TestTenant } from "../support/tenant.ts";

const SEED = Number(process.env.PMCTL_TEST_SEED ?? 11);
const micro = (usd: number) => Math.round(usd * 1e6);

type Position = Awaited<ReturnType<Api["listPositions"]>>[number];

let tenant: TestTenant;
let server: Awaited<ReturnType<typeof serveServices>>;
let remote: (userId: string) => Api;
beforeAll(async () => {
  tenant = await openTestTenant({ policy: { feeBps: 137 }, processes: 2 });
  server = await serveServices(tenant.services);
  remote = (userId) =>
    httpApi({ url: server.url, fetch, apiKey: ADMIN_KEY, userToken: () => userToken({ sub: userId }) });
  for (const user of ["ann", "bob"]) await tenant.deposit(user, 500_000);
});
afterAll(async () => {
  await server?.close();
  await tenant?.close();
});

/** What the quote of selling a position whole says that it pays, in micro-dollars; undefined where that is refused. */
async function quoted(api: Api, { marketId, side }: Pick<Position, "marketId" | "side">, shares: number) {
  try {
    const { amount, fee } = await api.quoteTrade({ marketId, selection: { side, action: "sell" }, shares });
    return micro(amount) - micro(fee);
  } catch (refusal) {
    expect(refusal).toMatchObject({ code: "PRICE_BOUND" });
    return undefined;
  }
}

describe("what a position is worth", () => {
  test("is the quote of selling it to the micro, for every position of both market makers, through both doors", async () => {
    const random = new Random(SEED);
    const kinds = ["cpmm", "lmsr", "cpmm", "lmsr", "cpmm", "lmsr"] as const;
    for (const kind of kinds) {
      const marketId = await tenant.market({
        kind,
        p0: random.int(50, 950) / 1000,
        liquidityUsd: random.int(50, 5000),
      });
      for (let round = 0; round < 6; round++) {
        const [user, side] = [random.pick(["ann", "bob"]), random.pick(["yes", "no"] as const)];
        const amount = random.int(1, 300_000_000) / 1e6;
        await tenant
          .api(user)
          .placeTrade({ marketId, selection: { side }, amount })
          .catch(() => undefined);
      }
    }
    for (const door of [tenant.api, remote])
      for (const user of ["ann", "bob"]) {
        const api = door(user);
        const { positions, sellValueUsd } = await api.getPortfolio({});
        const open = (await api.listPositions({})).map((each) => ({ ...each, status: "open" }));
        expect(positions).toEqual(open);
        expect(positions.length).toBeGreaterThan(5);
        expect(micro(sellValueUsd)).toBe(positions.reduce((sum, { sellValue }) => sum + micro(sellValue), 0));
        for (const position of positions) {
          expect(micro(position.sellValue)).toBe(await quoted(api, position, position.shares));
          const { sellPnl, currentPrice, unrealizedPnl, sellValue, shares } = position;
          // `unrealizedPnl` is by the price, as ever, and both stand over one cost.
          const cost =
            Math.floor(Number((BigInt(micro(shares)) * BigInt(micro(currentPrice))) / 1_000_000n)) -
            micro(unrealizedPnl);
          expect(micro(sellPnl)).toBe(micro(sellValue) - cost);
        }
      }
  });

  test("what the bounds of the price keep from being sold counts nothing, the rest as its own quote", async () => {
    const marketId = await tenant.market({ kind: "cpmm", liquidityUsd: 100 });
    const [ann, bob] = [tenant.api("ann"), tenant.api("bob")];
    await ann.placeTrade({ marketId, selection: { side: "yes" }, amount: 1500 });
    await bob.placeTrade({ marketId, selection: { side: "no" }, amount: 3000 });
    const position = (await ann.listPositions({})).find((each) => each.marketId === marketId) as Position;
    expect(await quoted(ann, position, position.shares)).toBeUndefined();
    let [sold, refused] = [0, micro(position.shares)];
    while (refused - sold > 1) {
      const middle = Math.floor((sold + refused) / 2);
      if ((await quoted(ann, position, middle / 1e6)) === undefined) refused = middle;
      else sold = middle;
    }
    expect(sold).toBeGreaterThan(0);
    expect(micro(position.sellValue)).toBe(await quoted(ann, position, sold / 1e6));
  });

  test("stays as it is while the market is suspended, and once it is closed", async () => {
    const marketId = await tenant.market({ kind: "lmsr" });
    const api = tenant.api("ann");
    await api.placeTrade({ marketId, selection: { side: "yes" }, amount: 80 });
    const worth = async () => (await tenant.api("ann").listPositions({})).find((each) => each.marketId === marketId);
    const open = await worth();
    await tenant.api().suspendMarket({ id: marketId });
    expect(await worth()).toEqual(open);
    await tenant.sql`update market set close_at = 1 where id = ${marketId}`;
    // The other process has nothing of it in memory yet.
    const { handlers } = tenant.processes[1] as (typeof tenant.processes)[number];
    const other = localApi(handlers, { actor: "admin:ops", user: { id: "ann" } });
    expect(await other.getMarket({ id: marketId })).toMatchObject({ status: "closed" });
    expect((await other.listPositions({})).find((each) => each.marketId === marketId)).toEqual(open);
  });

  test("follows the fee at once, also in what another process keeps in memory, and when an override ends by itself", async () => {
    const [mine, other] = tenant.processes.map(({ handlers }) =>
      localApi(handlers, { actor: "admin:ops", user: { id: "bob" }, policyTtlMs: 400 }),
    ) as [Api, Api];
    const worth = async (api: Api) => (await api.getPortfolio({})).sellValueUsd;
    const listed = async (api: Api) =>
      (await api.listPositions({})).reduce((sum, { sellValue }) => sum + micro(sellValue), 0);
    const [before, at137] = [await worth(other), await listed(other)];
    await mine.updatePolicy({ feeBps: 1000 });
    expect(await listed(other)).toBe(micro(await worth(mine)));
    expect(await listed(other)).toBeLessThan(at137 * 0.92);
    await vi.waitFor(async () => expect(await listed(other)).toBe(at137), { timeout: 60_000 });
    expect(await worth(mine)).toBe(before);
  });

  test("in the report of traders is the sum of the positions that are open, beside the result by the price", async () => {
    const { traders } = await tenant.api().getTradersReport({});
    for (const user of ["ann", "bob"]) {
      const positions = await tenant.api(user).listPositions({});
      const sum = (of: (position: Position) => number) => positions.reduce((total, each) => total + micro(of(each)), 0);
      const row = traders.find(({ userId }) => userId === user);
      expect(micro(row?.sellPnl ?? 0)).toBe(sum(({ sellPnl }) => sellPnl));
      expect(micro(row?.unrealizedPnl ?? 0)).toBe(sum(({ unrealizedPnl }) => unrealizedPnl));
      expect(row?.sellPnl).toBeLessThan(row?.unrealizedPnl ?? 0);
    }
  });
});
