import { afterAll, beforeAll, expect, test } from "vitest";
import type { WireInput } from "../../src/contract/operations.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let scene: TestTenant;
beforeAll(async () => {
  scene = await openTestTenant();
  for (const user of ["usr_ann", "usr_bob", "usr_carl", "usr_dora"]) await scene.deposit(user, 100);
  const kyc = (traderId: string, status: "passed" | "failed", jurisdiction: string) =>
    scene.services.sequencer.submit({
      command: { type: "recordKyc", traderId, status, jurisdiction, verifiedAt: 1, provider: "test" },
      actor: "provider:kyc",
    });
  await kyc("usr_ann", "passed", "GB");
  await kyc("usr_bob", "failed", "CH");
  await kyc("usr_carl", "passed", "CH-ZH");
  await scene.api().restrictUser({ id: "usr_carl" });
  await scene.api("usr_ann").submitSuitability({ answers: { a: 4, b: 4 } });
  await scene.api("usr_dora").submitSuitability({ answers: { a: 1 } });
  const marketId = await scene.market();
  await scene.api("usr_ann").placeTrade({ marketId, selection: { side: "yes" }, amount: 40 });
  await scene.api("usr_dora").placeTrade({ marketId, selection: { side: "no" }, amount: 10 });
  await scene.sql`insert into account values ('receivable:usr_ann', 0, 1), ('receivable:usr_bob', -1, 1), ('receivable:usr_carl', -25000000, 1)`;
});
afterAll(() => scene?.close());

const listed = async (filter: WireInput<"listUsers">) =>
  (await scene.api().listUsers(filter)).items.map(({ userId }) => userId.slice("usr_".length));

test("users are listed by id, each with standing and money as the log and the ledger have them", async () => {
  const { items } = await scene.api().listUsers({});
  expect(items[0]).toEqual({
    userId: "usr_ann",
    state: "verified",
    jurisdiction: "GB",
    suitabilityScore: 8,
    balanceUsd: 60,
    exposureUsd: 40,
    owedUsd: 0,
    createdAt: expect.any(String),
  });
  expect(items.map(({ state }) => state)).toEqual(["verified", "rejected", "restricted", "unverified"]);
  expect(items.map(({ exposureUsd }) => exposureUsd)).toEqual([40, 0, 0, 10]);
});

test.each<[WireInput<"listUsers">, string[]]>([
  [{ q: "R_CA" }, ["carl"]],
  [{ q: "%" }, []],
  [{ state: "restricted" }, ["carl"]],
  [{ state: "verified" }, ["ann"]],
  [{ jurisdiction: "ch" }, ["bob", "carl"]],
  [{ jurisdiction: "CH-zh" }, ["carl"]],
  [{ jurisdiction: "UK" }, ["ann"]],
  [{ jurisdiction: "ZZ" }, []],
  [{ minScore: 1 }, ["ann", "dora"]],
  [{ maxScore: 7 }, ["dora"]],
  [{ minExposureUsd: 10 }, ["ann", "dora"]],
  [{ minExposureUsd: 0 }, ["ann", "bob", "carl", "dora"]],
  [{ minExposureUsd: 10.000001, minScore: 8 }, ["ann"]],
  [{ minOwedUsd: 0 }, ["ann", "bob", "carl", "dora"]],
  [{ minOwedUsd: 0.000001 }, ["bob", "carl"]],
  [{ minOwedUsd: 25 }, ["carl"]],
  [{ minOwedUsd: 25.01 }, []],
])("the filter %j selects %j", async (filter, users) => {
  expect(await listed(filter)).toEqual(users);
});

test("pages of users go on after the last one, and belong to their filter", async () => {
  const first = await scene.api().listUsers({ limit: 3 });
  expect(first.items).toHaveLength(3);
  const cursor = first.nextCursor ?? "";
  expect(await listed({ limit: 3, cursor })).toEqual(["dora"]);
  await expect(scene.api().listUsers({ limit: 3, cursor, state: "verified" })).rejects.toMatchObject({
    code: "BAD_REQUEST",
  });
  for (const wrong of [
    { minScore: 21 },
    { minExposureUsd: -1 },
    { minExposureUsd: 0.0000001 },
    { minOwedUsd: 0.0000001 },
    { minScore: 1.5 },
    { jurisdiction: "XX" },
  ])
    await expect(scene.api().listUsers(wrong)).rejects.toMatchObject({ code: "BAD_REQUEST" });
});

test("a search looks at a bounded part of the users, and its next pages at the others", async () => {
  await scene.sql`
    insert into trader
    select 'u' || n, 'unverified', false, null, null, null, null, 1, 1 from generate_series(100001, 200000) n`;
  const first = await scene.api().listUsers({ q: "DORA" });
  expect(first.items).toEqual([]);
  const second = await scene.api().listUsers({ q: "DORA", cursor: first.nextCursor ?? "" });
  expect(second.items.map(({ userId }) => userId)).toEqual(["usr_dora"]);
  expect(second.nextCursor).toBeNull();
  await scene.sql`delete from trader where id like 'u1%'`;
});
