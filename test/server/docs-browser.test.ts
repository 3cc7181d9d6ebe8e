import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operationIds } from "../../src/contract/operations.ts";
import { accessibilityProblems, OUTPUT, openBrowser, openPage } from "../support/browser.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

let tenant: ServedTenant;
let browser: Browser;
beforeAll(async () => {
  [tenant, browser] = await Promise.all([serveTenant({ baseUrl: "https://predict.acme.example" }), openBrowser()]);
});
afterAll(async () => {
  await tenant?.close();
});

const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 320, height: 640 } } as const;
/** Rules that axe leaves out unless they are asked for. */
const RULES = ["target-size"];

/** Each kind of page, and the part of it that is looked at closely; the first is looked at whole. */
const PAGES = [
  { name: "overview", path: "/docs", part: undefined },
  { name: "tag", path: "/docs/trading", part: "#placeTrade" },
  { name: "refusals", path: "/docs/refusals", part: "#PRICE_BOUND" },
  { name: "search", path: "/docs?q=trade", part: ".hits" },
];

test.each([
  ["wide", "light"],
  ["narrow", "dark"],
] as const)("/docs in a browser on a %s screen, %s: nothing is amiss", async (size, colorScheme) => {
  const { page, complaints, close } = await openPage(browser, { colorScheme, viewport: SIZES[size] });
  const requested: string[] = [];
  page.on("request", (request) => requested.push(request.url()));
  for (const { name, path, part } of PAGES) {
    await page.goto(tenant.url + path);
    if (part?.startsWith("#")) await page.goto(tenant.url + path + part);
    await page.screenshot({ path: `${OUTPUT}docs-${name}-${size}-${colorScheme}.png` });
    expect(requested.splice(0)).toEqual([tenant.url + path]);
    const width = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect([name, width]).toEqual([name, SIZES[size].width]);
    expect([name, await accessibilityProblems(page, part, RULES)]).toEqual([name, []]);
  }
  expect(complaints).toEqual([]);
  await close();
});

test.each([
  ["placeTrade", "/docs/trading#placeTrade"],
  ["SLIPPAGE", "/docs/refusals#SLIPPAGE"],
  ["order.filled", "/docs/webhooks#order.filled"],
  ["sellValue", "/docs/trading#type-Position"],
  ["trade", "/docs/trading#placeTrade"],
  ["approve WITHDRAWAL", "/docs/money#approveWithdrawal"],
])("a search for %s finds it first", async (query, first) => {
  const { page, close } = await openPage(browser);
  await page.goto(`${tenant.url}/docs?q=${encodeURIComponent(query)}`);
  expect(await page.locator(".hits a").first().getAttribute("href")).toBe(first);
  await close();
});

test("a search for nothing is the overview, one for what is not there says so, and markup in it is text", async () => {
  const { page, complaints, close } = await openPage(browser);
  await page.goto(`${tenant.url}/docs?q=%20`);
  await page.getByRole("heading", { name: "Conventions" }).waitFor();
  await page.goto(`${tenant.url}/docs?q=${encodeURIComponent("<img src=x onerror=alert(1)>")}`);
  expect(await page.locator("main [role=status]").innerText()).toContain("Nothing was found for “<img src=x");
  expect(complaints).toEqual([]);
  await close();
});

test("every operation is found from the overview without scripts", async () => {
  const html = await (await fetch(`${tenant.url}/docs`)).text();
  for (const id of operationIds) expect(html).toContain(`#${id}">${id}</a>`);
});

test("an operation is found by the search with the keyboard alone", async () => {
  const { page, complaints, close } = await openPage(browser, { viewport: SIZES.wide });
  await page.goto(`${tenant.url}/docs`);
  await page.locator("#q").focus();
  await page.keyboard.type("settle market");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/docs?q=settle+market");
  await page.locator(".hits a", { hasText: "settleMarket" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/docs/markets#settleMarket");
  expect(await page.locator("nav [aria-current=page]").textContent()).toBe("markets");
  await page.locator("#settleMarket a", { hasText: "EXPECTATION_NOT_MET" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/docs/refusals#EXPECTATION_NOT_MET");
  expect(complaints).toEqual([]);
  await close();
});

test("a small screen begins with the text, and the contents are one touch away", async () => {
  const { page, close } = await openPage(browser, { viewport: SIZES.narrow });
  await page.goto(`${tenant.url}/docs/operations`);
  const top = (selector: string) => page.locator(selector).evaluate((one) => one.getBoundingClientRect().top);
  expect(await top("h1")).toBeLessThan(SIZES.narrow.height);
  await page.locator("main a[href='#contents']").click();
  await expect.poll(() => top("#contents")).toBeLessThan(100);
  await page.locator("nav a[href='#updatePolicy']").click();
  await expect.poll(() => top("#updatePolicy")).toBeLessThan(100);
  expect(await page.locator("#updatePolicy").evaluate((one) => one.matches(":target"))).toBe(true);
  await close();
});
