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
  const ofMarket = (id: string) => positions.filter(({ marketId }) => marketId === id);
  for (const { marketId, side, shares } of positions) {
    const cells = table.locator(`[data-id="${marketId}"] td`);
    expect(Number(await cells.nth(side === "yes" ? 1 : 2).textContent())).toBeCloseTo(shares, 1);
    const value = ofMarket(marketId).reduce((sum, { sellValue }) => sum + sellValue, 0);
    expect(cents(await cells.nth(5).textContent())).toBeCloseTo(value, 1);
    const result = ofMarket(marketId).reduce((sum, { sellPnl }) => sum + sellPnl, 0);
    expect(cents(await cells.nth(6).textContent())).toBeCloseTo(result, 1);
  }
  for (const { marketId, cost, payout } of settlements) {
    const cells = table.locator(`[data-id="${marketId}"] td`);
    expect(cents(await cells.nth(3).textContent())).toBeCloseTo(cost, 2);
    expect(cents(await cells.nth(5).textContent())).toBeCloseTo(payout, 2);
  }
  expect(await table.locator("[data-id]").count()).toBe(4);
  const exact = await table.locator("data").evaluateAll((sums) => sums.map((sum) => sum.getAttribute("value")));
  for (const value of exact) expect(value).toMatch(/^-?\d+(\.\d{1,6})?$/);
  const { traders } = await operator().getTradersReport({});
  const own = page.getByRole("region", { name: "Result of 30 days" });
  await own.getByText(String(traders.find(({ userId }) => userId === "usr_1")?.trades), { exact: true }).waitFor();
  const fact = async (name: string) =>
    Number(
      await own
        .locator("dl.facts div", { hasText: new RegExp(`^${name}`) })
        .locator("data")
        .getAttribute("value"),
    );
  expect((await fact("Realised")) + (await fact("Unrealised, at current prices"))).toBeCloseTo(
    await fact("In all, at current prices"),
    6,
  );
  // A trade that an operator makes for the trader counts as well.
  const before = await table.locator('[data-id="mkt_open"] td').nth(1).textContent();
  await localApi(tenant.services.handlers, { actor: "admin:second", user: { id: "usr_1" } }).placeTrade({
    ...{ marketId: "mkt_open", selection: { side: "yes" }, amount: 2 },
  });
  await expect
    .poll(() => table.locator('[data-id="mkt_open"] td').nth(1).textContent(), { timeout: 5000 })
    .not.toBe(before);
  expect(await page.locator("main img").count()).toBe(0);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("the statement is the trader's own, leads to the entries, makes a file, and shows new lines by itself", async () => {
  await tenant.deposit("usr_2", 100);
  await openHeld(tenant, "mkt_2", `Will ${HOSTILE} rain?`, "usr_2");
  await user("usr_2").placeTrade({ marketId: "mkt_2", selection: { side: "yes", action: "sell" }, shares: 4 });
  await operator().creditWallet({ id: "usr_2", amount: 7, reason: "a test" });
  const { page, complaints, close } = await openConsole(tenant, { path: "/traders/usr_2" });
  const table = page.getByRole("table", { name: "Statement" });
  await table.waitFor();
  const { items } = await user("usr_2").listStatement({});
  expect(items).toHaveLength(4);
  for (const { seq, amount, balance } of items) {
    const row = table.locator(`[data-id="${seq}"]`);
    const shown = row.locator("data");
    expect(Number(await shown.first().getAttribute("value"))).toBeCloseTo(amount, 6);
    expect(Number(await shown.last().getAttribute("value"))).toBeCloseTo(balance, 6);
    expect(await row.getByRole("link").first().getAttribute("href")).toBe(`/console/record/${seq}`);
  }
  expect(
    await table
      .getByRole("link", { name: `Will ${HOSTILE} rain?` })
      .first()
      .getAttribute("href"),
  ).toBe("/console/markets/mkt_2");
  const region = page.getByRole("region", { name: "Statement", exact: true });
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    region.getByRole("button", { name: "Download CSV" }).click(),
  ]);
  expect(file.suggestedFilename()).toBe("acme-statement.csv");
  await region.getByText("4 rows, all of them.").waitFor();
  const { withdrawalId } = await user("usr_2").requestWithdrawal({ amount: 12.34 });
  await table.getByText(withdrawalId).waitFor({ timeout: 5000 });
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("a trader's page has the trader's own withdrawals and webhooks alone, and links to all of them", async () => {
  for (const id of ["usr_3", "usr_4"]) await tenant.deposit(id, 100);
  const asked = [];
  for (const id of ["usr_3", "usr_4"]) asked.push((await user(id).requestWithdrawal({ amount: 5 })).withdrawalId);
  const { sql } = tenant.backend;
  await sql`insert into webhook_receiver (name, fingerprint, position) values ('crm', 'x', 1)`;
  for (const { seq } of (await operator().listAudit({ type: "wallet.credited" })).entries)
    await sql`
      insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
      values ('crm', ${`evt_${seq}`}, ${seq}, 'wallet.credited', 'dead', 3, 1000, 1000)`;
  const [own] = (await operator().listAudit({ type: "wallet.credited", userId: "usr_3" })).entries;
  const { page, complaints, close } = await openConsole(tenant, { path: "/traders/usr_3" });
  const ids = (name: string) =>
    page
      .getByRole("table", { name, exact: true })
      .locator("[data-id]")
      .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));
  await expect.poll(() => ids("Withdrawals")).toEqual([asked[0]]);
  await expect.poll(() => ids("Deliveries")).toEqual([`evt_${own?.seq}.crm`]);
  const approve = rowOf(page, asked[0] ?? "").getByRole("button", { name: "Approve" });
  expect(await act(page, approve, "Paid")).toMatch(/is approved\. Entry \d+$/);
  await rowOf(page, asked[0] ?? "")
    .getByText("approved")
    .waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.goto(`${tenant.server.opsUrl}/console/webhooks?user=usr_3`);
  await expect.poll(() => ids("Deliveries")).toEqual([`evt_${own?.seq}.crm`]);
  expect(await page.locator("code").last().textContent()).toBe("pmctl webhook deliveries --user usr_3 -t acme");
  await page.goto(`${tenant.server.opsUrl}/console/funds?status=all&user=usr_4`);
  await expect.poll(() => ids("Withdrawals")).toEqual([asked[1]]);
  expect(await page.locator("code").last().textContent()).toBe("pmctl funding list --user usr_4 -t acme");
  expect(troubles(complaints)).toEqual([]);
  await close();
});
