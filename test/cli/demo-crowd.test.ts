import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CROWD, Crowd, opinionAt, orderTowards, wander } from "../../src/app/serve/demo-crowd.ts";
import { marketToShow, tradeOn } from "../../src/app/serve/demo-story.ts";
import { localApi } from "../../src/client/local-api.ts";
import { Random } from "../ledger/sequencer/random.ts";
import { TENANT } from "../server/support/harness.ts";
import { type ServedTenant, serveTenant } from "../server/support/tenant.ts";

/** The same numbers from 0 to 1 in every run. */
function seeded(seed: number): () => number {
  const random = new Random(seed);
  return () => random.next();
}

describe("an order of the demo's traders", () => {
  const random = seeded(5);

  test("buys a few whole dollars of the side that is thought too cheap", () => {
    const thinks = { began: 0, now: 1 };
    for (let n = 0; n < 500; n++) {
      const order = orderTowards(thinks, { yesPrice: 0.5, held: { yes: 9 } }, random);
      expect(order.selection).toEqual({ side: "yes" });
      const amount = "amount" in order ? order.amount : 0;
      expect(Number.isInteger(amount) && amount >= 5 && amount <= 40).toBe(true);
    }
  });

  test("sells what stands against the opinion first, never more than is held", () => {
    const thinks = { began: 0, now: -1 };
    for (let held = 1; held < 200; held += 0.7) {
      const order = orderTowards(thinks, { yesPrice: 0.5, held: { yes: held } }, random);
      expect(order.selection).toEqual({ side: "yes", action: "sell" });
      const sold = "shares" in order ? order.shares : 0;
      expect(sold >= 1 && sold <= Math.min(held, 60)).toBe(true);
    }
    expect(orderTowards(thinks, { yesPrice: 0.5, held: { yes: 0.9 } }, random).selection).toEqual({ side: "no" });
  });

  test("follows an opinion that wanders, and never far from where it began", () => {
    let opinion = opinionAt(0.42);
    const seen = Array.from({ length: 20_000 }, () => {
      opinion = wander(opinion, random);
      return 1 / (1 + Math.exp(-opinion.now));
    });
    expect(Math.min(...seen)).toBeGreaterThan(0.12);
    expect(Math.max(...seen)).toBeLessThan(0.8);
    expect(Math.max(...seen) - Math.min(...seen)).toBeGreaterThan(0.1);
  });
});

describe("the market that the demo's lines name", () => {
  let tenant: ServedTenant;
  beforeAll(async () => {
    tenant = await serveTenant();
  });
  afterAll(() => tenant?.close());

  test("is the first open one of the files, not one that an earlier demo left to settle by itself", async () => {
    const admin = localApi(tenant.services.handlers, { actor: "admin:ops" });
    const terms = {
      question: "Will it rain?",
      category: "demo",
      kind: "lmsr",
      p0: 0.5,
      resolutionRef: "by hand",
    } as const;
    const open = async (days: number, key?: string) => {
      const closeAt = new Date(Date.now() + days * 86_400_000).toISOString();
      return (await admin.createMarket({ ...terms, closeAt, liquidityUsd: 100, ...(key === undefined ? {} : { key }) }))
        .id;
    };
    const shown = () => marketToShow({ admin });
    await open(0.01);
    expect(await shown()).toBeUndefined();
    const visitors = await open(2);
    expect(await shown()).toBe(visitors);
    const second = await open(9, "second");
    const first = await open(8, "first");
    await open(0.01, "soon");
    expect(await shown()).toBe(first);
    await admin.suspendMarket({ id: first });
    expect(await shown()).toBe(second);
  });
});

describe("the crowd", () => {
  let tenant: ServedTenant;
  beforeAll(async () => {
    tenant = await serveTenant();
    for (const id of ["mkt_1", "mkt_2", "mkt_halted"])
      await tenant.openMarket(id, { kind: id === "mkt_1" ? "cpmm" : "lmsr" });
    const admin = localApi(tenant.services.handlers, { actor: "admin:ops" });
    await admin.suspendMarket({ id: "mkt_halted" });
  });
  afterAll(() => tenant?.close());
  const IDS = ["mkt_1", "mkt_2", "mkt_halted"];

  test("has a thousand dollars each, and gets no more when it comes back with most of it", async () => {
    const crowd = new Crowd(tenant.services, seeded(1));
    await crowd.join(TENANT);
    await crowd.join(TENANT);
    for (const userId of CROWD) expect(await tenant.balance(`wallet:${userId}`)).toBe(1_000_000_000n);
  });

  test("moves prices by small trades of its own users, leaves a suspended market alone, and the ledger holds", async () => {
    const crowd = new Crowd(tenant.services, seeded(2));
    let traded = 0;
    for (let n = 0; n < 150; n++) traded += Number(await crowd.trade(IDS));
    expect(traded).toBeGreaterThan(60);
    const entries = await tenant.audit("trade.executed");
    expect(entries).toHaveLength(traded);
    expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set(CROWD.map((id) => `user:${id}`)));
    for (const { payload } of entries) {
      expect(payload.marketId).not.toBe("mkt_halted");
      if (payload.action === undefined) expect(Number(payload.amount)).toBeLessThanOrEqual(40);
    }
    const prices = entries
      .filter(({ payload }) => payload.marketId === "mkt_1")
      .map((each) => each.payload.yesPriceAfter);
    expect(new Set(prices).size).toBeGreaterThan(20);
    expect(await tenant.isSound()).toBe(true);
  });

  test("lives with markets whose shares cost more than they can pay, and so do the demo's first trades", async () => {
    await tenant.openMarket("mkt_sure", { p0Ppm: 995_000 });
    const users = CROWD.slice(0, 2);
    const as = (userId: string) => {
      const user = users[userId === "alice" ? 0 : 1] ?? "";
      return localApi(tenant.services.handlers, { actor: `user:${user}`, user: { id: user } });
    };
    await expect(
      as("alice").placeTrade({ marketId: "mkt_sure", selection: { side: "yes" }, amount: 1 }),
    ).rejects.toThrow("With the fee this costs more than it can pay");
    // Four trades are tried, two of them on the side that cannot win.
    expect(await tradeOn({ as }, ["mkt_sure", "mkt_halted"])).toBe(2);
    const crowd = new Crowd(tenant.services, seeded(4));
    for (let n = 0; n < 40; n++) await crowd.trade(["mkt_sure"]);
    expect(await tenant.isSound()).toBe(true);
  });

  test("that may no longer trade changes nothing and causes no failure", async () => {
    const admin = localApi(tenant.services.handlers, { actor: "admin:ops" });
    for (const id of CROWD) await admin.restrictUser({ id });
    const crowd = new Crowd(tenant.services, seeded(3));
    expect(await crowd.trade(["mkt_1"])).toBe(false);
    expect(await crowd.trade([])).toBe(false);
    expect(await crowd.trade(["mkt_none"])).toBe(false);
  });
});
