import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let scene: TestTenant;
const ids: string[] = [];
beforeAll(async () => {
  scene = await openTestTenant();
  await scene.deposit("ann", 10_000);
  for (let index = 0; index < 12; index++) ids.push(await scene.market({ liquidityUsd: 50 }));
  for (const marketId of ids) await trade(marketId);
});
afterAll(() => scene.close());

const trade = (marketId: string) => scene.api("ann").placeTrade({ marketId, selection: { side: "yes" }, amount: 5 });

/** All pages, with something written before each next one. */
async function walk<Item>(
  read: (cursor: string | undefined) => Promise<{ items: readonly Item[]; nextCursor: string | null }>,
  meanwhile: () => Promise<unknown>,
): Promise<Item[]> {
  const seen: Item[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, nextCursor } = await read(cursor);
    seen.push(...items);
    if (nextCursor === null) return seen;
    await meanwhile();
    cursor = nextCursor;
  }
}

/** Ids with blanks for what has come since. */
const known = (seen: readonly string[], before: readonly string[]) => seen.filter((id) => before.includes(id));

describe("while others write, pages neither lose nor repeat what was there:", () => {
  test("markets, those that close at one instant too", async () => {
    const seen = await walk(
      (cursor) => scene.api().listMarkets({ limit: 2, cursor }),
      () => scene.market({ liquidityUsd: 50 }),
    );
    const found = seen.map(({ id }) => id);
    expect(known(found, ids).toSorted()).toEqual(ids.toSorted());
    expect(new Set(found).size).toBe(found.length);
  });

  test("a trader's orders and statement, newest first, and nothing newer comes in between", async () => {
    const orders = async () => (await scene.api("ann").listOrders({ limit: 200 })).items.map(({ tradeId }) => tradeId);
    const before = await orders();
    const seen = await walk(
      (cursor) => scene.api("ann").listOrders({ limit: 5, cursor }),
      () => trade(ids[0] as string),
    );
    expect(seen.map(({ tradeId }) => tradeId)).toEqual(before);
    const lines = (await scene.api("ann").listStatement({ limit: 200 })).items;
    const walked = await walk(
      (cursor) => scene.api("ann").listStatement({ limit: 5, cursor }),
      () => trade(ids[0] as string),
    );
    expect(walked).toEqual(lines);
  });

  test("the audit log", async () => {
    const { entries: before } = await scene.api().listAudit({ limit: 200 });
    const seen = await walk(
      async (cursor) => {
        const { entries, cursor: next } = await scene.api().listAudit({ limit: 7, cursor });
        return { items: entries, nextCursor: entries.length === 0 ? null : (next ?? null) };
      },
      () => trade(ids[0] as string),
    );
    expect(seen.map(({ seq }) => seq)).toEqual(before.map(({ seq }) => seq));
  });
});
