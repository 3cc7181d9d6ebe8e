import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:second" });

beforeAll(async () => {
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
  const { items } = await operator().listMarkets({ status: "all" });
  expect(await ids()).toEqual(items.map(({ id }) => id));
  expect(await rowOf(page, "mkt_done").textContent()).toContain("Settled, No");
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
