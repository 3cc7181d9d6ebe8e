import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { partsOf } from "../../src/console/views/overview/periods.ts";
import { lossIf, worstCase } from "../../src/console/views/risk/what-if.ts";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:ops" });

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  for (const id of ["mkt_1", "mkt_2"]) await openHeld(tenant, id, `Will ${id} <b>open</b>?`, "usr_1");
});

test("the cost of a supposed outcome is its payout less the stakes; where nothing can be lost it is 0", () => {
  const risk = { marketId: "mkt_1", maxLiability: 4, yesPayout: 14, noPayout: 3 };
  expect([lossIf(risk, "yes"), lossIf(risk, "no")]).toEqual([4, -7]);
  expect(lossIf({ ...risk, maxLiability: 0 }, "yes")).toBe(0);
  const risks = [
    risk,
    { ...risk, marketId: "mkt_2", maxLiability: 0.1 },
    { ...risk, marketId: "mkt_3", maxLiability: 0.2 },
  ];
  expect(worstCase(risks, {})).toEqual({ worst: 4.3, supposed: 0, rest: 4.3 });
  expect(worstCase(risks, { mkt_1: "no" })).toEqual({ worst: 4.3, supposed: -7, rest: 0.3 });
});

test("the parts of a period are the differences of reports, exact to the micro-dollar", () => {
  const report = { settledMarkets: 0, activeTraders: 0 };
  const reports = [
    { ...report, periodDays: 3, totalVolume: 0.1, houseRevenue: -1 },
    { ...report, periodDays: 5, totalVolume: 0.3, houseRevenue: 2 },
  ];
  expect(partsOf(reports)).toEqual([
    { fromDaysAgo: 3, toDaysAgo: 0, volume: 0.1, revenue: -1 },
    { fromDaysAgo: 5, toDaysAgo: 3, volume: 0.2, revenue: 3 },
  ]);
});

test("Overview compares the period in the address with the one before", async () => {
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/overview?days=7" });
  const { totalVolume } = await operator().getOverviewReport({ periodDays: 7 });
  await rowOf(page, "Volume").waitFor();
  expect(await title()).toBe("Overview");
  expect(await rowOf(page, "Volume").locator("data").first().getAttribute("value")).toBe(String(totalVolume));
  expect(await rowOf(page, "Volume").textContent()).toContain("new");
  await page.getByText("Volume and house result as a table").click();
  const parts = page.getByRole("table", { name: "Volume and house result" }).locator("tbody tr");
  await expect.poll(() => parts.count()).toBe(7);
  expect(await parts.first().textContent()).toContain("today");
  await page.getByRole("link", { name: "usr_1" }).waitFor();
  expect(await page.locator("code").last().textContent()).toBe("pmctl report overview --days 7 -t acme");
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole("combobox", { name: "Period" }).selectOption("1");
  await expect.poll(() => new URL(page.url()).search).toBe("?days=1");
  await page.getByText("Volume and house result as a table").click();
  await expect.poll(() => parts.count()).toBe(1);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("Risk sums the worst case, and says what a supposed outcome would cost", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/risk" });
  const risks = await operator().listRisk({ status: "unsettled" });
  const [risk] = risks.filter(({ marketId }) => marketId === "mkt_1");
  if (!risk) throw new Error("the market has a risk");
  await rowOf(page, "mkt_1").waitFor();
  const fact = (name: string) => page.locator("dl.facts div", { hasText: name }).locator("data").getAttribute("value");
  expect(Number(await fact("The house can lose at most"))).toBe(worstCase(risks, {}).worst);
  await page.getByLabel(/Suppose that it settles: Will mkt_1/).selectOption("no");
  expect(Number(await fact("Cost of what is supposed"))).toBe(lossIf(risk, "no"));
  await page.getByRole("button", { name: "Group by category" }).click();
  await page.getByRole("table", { name: "Categories" }).waitFor();
  await page.getByText("No open trade is tagged as a hedge.").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});
