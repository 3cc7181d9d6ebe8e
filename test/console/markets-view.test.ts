import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { act, openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:second" });
let readerKey: string;

beforeAll(async () => {
  const made = await operator().createKey({ name: "reader", type: "admin", scopes: ["read"] });
  readerKey = (made as typeof made & { key: string }).key;
  await tenant.deposit("usr_1", 500);
  await openHeld(tenant, "mkt_rain", "Will it <img src=x onerror=alert(1)> rain?", "usr_1");
  await tenant.openMarket("mkt_snow", { question: "Will it snow?", kind: "cpmm" });
  await tenant.openMarket("mkt_done", { question: "Will it be done?", category: "sport" });
  await operator().settleMarket({ marketId: "mkt_done", outcome: "no" });
});

test("markets of every status are listed, searched and filtered in the address, and kept current", async () => {
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/markets?status=all" });
  const table = page.getByRole("table", { name: "Markets" });
  await table.waitFor();
  expect(await title()).toBe("Markets");
  const ids = () => table.locator("[data-id]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));
  const [unsettled, settled] = await Promise.all(
    ["unsettled", "settled"].map((status) => operator().listMarkets({ status })),
  );
  expect(await ids()).toEqual([...(unsettled?.items ?? []), ...(settled?.items ?? [])].map(({ id }) => id));
  expect(await rowOf(page, "mkt_done").textContent()).toContain("Settled, No");
  expect(await rowOf(page, "mkt_done").locator("td").nth(2).textContent()).toBe("No");
  const { yesPrice } = await operator().getMarket({ id: "mkt_rain" });
  expect(await rowOf(page, "mkt_rain").textContent()).toContain(`${Math.round(yesPrice * 1000) / 10}%`);
  await rowOf(page, "mkt_rain")
    .getByRole("img", { name: /^Yes from [\d.]+% to [\d.]+%$/ })
    .waitFor();
  expect(await page.getByRole("link", { name: "Will it snow?" }).getAttribute("href")).toBe(
    "/console/markets/mkt_snow",
  );
  expect(await page.locator("main img").count()).toBe(0);
  await operator().suspendMarket({ id: "mkt_snow" });
  await rowOf(page, "mkt_snow").getByText("Suspended").waitFor({ timeout: 5000 });
  expect(await accessibilityProblems(page)).toEqual([]);

  await page.getByLabel("Status").selectOption({ label: "Suspended" });
  await expect.poll(ids).toEqual(["mkt_snow"]);
  await page.getByLabel("Kind").selectOption("cpmm");
  await page.keyboard.press("/");
  await page.keyboard.type("rain");
  await page.getByText("No market matches").waitFor();
  expect(new URL(page.url()).search).toBe("?status=suspended&kind=cpmm&q=rain");
  expect(await page.locator("code").last().textContent()).toBe(
    "pmctl market list --status suspended --kind cpmm --q rain -t acme",
  );
  await page.reload();
  await page.getByText("No market matches").waitFor();
  await page.getByRole("link", { name: "show all markets" }).click();
  await expect.poll(async () => (await ids()).length).toBe(3);
  await page.getByRole("searchbox", { name: "Category" }).fill("sport");
  await expect.poll(ids).toEqual(["mkt_done"]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("a market is created with a preview of its cost and curve, at the liquidity that was shown; a key without the scope cannot", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/markets" });
  const { liquidityUsd } = await operator().getConfig({});
  const create = page.getByRole("button", { name: "Create market" });
  const notice = await act(page, create, "Traders asked", async (dialog) => {
    expect(await dialog.getAttribute("aria-labelledby")).not.toBeNull();
    await dialog.getByLabel("Question").fill("Will it hail?");
    await dialog.getByLabel("Category").fill("weather");
    await dialog.getByRole("radio", { name: /^lmsr/ }).check();
    await dialog.getByLabel("First price of Yes").fill("0.25");
    await dialog.getByText("Yes 25%, No 75%").waitFor();
    const cost = dialog.locator("dd").first();
    await expect.poll(() => cost.textContent()).toContain(liquidityUsd.toLocaleString("en-US"));
    await dialog.locator(".uplot canvas").waitFor();
    await dialog.getByLabel("Liquidity in USD (optional)").fill("50");
    await expect.poll(() => cost.textContent()).toBe("$50.00");
    await dialog.getByLabel("Trading ends").fill("2030-01-31T19:00");
    await dialog.getByLabel("Decided by").fill("The weather service");
    expect(await dialog.locator("code").textContent()).toContain(
      "pmctl market create --question 'Will it hail?' --category weather --kind lmsr --p0 0.25 --close-at 2030-01-31T18:00:00.000Z",
    );
    expect(await accessibilityProblems(page)).toEqual([]);
  });
  expect(notice).toMatch(/^Created the market\. .* See its page\. Entry \d+$/);
  expect(await page.getByRole("link", { name: "See its page." }).getAttribute("href")).toMatch(/\/markets\/mkt_/);
  expect((await tenant.audit("market.created")).at(-1)).toMatchObject({
    actor: "admin:ops",
    payload: { question: "Will it hail?", kind: "lmsr", p0: "0.25", liquidity: "50", reason: "Traders asked" },
  });
  await page.getByRole("link", { name: "Will it hail?" }).waitFor({ timeout: 5000 });
  expect(troubles(complaints)).toEqual([]);
  await close();

  const reader = await openConsole(tenant, { path: "/markets", key: readerKey });
  const button = reader.page.getByRole("button", { name: "Create market" });
  await button.waitFor();
  expect(await button.isDisabled()).toBe(true);
  expect(await button.getAttribute("title")).toBe("Your key lacks the scope markets.");
  await reader.page.getByRole("link", { name: "Will it snow?" }).click();
  for (const name of ["Suspend", "Settle", "Void"]) {
    const refused = reader.page.getByRole("button", { name });
    await refused.waitFor();
    expect(await refused.isDisabled()).toBe(true);
  }
  expect(await reader.page.getByRole("button", { name: "Settle" }).getAttribute("title")).toContain("scope settle");
  expect(troubles(reader.complaints)).toEqual([]);
  await reader.close();
});
