import { mkdirSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PUBLIC_KEY, userToken } from "../server/support/harness.ts";
import { type ServedTenant, serveTenant } from "../server/support/tenant.ts";
import { accessibilityProblems, OUTPUT, openBrowser, openPage } from "../support/browser.ts";
import { fillTenant } from "./support/scenery.ts";

const embed = { name: "Demo Markets", publicKeys: [PUBLIC_KEY], allowedOrigins: [] };

let tenant: ServedTenant;
let browser: Browser;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  const tokens = async () => ({ alice: await userToken({ sub: "alice" }), bob: await userToken({ sub: "bob" }) });
  [tenant, browser] = await Promise.all([
    serveTenant({ embed, playground: { tokens, crowd: ["carol"] } }),
    openBrowser(),
  ]);
  await fillTenant(tenant, "alice");
  await tenant.deposit("bob", 500);
});
afterAll(async () => {
  await tenant?.close();
});

describe("the page is readable by everybody", () => {
  test.each([
    [1280, "light"],
    [320, "dark"],
  ] as const)("at %i pixels, %s", async (width, theme) => {
    const { page, complaints, close } = await openPage(browser, { viewport: { width, height: 800 } });
    const foreign: string[] = [];
    page.on("request", (request) => foreign.push(request.url()));
    await page.goto(`${tenant.url}/playground`);
    await page.getByRole("radio", { name: theme }).check();
    const frames = ["market", "portfolio", "markets"].map((view) => page.frameLocator(`#${view} iframe`));
    await frames[0]?.locator(".is-live").waitFor();
    await frames[1]?.locator(".tiles").waitFor();
    await page.locator("#markets").scrollIntoViewIfNeeded();
    await frames[2]?.locator(".trending").waitFor();
    for (const place of ["#card iframe", "#compare iframe", "#element iframe"]) {
      await page.locator(place).scrollIntoViewIfNeeded();
      await page.frameLocator(place).locator("#app:not([data-static]) main").waitFor();
    }
    await expect.poll(() => page.evaluate("document.querySelector('#tile img').naturalWidth")).toBe(600);
    await expect.poll(() => frames[2]?.locator("html").getAttribute("data-theme")).toBe(theme);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
    await page.evaluate("scrollTo(0, 0)");
    await page.screenshot({ path: `${OUTPUT}playground-${theme}-${width}.png`, fullPage: true });
    expect(foreign.filter((url) => !url.startsWith(tenant.url))).toEqual([]);
    // A stream ends when its frame gives it up.
    expect(complaints).toEqual([]);
    await close();
  });
});

test("alice trades in the widget, bob moves her price from the page around, and signing out ends her positions", async () => {
  const { page, close } = await openPage(browser);
  await page.goto(`${tenant.url}/playground`);
  const market = page.frameLocator("#market iframe");
  await market.locator(".is-live").waitFor();
  const price = () => market.locator(".facts .big").innerText();
  const before = await price();
  await page.getByRole("button", { name: "Bob buys $40 of No" }).click();
  await expect.poll(price).not.toBe(before);
  await market.getByRole("button", { name: /^Buy Yes/ }).click();
  await market.getByRole("button", { name: /^Confirm/ }).click();
  await page.getByText("market: trade").waitFor();
  await page.getByRole("radio", { name: "no user" }).check();
  await page.frameLocator("#portfolio iframe").getByRole("button", { name: "Sign in" }).waitFor();
  await close();
});

test("a market's page leads to the playground with this market, and its preview does too", async () => {
  const { page, close } = await openPage(browser);
  await page.goto(`${tenant.url}/m/mkt_3`);
  await page.frameLocator(".widget iframe").getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${tenant.url}/playground?market=mkt_3`);
  await page
    .frameLocator("#market iframe")
    .getByRole("heading", { name: /one euro/ })
    .waitFor();
  await page.goto(`${tenant.url}/docs/embed?marketId=mkt_3`);
  const preview = page.frameLocator("#preview iframe");
  await preview.locator("[data-pm=side-no]").click();
  await preview.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${tenant.url}/playground?market=mkt_3`);
  await close();
});

test("the code of each widget stands beside it, for the theme and language that are chosen", async () => {
  const { page, close } = await openPage(browser);
  await page.goto(`${tenant.url}/playground`);
  await page.locator("#locale").selectOption("de");
  await page.getByRole("radio", { name: "light" }).check();
  for (const view of ["market", "portfolio", "card", "compare", "markets"]) {
    const code = await page.locator(`[data-code=${view}]`).textContent();
    expect(code).toContain(`<script src="${tenant.url}/assets/v1/embed.js"></script>\n<div id="prediction-${view}-`);
    expect(code).toContain(`{"view":"${view}","theme":"light",`);
    expect(code).toContain('"locale":"de"');
  }
  expect(await page.locator("[data-code=element]").textContent()).toMatch(
    /<prediction-market market="mkt_\d" view="card" theme="light" locale="de" height="\d+" auto-height>/,
  );
  expect(await page.locator("[data-code=tile]").textContent()).toMatch(
    /\/m\/mkt_\d\/tile\.png\?theme=light&amp;locale=de"/,
  );
  await page.locator("summary", { hasText: "One market" }).press("Enter");
  await page.locator("[data-code=market]").waitFor();
  await expect.poll(() => page.frameLocator("#market iframe").locator("html").getAttribute("lang")).toBe("de");
  await close();
});
