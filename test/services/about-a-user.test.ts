import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let scene: TestTenant;
let marketId: string;
beforeAll(async () => {
  scene = await openTestTenant();
  marketId = await scene.market();
  for (const user of ["ann", "bob"]) {
    await scene.deposit(user, 100);
    await scene.api(user).placeTrade({ marketId, selection: { side: "yes" }, amount: 20 });
    await scene.api(user).placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares: 5 });
    for (const amount of [3, 4]) await scene.api(user).requestWithdrawal({ amount });
  }
});
afterAll(() => scene?.close());

test("operators read the portfolio that the user reads, and none of a user whom the tenant has never seen", async () => {
  expect(await scene.api().getUserPortfolio({ id: "ann" })).toEqual(await scene.api("ann").getPortfolio({}));
  await expect(scene.api().getUserPortfolio({ id: "eve" })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("operators read the statement that the user reads, page by page, with the questions of its markets", async () => {
  const { items } = await scene.api("ann").listStatement({});
  expect(items).toHaveLength(5);
  const { question } = await scene.api().getMarket({ id: marketId });
  expect(items.map((entry) => entry.question)).toEqual([undefined, undefined, question, question, undefined]);
  const first = await scene.api().listUserStatement({ id: "ann", limit: 2 });
  const second = await scene.api().listUserStatement({ id: "ann", cursor: first.nextCursor ?? "" });
  expect([...first.items, ...second.items]).toEqual(items);
  expect(second.nextCursor).toBeNull();
  await expect(scene.api().listUserStatement({ id: "bob", cursor: first.nextCursor ?? "" })).rejects.toMatchObject({
    code: "BAD_REQUEST",
  });
  await expect(scene.api().listUserStatement({ id: "eve" })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("withdrawals are filtered by user, in every status and in one", async () => {
  const { items: all } = await scene.api().listWithdrawals({});
  const own = all.filter(({ userId }) => userId === "bob");
  expect(own).toHaveLength(2);
  await scene.api().rejectWithdrawal({ id: own[0]?.withdrawalId ?? "" });
  const ids = async (filter: object) =>
    (await scene.api().listWithdrawals({ userId: "bob", ...filter })).items.map(({ withdrawalId }) => withdrawalId);
  expect(await ids({})).toEqual(own.map(({ withdrawalId }) => withdrawalId));
  expect(await ids({ status: "pending" })).toEqual([own[1]?.withdrawalId]);
  expect(await ids({ userId: "eve" })).toEqual([]);
});

test("deliveries about a user are those of its trades, payments and identity checks; older ones are on the next page", async () => {
  await scene.services.sequencer.submit({
    command: {
      ...{ type: "recordKyc", traderId: "ann", status: "passed", jurisdiction: "GB" },
      ...{ verifiedAt: 1, provider: "test" },
    },
    actor: "provider:kyc",
  });
  await scene.sql`
    insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
    select 'crm', 'evt_' || seq, seq, type, case seq % 2 when 0 then 'dead' else 'delivered' end, 1, 1000, 1000
      from audit`;
  const about = ["trade.executed", "wallet.credited", "kyc.updated"];
  const { entries } = await scene.api().listAudit({ userId: "ann", limit: 200 });
  const expected = entries.filter(({ type }) => about.includes(type)).map(({ seq }) => seq);
  expect(expected).toHaveLength(4);
  const seqs = async (filter: object) =>
    (await scene.api().listWebhookDeliveries({ userId: "ann", ...filter })).items.map(({ sequence }) => sequence);
  expect(await seqs({})).toEqual(expected);
  expect(await seqs({ status: "dead" })).toEqual(expected.filter((seq) => seq % 2 === 0));
  const { nextCursor } = await scene.api().listWebhookDeliveries({ userId: "ann", limit: 1 });
  expect(await seqs({ cursor: nextCursor })).toEqual(expected.slice(1));
  expect(await seqs({ userId: "eve" })).toEqual([]);
});

test("a request about a user of many trades looks at some of them, and the next one at the others", async () => {
  const head = Number((await scene.sql`select seq from head`)[0]?.seq);
  await scene.sql`
    insert into trade
    select ${head} + n, 'trd_many' || n, ${marketId}, 'cat', 'yes', 1000000, 10000, 1900000, 500000, 1, null
      from generate_series(1, 1500) n`;
  await scene.sql`
    insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
    values ('crm', 'evt_first', ${head + 1}, 'order.filled', 'delivered', 1, 1000, 1000)`;
  const first = await scene.api().listWebhookDeliveries({ userId: "cat" });
  expect(first.items).toEqual([]);
  const second = await scene.api().listWebhookDeliveries({ userId: "cat", cursor: first.nextCursor ?? "" });
  expect(second).toMatchObject({ items: [{ eventId: "evt_first" }], nextCursor: null });
});
