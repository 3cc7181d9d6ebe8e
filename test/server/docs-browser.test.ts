import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operationIds } from "../../src/contract/operations.ts";
import { accessibilityProblems, OUTPUT, openBrowser, openPage } from "../support/browser.ts";
import { type ServedTenant, serveTenant } from "./support/tenant.ts";

let tenant: ServedTenant;
let browser: Browser;
beforeAll(async () => {
  [tenant, browser] = await Promise.all([serveTenant(), openBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await tenant?.close();
});

const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 320, height: 640 } } as const;

describe.each(["light", "dark"] as const)("/docs in a browser, %s", (colorScheme) => {
  test.each(["wide", "narrow"] as const)("on a %s screen nothing is amiss", async (size) => {
    const { page, complaints, close } = await openPage(browser, { colorScheme, viewport: SIZES[size] });
    const requested: string[] = [];
    page.on("request", (request) => requested.push(request.url()));
    await page.goto(`${tenant.url}/docs`);
    await page.screenshot({ path: `${OUTPUT}docs-${size}-${colorScheme}.png` });
    expect(complaints).toEqual([]);
    expect(requested).toEqual([`${tenant.url}/docs`]);
    const width = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect(width).toBeLessThanOrEqual(SIZES[size].width);
    // A long page of parts that are alike: one of the four is looked at in full, one part of it in the other colours.
    if (size === "wide" && colorScheme === "light") expect(await accessibilityProblems(page)).toEqual([]);
    if (size === "narrow" && colorScheme === "dark")
      expect(await accessibilityProblems(page, "#placeTrade")).toEqual([]);
    await page.goto(`${tenant.url}/docs#placeTrade`);
    await page.screenshot({ path: `${OUTPUT}docs-trade-${size}-${colorScheme}.png` });
    await close();
  });
});

test("every operation is found from the menu, and a link can be shared", async () => {
  const { page, complaints, close } = await openPage(browser, { viewport: SIZES.wide });
  await page.goto(`${tenant.url}/docs`);
  const links = await page.locator("nav a[href^='#']").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  expect(links).toEqual(expect.arrayContaining(operationIds.map((id) => `#${id}`)));
  await page.locator("nav a[href='#settleMarket']").click();
  await expect
    .poll(() => page.locator("#settleMarket").evaluate((one) => Math.round(one.getBoundingClientRect().top)))
    .toBeLessThan(100);
  expect(page.url()).toBe(`${tenant.url}/docs#settleMarket`);
  await page.goto(`${tenant.url}/docs#placeTrade`);
  expect(await page.locator("#placeTrade").evaluate((one) => one.matches(":target"))).toBe(true);
  expect(complaints).toEqual([]);
  await close();
});

test("a small screen begins with the text, and the contents are one touch away", async () => {
  const { page, close } = await openPage(browser, { viewport: SIZES.narrow });
  await page.goto(`${tenant.url}/docs`);
  await page.locator("main a[href='#contents']").click();
  await expect
    .poll(() => page.locator("#contents").evaluate((one) => one.getBoundingClientRect().top))
    .toBeLessThan(100);
  await page.locator("nav a[href='#type-Policy']").click();
  await expect
    .poll(() => page.locator("#type-Policy").evaluate((one) => one.getBoundingClientRect().top))
    .toBeLessThan(100);
  await close();
});
