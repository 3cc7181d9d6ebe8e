import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { WireInput } from "../../src/contract/operations.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { markOf } from "../../src/domain/market/held-quote.ts";
import { readClock } from "../../src/postgres/database-time.ts";
import { HeldQuotes } from "../../src/services/markets/held-quotes.ts";
import { openTenant, type TenantServices } from "../../src/services/tenant/tenant.ts";
import { tradeOf } from "../engine/world.ts";
import { AUDIT_SECRET, openTestTenant, type TestTenant } from "../support/tenant.ts";
import { TimeMachine } from "./time-machine.ts";

type Order = WireInput<"placeTrade">;

let tenant: TestTenant;
let marketId: string;
beforeAll(async () => {
  tenant = await openTestTenant({ processes: 2 });
  for (const user of ["ann", "bob"]) await tenant.deposit(user, 10_000);
  marketId = await tenant.market();
});
afterAll(() => tenant.close());

const buy = (amount = 25): Order => ({ marketId, selection: { side: "yes" }, amount });
const apiOf = (services: TenantServices, id: string) =>
  localApi(services.handlers, { actor: "admin:ops", user: { id } });

async function hold(order: Order, user = "ann") {
  const { quote = "", expiresAt = "", ...rest } = await tenant.api(user).quoteTrade({ ...order, hold: true });
  return { quote, expiresAt, ...rest };
}

/** The code with which a trade is refused, "accepted" for none. */
const codeOf = (order: Order, user = "ann", api = tenant.api(user)): Promise<string> =>
  api.placeTrade(order).then(
    () => "accepted",
    ({ code }) => code,
  );

/** All that is stored. */
const stored = () =>
  tenant.sql`select (select seq from head), (select epoch from head), (select count(*) from stored_answer) as answers`;

test("a held quote says what the trade does to the price, holds for ten seconds, and stores nothing", async () => {
  const before = await stored();
  const { ts, quote, expiresAt, ...fill } = await hold(buy());
  expect(await stored()).toEqual(before);
  expect(Date.parse(expiresAt) - Date.parse(ts)).toBe(10_000);
  expect(quote.length).toBeLessThanOrEqual(2048);
  const { yesPrice } = await tenant.api().getMarket({ id: marketId });
  expect(fill.yesPriceBefore).toBe(yesPrice);
  expect(fill.priceImpact).toBeCloseTo(fill.yesPriceAfter - yesPrice, 9);
  const plain = await tenant.api("ann").quoteTrade(buy());
  expect(plain).toMatchObject(fill);
  expect(plain).not.toHaveProperty("quote");
  const { yesPriceBefore, priceImpact, ...promised } = fill;
  expect(await tenant.api("ann").placeTrade({ ...buy(), quote })).toMatchObject(promised);
});

test("without a user nothing is held", async () => {
  await expect(tenant.api().quoteTrade({ ...buy(), hold: true })).rejects.toMatchObject({ code: "USER_REQUIRED" });
});

test("all that the trade would refuse is refused when the quote is asked for", async () => {
  const held = (order: Order) => tenant.api("ann").quoteTrade({ ...order, hold: true });
  await expect(held(buy(20_000))).rejects.toMatchObject({ code: "INSUFFICIENT_FUNDS" });
  const sale: Order = { marketId, selection: { side: "no", action: "sell" }, shares: 1 };
  await expect(held(sale)).rejects.toMatchObject({ code: "INSUFFICIENT_SHARES" });
});

test("a quote of other terms, another user, another tenant or another key is invalid, and so is a changed text", async () => {
  const { quote } = await hold(buy());
  const other = await tenant.market();
  const keys = { own: auditKey(AUDIT_SECRET), others: auditKey("another tenant's audit secret, long enough") };
  const terms = { marketId, selection: { side: "yes" }, amount: 25_000_000n } as const;
  const promise = { amountMicro: 25_000_000n, feeMicro: 250_000n, sharesMicro: 60_000_000n, mark: 0n };
  const forged = { ...promise, yesPriceAfter: 0.6, expiresAt: Date.now() + 3_600_000 };
  const orders: Order[] = [
    { ...buy(25.000001), quote },
    { ...buy(), marketId: other, quote },
    { ...buy(), selection: { side: "no" }, quote },
    ...["x", `${quote}A`, quote.slice(1), quote.slice(0, -1), `${quote} `, "€".repeat(2048)].map((text) => ({
      ...buy(),
      quote: text,
    })),
    { ...buy(), quote: flipped(quote, 5) },
    { ...buy(), quote: flipped(quote, quote.length - 1) },
    { ...buy(), quote: new HeldQuotes("zoe", [keys.own]).make(forged, terms, { id: "ann" }) },
    { ...buy(), quote: new HeldQuotes("acme", [keys.others]).make(forged, terms, { id: "ann" }) },
  ];
  for (const order of orders) expect([order, await codeOf(order)]).toEqual([order, "QUOTE_INVALID"]);
  expect(await codeOf({ ...buy(), quote }, "bob")).toBe("QUOTE_INVALID");
  const sale: Order = { marketId, selection: { side: "yes", action: "sell" }, shares: 25, quote };
  expect(await codeOf(sale)).toBe("QUOTE_INVALID");
  // The same terms in other words.
  expect(await codeOf({ ...buy(2.5e1), selection: { side: "yes", action: "buy" }, quote })).toBe("accepted");
});

/** Another character in one place. */
function flipped(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
}

test("is accepted by every process of the tenant, after a restart and after a change of the audit key", async () => {
  const [, second] = tenant.processes as [TenantServices, TenantServices];
  const first = await hold(buy());
  expect(await codeOf({ ...buy(), quote: first.quote }, "ann", apiOf(second, "ann"))).toBe("accepted");
  expect(await codeOf({ ...buy(), quote: first.quote })).toBe("QUOTE_MOVED");
  const { quote } = await hold(buy());
  const restarted = await openTenant({
    tenantId: "acme",
    connection: tenant.database.server,
    auditSecret: "the next audit secret of the tests, long enough",
    previousAuditSecrets: [AUDIT_SECRET],
  });
  const next = await apiOf(restarted, "ann").quoteTrade({ ...buy(), hold: true });
  expect(next.quote).not.toBe(quote);
  expect(await codeOf({ ...buy(), quote }, "ann", apiOf(restarted, "ann"))).toBe("accepted");
  await restarted.close();
});

test("of many uses at once, by two processes, exactly one executes", async () => {
  for (let round = 0; round < 5; round++) {
    const { quote } = await hold(buy(1));
    const uses = [...tenant.processes, ...tenant.processes, ...tenant.processes].map((each) =>
      codeOf({ ...buy(1), quote }, "ann", apiOf(each, "ann")),
    );
    const outcomes = await Promise.all(uses);
    expect(outcomes.toSorted()).toEqual([...Array(5).fill("QUOTE_MOVED"), "accepted"]);
  }
  expect(await tenant.faults()).toEqual([]);
});

describe("under an Idempotency-Key", () => {
  const apiUnder = (key: string, user = "ann") =>
    localApi(tenant.services.handlers, { actor: "admin:ops", user: { id: user } }, { key, adminKey: "ops" });

  test("a success is repeated, after the quote's end too", async () => {
    const { quote, expiresAt } = await hold(buy());
    const order = { ...buy(), quote };
    const first = await apiUnder("one").placeTrade(order);
    expect(await apiUnder("one").placeTrade(order)).toEqual(first);
    await tenant.sql`update stored_answer set created_at = created_at - 3600000`;
    expect(Date.parse(expiresAt)).toBeGreaterThan(0);
    const anew = await tenant.anotherProcess();
    const again = localApi(anew.handlers, { actor: "admin:ops", user: { id: "ann" } }, { key: "one", adminKey: "ops" });
    expect(await again.placeTrade(order)).toEqual(first);
    await anew.close();
    expect(await codeOf(order)).toBe("QUOTE_MOVED");
  });

  test.each(["QUOTE_INVALID", "QUOTE_EXPIRED", "QUOTE_MOVED"])("%s is not stored: the key is free", async (code) => {
    const { quote } = await hold(buy());
    if (code === "QUOTE_MOVED") await tenant.api("bob").placeTrade(buy(1));
    const given = code === "QUOTE_INVALID" ? "x" : code === "QUOTE_EXPIRED" ? await endedAt(-1) : quote;
    const api = apiUnder(code);
    expect(await codeOf({ ...buy(), quote: given }, "ann", api)).toBe(code);
    expect(await codeOf({ ...buy(), quote: (await hold(buy())).quote }, "ann", api)).toBe("accepted");
  });
});

/** A quote of ours that ends so many milliseconds from now, by the database's clock. */
async function endedAt(ms: number): Promise<string> {
  const now = await readClock(tenant.sql);
  const [row] = await tenant.sql`
    select day, day_trades from position
     where trader_id = 'ann' and market_id = ${marketId} and side = 'yes'`;
  const { amount, fee, shares, yesPriceAfter } = await tenant.api("ann").quoteTrade(buy());
  const micro = (value: number) => BigInt(Math.round(value * 1e6));
  return new HeldQuotes("acme", [auditKey(AUDIT_SECRET)]).make(
    {
      ...{ amountMicro: micro(amount), feeMicro: micro(fee), sharesMicro: micro(shares), yesPriceAfter },
      mark: row ? markOf({ day: Number(row.day), dayTrades: Number(row.day_trades) }) : markOf(),
      expiresAt: now + ms,
    },
    { marketId, selection: { side: "yes" }, amount: micro(amount) },
    { id: "ann" },
  );
}

test("the database's clock decides when it has expired", async () => {
  expect(await codeOf({ ...buy(), quote: await endedAt(-1) })).toBe("QUOTE_EXPIRED");
  expect(await codeOf({ ...buy(), quote: await endedAt(5000) })).toBe("accepted");
});

test("a process whose clock is behind trades on no expired quote: the commit itself refuses it", async () => {
  const behind = new TimeMachine(tenant.database, 300);
  const before = await stored();
  const terms = { marketId, amount: 25_000_000n, selection: { side: "yes" } } as const;
  const quote = new HeldQuotes("acme", [auditKey(AUDIT_SECRET)]).read(await endedAt(-100), terms, { id: "ann" });
  expect(quote).not.toBe("invalid");
  const command = tradeOf({ marketId, amountMicro: terms.amount, quote });
  // While its clock stays behind it executes again and is refused again; it gives up, or its clock reaches the end first.
  await expect(behind.sequencer.submit({ command, actor: "user:ann" })).rejects.toMatchObject({
    code: expect.stringMatching(/^(QUOTE_EXPIRED|OVERLOADED)$/),
  });
  await behind.close();
  expect(await stored()).toEqual(before);
});

test("sales, changes of the fee, and states of market and user between quote and trade", async () => {
  const operator = tenant.api();
  const sale: Order = { marketId, selection: { side: "yes", action: "sell" }, shares: 10 };
  const { quote, ...promised } = await hold(sale);
  await operator.updatePolicy({ feeBps: 200 });
  expect(await codeOf({ ...sale, quote })).toBe("QUOTE_MOVED");
  await operator.updatePolicy({ feeBps: 100 });
  await operator.suspendMarket({ id: marketId });
  expect(await codeOf({ ...sale, quote: "x" })).toBe("MARKET_SUSPENDED");
  await operator.resumeMarket({ id: marketId });
  await operator.restrictUser({ id: "ann" });
  expect(await codeOf({ ...sale, quote })).toBe("ACCOUNT_RESTRICTED");
  await operator.releaseUser({ id: "ann" });
  const { amount, shares, fee, avgPrice, yesPriceAfter } = promised;
  const sold = await tenant.api("ann").placeTrade({ ...sale, quote });
  expect(sold).toMatchObject({ action: "sell", amount, shares, fee, avgPrice, yesPriceAfter });
  expect(await tenant.faults()).toEqual([]);
});
