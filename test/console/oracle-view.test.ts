import { expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { recordTicks } from "../../src/ledger/unchained/oracle-ticks.ts";
import { oracleSetup } from "../../src/services/oracle/feeds.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { AUDIT_SECRET } from "../server/support/harness.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { act, openConsole, rowOf, troubles } from "./support/console-page.ts";

const own = { desk: { steel: { sources: [{ use: "desk", id: "steel" }] } } };
const tenant = tenantOfTests({ console: CONSOLE, oracle: oracleSetup(own, ["desk"]) });

test("Oracle draws the samples of a feed as curves, also as a table, with each source's distance from the middle", async () => {
  const tick = (source: string, symbol: string, observedAt: number, price: string) => ({
    ...{ source, symbol, observedAt, price, conf: null, receivedAt: observedAt, confirmedAt: observedAt },
  });
  const now = Date.now();
  await tenant.services.pool.write((sql) =>
    recordTicks(
      sql,
      [
        tick("coinbase", "BTC-USD", now - 2000, "100000.1"),
        tick("coinbase", "BTC-USD", now - 1000, "100002.5"),
        tick("kraken", "XBTUSD", now - 1500, "100000.5"),
      ],
      auditKey(AUDIT_SECRET),
    ),
  );
  const { page, complaints, close } = await openConsole(tenant, { path: "/oracle" });
  await page.getByText(/^41 built-in feeds/).click();
  await page.getByRole("table", { name: "Built-in feeds" }).getByRole("link", { name: "pm:btc" }).click();
  const sources = page.getByRole("table", { name: "Sources" });
  const cellsOf = (id: string) => sources.locator(`[data-id="${id}"] td`).allTextContents();
  await sources.waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.ariaLabel")).toBe("Samples of pm:btc");
  expect(await page.evaluate("document.activeElement.getBoundingClientRect().top >= 0")).toBe(true);
  expect((await cellsOf("coinbase BTC-USD")).slice(2, 4)).toEqual(["100,002.5", "1"]);
  expect((await cellsOf("kraken XBTUSD")).slice(2, 4)).toEqual(["100,000.5", "-1"]);
  await page.getByRole("img", { name: /^Prices by source\. coinbase BTC-USD: last 100,002\.5/ }).waitFor();
  await page.getByText("Prices by source as a table").click();
  const values = page.getByRole("table", { name: "Prices by source" });
  await values.getByText("100,000.1").waitFor();
  expect(await values.locator("tbody tr").count()).toBe(3);
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.goto(`${tenant.server.opsUrl}/console/oracle?feed=pm:eth`);
  await page.getByRole("region", { name: "Samples of pm:eth" }).getByText("No price is stored").waitFor();
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("the tenant's own feeds and those in use come first, and what closes next tells its rule and its feed", async () => {
  const terms = { question: "Will ether rise?", category: "crypto", kind: "lmsr", p0: 0.5 } as const;
  const closeAt = new Date(Date.now() + 3_600_000).toISOString();
  const operator = localApi(tenant.services.handlers, { actor: "admin:ops" });
  const { id } = await operator.createMarket({ ...terms, closeAt, resolutionRef: "pm:eth > 5000" });
  const { page, complaints, close } = await openConsole(tenant, { path: "/oracle" });
  const closing = page.getByRole("table", { name: "Next closings" }).locator(`[data-id="${id}"]`);
  await closing.getByText("pm:eth > 5000").waitFor();
  expect(await closing.getByRole("link", { name: "pm:eth" }).getAttribute("href")).toBe(
    "/console/oracle?feed=pm%3Aeth",
  );
  const feeds = page.getByRole("table", { name: "Feeds", exact: true }).locator("tbody tr");
  const listed = () => feeds.evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));
  expect(await listed()).toEqual(["pm:eth", "desk:steel"]);
  expect(await rowOf(page, "desk:steel").textContent()).toContain("in the tenant file");
  const asked: unknown[] = [];
  await page.route("**/v1/oracle/check", (route) => {
    asked.push(route.request().postDataJSON());
    return route.fulfill({ json: [] });
  });
  await page.getByRole("button", { name: "Check now" }).click();
  await expect.poll(() => asked).toEqual([{ feeds: ["pm:eth", "desk:steel"] }]);
  await page.getByText("40 built-in feeds that no open market names").click();
  await rowOf(page, "pm:xau").waitFor();
  const hold = {
    marketId: id,
    question: terms.question,
    reason: "stale",
    resolutionRef: "pm:eth > 5000",
    detail: "Old",
  };
  await page.route("**/v1/oracle/held", (route) => route.fulfill({ json: [{ ...hold, heldAt: closeAt }] }));
  const decide = page.getByRole("table", { name: "Held markets" }).getByRole("link", { name: "Settle or void it" });
  expect(await decide.getAttribute("href")).toBe(`/console/markets/${id}`);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("who lets the oracle sweep, and why, is on record, also if nothing came of it", async () => {
  const operator = localApi(tenant.services.handlers, { actor: "cli:timer" });
  tenant.services.sweeps.run = async () => ({ watched: 2, asked: 0, settled: [], held: [], failures: [] });
  const { page, complaints, close } = await openConsole(tenant, { path: "/oracle" });
  const sweep = page.getByRole("button", { name: "Sweep" });
  await sweep.click();
  await page.getByRole("dialog").getByText("No market is due: a sweep settles nothing now.").waitFor();
  await page.keyboard.press("Escape");
  const terms = { question: "Due now?", category: "crypto", kind: "lmsr", p0: 0.5 } as const;
  const closeAt = new Date(Date.now() + 1500).toISOString();
  const { id } = await operator.createMarket({ ...terms, closeAt, resolutionRef: "pm:eth > 5000" });
  await tenant.openMarket("mkt_person", { question: "By hand?", closeAt: Date.parse(closeAt) });
  await expect.poll(async () => (await operator.listRisk({ status: "closed" })).length, { timeout: 5000 }).toBe(2);
  const notice = await act(page, sweep, "The feed is back", async (dialog) => {
    await dialog.getByText(/^1 market is due and pays at most \$0\.00 in all\.$/).waitFor();
    expect(await dialog.locator("[data-id]").evaluateAll((rows) => rows.map((row) => row.dataset.id))).toEqual([id]);
    expect(await accessibilityProblems(page)).toEqual([]);
  });
  expect(notice).toMatch(/^Looked at 2, settled 0, left 0 to a person\. Entry \d+$/);
  // Without a reason and without a result there is nothing to record.
  await operator.sweepOracle({});
  expect(await tenant.audit("oracle.swept")).toEqual([
    {
      ...{ type: "oracle.swept", actor: "admin:ops" },
      payload: { watched: 2, settled: 0, held: 0, reason: "The feed is back" },
    },
  ]);
  tenant.services.sweeps.run = async () => ({
    ...{ watched: 1, asked: 1, settled: [], failures: [] },
    held: [{ marketId: "mkt_1", reason: "feed down" }],
  });
  await operator.sweepOracle({});
  expect(await tenant.audit("oracle.swept")).toHaveLength(2);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("a resolution leads to the entry with its evidence", async () => {
  await tenant.openMarket("mkt_1", { question: "Above <b>100000</b>?", closeAt: Date.now() + 2000 });
  const evidence = { ref: "pm:btc", price: "100500.5", strike: "100000" };
  const settle = () =>
    tenant.services.sequencer.submit({
      command: { type: "settleMarket", marketId: "mkt_1", outcome: "yes", oracle: { resolutionUrl: null, evidence } },
      actor: "oracle",
    });
  // Refused until the market has closed.
  const settled = () =>
    settle().then(
      () => true,
      () => false,
    );
  await expect.poll(settled, { timeout: 20_000 }).toBe(true);
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/oracle" });
  const resolution = page.getByRole("table", { name: "Resolutions" }).locator('[data-id="mkt_1"]');
  await resolution.waitFor();
  expect(await resolution.textContent()).toContain("Above <b>100000</b>?Yes100,500.5100,000pm:btc");
  await resolution.getByRole("link", { name: /^Entry/ }).click();
  await page.getByText('"price": "100500.5"').waitFor();
  expect(await title()).toMatch(/^Entry \d+$/);
  expect(troubles(complaints)).toEqual([]);
  await close();
});
