import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { pauseAfter } from "../../src/console/live/pause.ts";
import {
  lossIf,
  risksBySymbol,
  supposedAt,
  supposedIn,
  unlisted,
  worstCase,
} from "../../src/console/views/risk/what-if.ts";
import { parseDecimal } from "../../src/domain/decimal.ts";
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

/** What sticks out of the place it scrolls in, by the place's name. */
const outsideTheirPlace = (page: Page) =>
  page.evaluate<string[]>(
    "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.ariaLabel)",
  );

/** The roles and names that the browser tells a screen reader about the tables of a page. */
async function cellsInTree(page: Page): Promise<string[]> {
  const browser = await page.context().newCDPSession(page);
  const { nodes } = await browser.send("Accessibility.getFullAXTree");
  return nodes
    .map(({ role, name }) => `${role?.value} ${name?.value}`)
    .filter((told) => /^(table|row|columnheader|cell) /.test(told));
}

test("in a narrow window rows are blocks of named values, and the link of the present view is in sight", async () => {
  const { page, close } = await openConsole(tenant, { path: "/markets", viewport: { width: 320, height: 700 } });
  await rowOf(page, "mkt_1").waitFor();
  expect(await outsideTheirPlace(page)).toEqual([]);
  const label = 'getComputedStyle(document.querySelector("[data-id=mkt_1] td:nth-child(5)"), "::before").content';
  expect(await page.evaluate(label)).toContain("Volume in 24 h");
  for (const name of ["System", "Today"]) {
    await page.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    const link = await page.locator("nav [aria-current=page]").boundingBox();
    expect(link?.x).toBeGreaterThanOrEqual(0);
    expect((link?.x ?? 0) + (link?.width ?? 320)).toBeLessThanOrEqual(320);
  }
  await page.setViewportSize({ width: 2560, height: 1200 });
  expect(await page.evaluate("document.querySelector('main').getBoundingClientRect().right")).toBe(2560);
  await close();
});

test("a report that takes a second is repeated after twenty, however much is traded", () => {
  expect([5, 300, 999, 1000, 3000].map((ms) => pauseAfter(ms, true))).toEqual([1000, 1200, 3996, 19_000, 57_000]);
  expect(pauseAfter(3000)).toBe(12_000);
});

test("the cost of a supposed outcome is its payout less the stakes, exact to the micro-dollar", () => {
  const risk = { marketId: "mkt_1", maxLiability: 4, yesPayout: 14, noPayout: 3, stakes: 10 };
  expect([lossIf(risk, "yes"), lossIf(risk, "no")]).toEqual([4, -7]);
  expect(lossIf({ ...risk, maxLiability: 0, yesPayout: 0.1, stakes: 0.3 }, "yes")).toBe(-0.2);
  const risks = [
    risk,
    { ...risk, marketId: "mkt_2", maxLiability: 0.1 },
    { ...risk, marketId: "mkt_3", maxLiability: 0.2 },
  ];
  expect(worstCase(risks, {})).toEqual({ worst: 4.3, supposed: 0, rest: 4.3 });
  expect(worstCase(risks, { mkt_1: "no" })).toEqual({ worst: 4.3, supposed: -7, rest: 0.3 });
  expect(worstCase(risks, { mkt_1: "no" }, 10.1)).toEqual({ worst: 10.1, supposed: -7, rest: 6.1 });
});

test("markets on one symbol lose together at one price: each strike and each stretch between them is tried", () => {
  const on = (marketId: string, comparator: ">" | ">=" | "<=" | "between", strike: string, upperStrike?: string) => ({
    ...{ marketId, maxLiability: 10, yesPayout: 20, noPayout: 4, stakes: 10 },
    terms: { feed: "pm:btc", comparator, strike, upperStrike: upperStrike ?? null, instant: "2031-01-01T00:00:00Z" },
  });
  const risks = [
    on("above", ">", "100"),
    on("below", "<=", "100"),
    on("band", "between", "-1.5", "100"),
    { ...on("x", ">", "1"), terms: null },
  ];
  const [symbol, ...others] = risksBySymbol(risks);
  expect(others).toEqual([]);
  // Alone each can lose 10. Above and below exclude each other; below and band lose together from -1.5 to 100.
  expect(symbol).toMatchObject({ feed: "pm:btc", worst: 14, worstAt: "at -1.5" });
  expect(symbol?.risks.map(({ marketId }) => marketId)).toEqual(["above", "below", "band"]);
  const at = (price: string) => supposedAt(symbol?.risks ?? [], parseDecimal(price) ?? { units: 0n, scale: 0 });
  expect(at("100")).toEqual({ above: "no", below: "yes", band: "yes" });
  expect(at("100.00000000000000001")).toEqual({ above: "yes", below: "no", band: "no" });
  expect(risksBySymbol([on("alone", ">=", "0.1")])).toMatchObject([{ worst: 10, worstAt: "at 0.1" }]);
  expect(risksBySymbol([on("alone", ">", "0.1")])).toMatchObject([{ worst: 10, worstAt: "above 0.1" }]);
});

test("what an address supposes counts for listed markets and symbols alone, whatever else it says", () => {
  const risk = { marketId: "mkt_1", maxLiability: 4, yesPayout: 14, noPayout: 3, stakes: 10 };
  const terms = {
    feed: "pm:btc",
    comparator: ">" as const,
    strike: "1",
    upperStrike: null,
    instant: "2031-01-01T00:00:00Z",
  };
  const risks = [risk, { ...risk, marketId: "mkt_2", terms }];
  const symbols = risksBySymbol(risks);
  const of = (query: string) => Object.fromEntries(new URLSearchParams(query));
  const supposed = (query: string) => supposedIn(of(query), risks, symbols);
  expect(supposed("settles.mkt_1=no&price.pm:btc=2")).toEqual({ mkt_1: "no", mkt_2: "yes" });
  expect(supposed("settles.mkt_2=no&price.pm:btc=2")).toEqual({ mkt_2: "no" });
  const hostile = "settles.mkt_1=void&price.pm:btc=1e999&settles.__proto__=yes&price.x=1&__proto__=yes&days=7";
  expect(supposed(hostile)).toEqual({});
  expect(unlisted(of(hostile), risks, symbols)).toBe(2);
});

test("Overview compares the period in the address with the one before, draws each day, and leads to the rows", async () => {
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/overview?days=7" });
  const { now, days } = await operator().getDailyReport({ periodDays: 7 });
  await rowOf(page, "Volume").waitFor();
  expect(await title()).toBe("Overview");
  for (const [name, value] of [
    ["Volume", now.volume],
    ["Exposure at the end", now.exposure],
  ] as const)
    expect(await rowOf(page, name).locator("data").first().getAttribute("value")).toBe(String(value));
  expect(await rowOf(page, "Active traders").locator("td").nth(1).textContent()).toBe("1");
  expect(await rowOf(page, "Volume").textContent()).toContain("new");
  const linkOf = (name: string) => rowOf(page, name).getByRole("link").first().getAttribute("href");
  const period = `since=${days[0]?.day.slice(0, 10)}T00%3A00%3A00.000Z&until=`;
  for (const name of ["Volume", "Fees"]) expect(await linkOf(name)).toContain(`type=trade.executed&${period}`);
  expect(await linkOf("Settled markets")).toContain(`type=market.settled&${period}`);
  for (const [name, table] of Object.entries({ "House result": "Categories", "Active traders": "Traders" }))
    expect(
      await page
        .locator(`${await linkOf(name)}`)
        .getByRole("table", { name: table })
        .count(),
    ).toBe(1);
  for (const name of ["Volume", "Fees", "House result", "Active traders", "Exposure"]) {
    await page.getByText(`${name} as a table`, { exact: true }).click();
    const values = page.getByRole("table", { name, exact: true }).locator("tbody tr");
    await expect.poll(() => values.count()).toBe(7);
  }
  await page.getByRole("link", { name: "usr_1" }).waitFor();
  expect(await page.locator("code").last().textContent()).toBe("pmctl report daily --days 7 -t acme");
  for (const stated of ["30", "14", "7"]) {
    await page.goto(`${tenant.server.opsUrl}/console/overview?days=${stated}`);
    await expect.poll(() => page.getByLabel("Period").inputValue()).toBe(stated);
  }
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 720, height: 1000 });
  const widths = () =>
    page.evaluate<number[]>(
      "[...document.querySelectorAll('.plot canvas')].map((each) => each.getBoundingClientRect().right)",
    );
  expect(Math.max(...(await widths()))).toBeLessThanOrEqual(720);
  await page.emulateMedia({ media: "screen" });
  await page.setViewportSize({ width: 320, height: 700 });
  expect((await page.getByRole("navigation", { name: "Views" }).boundingBox())?.height).toBeLessThan(70);
  expect(await outsideTheirPlace(page)).toEqual([]);
  expect(await accessibilityProblems(page)).toEqual([]);
  const narrow = await cellsInTree(page);
  await page.setViewportSize({ width: 1280, height: 720 });
  expect(narrow).toContain("columnheader In the period before");
  expect(narrow).toEqual(await cellsInTree(page));
  await page.goto(`${tenant.server.opsUrl}/console/overview`);
  const every = page.getByRole("table", { name: "Days" }).locator("tbody tr");
  await page.getByRole("button", { name: "Show 16 of 16 more" }).click();
  await expect.poll(() => every.count()).toBe(30);
  await page.getByRole("combobox", { name: "Period" }).selectOption("1");
  await expect.poll(() => new URL(page.url()).search).toBe("?days=1");
  const listed = page.getByRole("table", { name: "Days" }).locator("tbody tr");
  await expect.poll(() => listed.count()).toBe(1);
  await page.addInitScript(`
    globalThis.written = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      written.push(text);
      return write.call(this, text, ...place);
    };
  `);
  await page.reload();
  const axes = () => page.evaluate<string>("[...new Set(written)].filter((each) => /[a-z]/i.test(each)).join()");
  await expect.poll(axes).toMatch(/^[A-Z][a-z]{2} \d+$/);
  const today = days.at(-1)?.day.slice(0, 10) ?? "";
  await rowOf(page, today).getByRole("link").click();
  await page.getByRole("heading", { name: "Record", level: 1 }).waitFor();
  await page.getByRole("table", { name: "Entries" }).waitFor();
  expect(new URL(page.url()).searchParams.get("since")).toBe(`${today}T00:00:00.000Z`);
  const since = (await operator().listAudit({ since: `${today}T00:00:00.000Z` })).entries;
  await expect.poll(() => page.getByRole("table", { name: "Entries" }).locator("tbody tr").count()).toBe(since.length);
  expect(await page.locator("code").last().textContent()).toContain("--until ");
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("Risk sums the worst case by market, symbol and category, and says what a supposed outcome or price would cost", async () => {
  const terms = { question: "Will BTC be above 100000?", category: "crypto", kind: "lmsr", p0: 0.5 } as const;
  const closeAt = new Date(Date.now() + 3_600_000).toISOString();
  const { id } = await operator().createMarket({ ...terms, closeAt, resolutionRef: "pm:btc > 100000" });
  await localApi(tenant.services.handlers, { actor: "user:usr_1", user: { id: "usr_1" } }).placeTrade({
    ...{ marketId: id, selection: { side: "yes" }, amount: 10 },
  });
  const { page, complaints, close } = await openConsole(tenant, { path: "/risk" });
  const risks = await operator().listRisk({ status: "unsettled" });
  const riskOf = (marketId: string) => risks.find((each) => each.marketId === marketId) ?? expect.fail(marketId);
  await rowOf(page, "mkt_1").waitFor();
  const fact = (name: string) => page.locator("dl.facts div", { hasText: name }).locator("data").getAttribute("value");
  /** Below 0 for a gain. */
  const supposed = async () => {
    const stated = page.locator("dl.facts div", { hasText: "of what is supposed" });
    const sign = (await stated.textContent())?.startsWith("Gain") ? -1 : 1;
    return sign * Number(await stated.locator("data").getAttribute("value"));
  };
  await page.getByText("A void may cost more: its dialog says how much.").waitFor();
  expect(Number(await fact("The house can lose at most"))).toBe(worstCase(risks, {}).worst);
  expect(Number(await fact("In the treasury"))).toBe((await operator().getConfig({})).treasuryUsd);
  await page.getByLabel(/Suppose that it settles: Will mkt_1/).selectOption("no");
  expect(await supposed()).toBe(lossIf(riskOf("mkt_1"), "no"));
  const symbol = rowOf(page, "pm:btc");
  expect(await symbol.textContent()).toContain("above 100000");
  const slider = page.getByRole("slider", { name: "Price of pm:btc" });
  await slider.focus();
  await page.keyboard.press("End");
  const both = () => worstCase(risks, { mkt_1: "no", [id]: "yes" }).supposed;
  await expect.poll(supposed).toBe(both());
  expect(await slider.getAttribute("aria-valuetext")).toBe("125000");
  expect(await symbol.textContent()).toContain("75,000 to 125,000");
  await page.getByRole("textbox", { name: "Exact price of pm:btc" }).fill("100000");
  await expect.poll(supposed).toBe(worstCase(risks, { mkt_1: "no", [id]: "no" }).supposed);
  const ofIt = page.getByLabel(/Suppose that it settles: Will BTC/);
  await ofIt.selectOption("yes");
  await symbol.getByText(`${id} counts as supposed: Yes, against this price`).waitFor();
  expect(await symbol.locator("data").last().getAttribute("value")).toBe(String(lossIf(riskOf(id), "yes")));
  await ofIt.selectOption("");
  // A reload, and so a sent link, supposes the same.
  const settles = page.getByLabel(/Suppose that it settles: Will mkt_1/);
  await expect.poll(() => new URL(page.url()).search).toBe("?settles.mkt_1=no&price.pm%3Abtc=100000");
  await page.reload();
  await expect.poll(supposed).toBe(worstCase(risks, { mkt_1: "no", [id]: "no" }).supposed);
  expect(await settles.inputValue()).toBe("no");
  expect(await page.getByRole("textbox", { name: "Exact price of pm:btc" }).inputValue()).toBe("100000");
  await settles.selectOption("");
  await expect.poll(() => new URL(page.url()).search).toBe("?price.pm%3Abtc=100000");
  await page.goto(`${tenant.server.opsUrl}/console/risk?settles.gone=yes&price.pm:btc=%3Cb%3E`);
  await page.getByText("Of what the address supposes, 1 counts for nothing").waitFor();
  const category = rowOf(page, "crypto").locator("data");
  expect(await category.getAttribute("value")).toBe(String(riskOf(id).maxLiability));
  await page.getByText("No open trade is tagged as a hedge.").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});
