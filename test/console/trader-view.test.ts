import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { openHeld, operate } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { act, openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:second" });
const user = (id: string) => localApi(tenant.services.handlers, { actor: `user:${id}`, user: { id } });

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  for (const id of ["mkt_open", "mkt_sold", "mkt_void", "mkt_yes"])
    await openHeld(tenant, id, `Will ${id} <img src=x onerror=alert(1)> open?`, "usr_1");
  await user("usr_1").placeTrade({ marketId: "mkt_sold", selection: { side: "yes", action: "sell" }, shares: 5 });
  await user("usr_1").placeTrade({ marketId: "mkt_open", selection: { side: "no" }, amount: 3 });
  await operate(tenant, { type: "voidMarket", marketId: "mkt_void", reason: HOSTILE });
  await operate(tenant, { type: "settleMarket", marketId: "mkt_yes", outcome: "yes" });
});

const HOSTILE = "<img src=x onerror=alert(1)>";
const cents = (text: string | null): number => Number((text ?? "").replace(/[$,+]/g, ""));

test("positions are those of the trader's own portfolio, with the result of each market", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/traders/usr_1" });
  const table = page.getByRole("table", { name: "Positions" });
  await table.waitFor();
  const { positions, settlements } = await user("usr_1").getPortfolio({});
  for (const { marketId, side, shares, currentPrice } of positions) {
    const cell = table.locator(`[data-id="${marketId}"] td`).nth(side === "yes" ? 1 : 2);
    expect(Number(await cell.textContent())).toBeCloseTo(shares, 1);
    expect(currentPrice).toBeGreaterThan(0);
  }
  for (const { marketId, cost, payout } of settlements) {
    const cells = table.locator(`[data-id="${marketId}"] td`);
    expect(cents(await cells.nth(3).textContent())).toBeCloseTo(cost, 2);
    expect(cents(await cells.nth(5).textContent())).toBeCloseTo(payout, 2);
  }
  expect(await table.locator("[data-id]").count()).toBe(4);
  await page.getByText("Summed from all 6 trades of the trader").waitFor();
  const { traders } = await operator().getTradersReport({});
  const own = page.getByRole("region", { name: "Result of 30 days" });
  await own.getByText(String(traders.find(({ userId }) => userId === "usr_1")?.trades), { exact: true }).waitFor();
  // Trades that an operator makes for the trader are not in the trader's name, and the page says so.
  await localApi(tenant.services.handlers, { actor: "admin:second", user: { id: "usr_1" } }).placeTrade({
    ...{ marketId: "mkt_open", selection: { side: "yes" }, amount: 2 },
  });
  await page.getByText("It is not the whole").waitFor();
  expect(await page.locator("main img").count()).toBe(0);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("the statement lists what moved the wallet, leads to the entries, and shows new ones by itself", async () => {
  await tenant.deposit("usr_2", 100);
  await openHeld(tenant, "mkt_2", "Will it rain?", "usr_2");
  await user("usr_2").placeTrade({ marketId: "mkt_2", selection: { side: "yes", action: "sell" }, shares: 4 });
  await operator().creditWallet({ id: "usr_2", amount: 7, reason: HOSTILE });
  const { withdrawalId } = await user("usr_2").requestWithdrawal({ amount: 12.34 });
  const [credit] = (await operator().listAudit({ type: "wallet.credited" })).entries;
  const { sql } = tenant.backend;
  await sql`insert into webhook_receiver (name, fingerprint, position) values ('crm', 'x', 1)`;
  for (const [event, seq] of [
    ["evt_own", credit?.seq ?? 0],
    ["evt_other", 1],
  ] as const)
    await sql`
      insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
      values ('crm', ${event}, ${seq}, 'wallet.credited', 'dead', 3, 1000, 1000)`;
  const { page, complaints, close } = await openConsole(tenant, { path: "/traders/usr_2" });
  const table = page.getByRole("table", { name: "Statement" });
  await table.waitFor();
  const { items } = await user("usr_2").listStatement({});
  expect(items).toHaveLength(5);
  for (const { seq, amount } of items) {
    const row = table.locator(`[data-id="${seq}"]`);
    const shown = await row.locator("data").getAttribute("value");
    expect(Number(shown)).toBeCloseTo(amount, 6);
    expect(await row.getByRole("link").getAttribute("href")).toBe(`/console/record/${seq}`);
  }
  await page.getByText(HOSTILE).first().waitFor();
  const deliveries = page.getByRole("table", { name: "Deliveries" }).locator("[data-id]");
  expect(await deliveries.evaluateAll((rows) => rows.map((each) => each.getAttribute("data-id")))).toEqual([
    "evt_own.crm",
  ]);
  const row = page.getByRole("table", { name: "Withdrawals" }).locator(`[data-id="${withdrawalId}"]`);
  expect(await act(page, row.getByRole("button", { name: "Approve" }), "Paid")).toMatch(/is approved\. Entry \d+$/);
  const [approved] = (await operator().listAudit({ type: "withdrawal.approved" })).entries;
  await rowOf(page, String(approved?.seq)).waitFor({ timeout: 3000 });
  await page.getByText("No withdrawal of the trader waits").waitFor();
  expect(troubles(complaints)).toEqual([]);
  await close();
});
