import { mkdirSync } from "node:fs";
import type { Frame, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WireResult } from "../../src/contract/operations.ts";
import { Languages } from "../../src/locales/languages.ts";
import { PUBLIC_KEY, userToken } from "../server/support/harness.ts";
import { accessibilityProblems, OUTPUT } from "../support/browser.ts";
import { fillTenant } from "./support/scenery.ts";
import { openStage, type Stage } from "./support/stage.ts";
import { buyElsewhere, part } from "./support/ticket.ts";

const PHONE = { viewport: { width: 375, height: 667 } };

let stage: Stage;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  stage = await openStage({ embed: { languages: new Languages({ categories: { crypto: { en: "Coins" } } }) } });
  await fillTenant(stage.tenant, "usr_1");
  await stage.tenant.deposit("usr_2", 900);
});
afterAll(() => stage?.close());

async function portfolio(): Promise<WireResult<"getPortfolio">> {
  const headers = { "x-api-key": PUBLIC_KEY, authorization: `Bearer ${await userToken()}` };
  const response = await fetch(`${stage.tenant.url}/v1/portfolio`, { headers });
  return response.json() as Promise<WireResult<"getPortfolio">>;
}
const focused = (frame: Frame): Promise<string> =>
  frame.evaluate("document.activeElement.dataset.pm ?? document.activeElement.dataset.market ?? ''");
const overflowOf = (frame: Frame) =>
  frame.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
const shoot = (page: Page, name: string) => page.screenshot({ path: `${OUTPUT}lists-${name}.png`, fullPage: true });
const pressed = (frame: Frame, name: string) => part(frame, name).getAttribute("aria-pressed");

/** What a page below the widget would have felt of its moves. */
const SHIFTS = `{
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
}`;
const BELOW = `if (top === window) addEventListener("DOMContentLoaded", () => {
  const text = document.createElement("p");
  text.textContent = "More news. ".repeat(300);
  document.querySelector("main").append(text);
})`;

test("a card below a long article opens with the side that was tapped, from the keyboard too, and back is where it was", async () => {
  const opened = await stage.open({ view: "markets", autoHeight: true }, PHONE, [
    `if (top === window) addEventListener("DOMContentLoaded", () => {
      const text = document.createElement("p");
      text.textContent = "An article. ".repeat(600);
      document.querySelector("h1")?.after(text);
    })`,
  ]);
  const { page, frame, complaints, close } = opened;
  const card = part(frame, "card").filter({ hasText: "Bitcoin" });
  expect(await part(frame, "category").allInnerTexts()).toContain("Coins");
  expect(await card.locator(".foot").innerText()).toMatch(/Closes \w+ \d+, 20\d\d/);
  const no = card.getByRole("button", { name: /^No, \d+%: Will Bitcoin/ });
  // The browser draws no frame that is out of sight.
  await page.evaluate("document.querySelector('iframe').scrollIntoView()");
  await no.scrollIntoViewIfNeeded();
  const before = await page.evaluate<number>("scrollY");
  await no.click();
  await part(frame, "side-no").waitFor();
  expect(await pressed(frame, "side-no")).toBe("true");
  const top = () => page.locator("iframe").evaluate((one) => Math.round(one.getBoundingClientRect().top));
  await expect.poll(top).toBeGreaterThanOrEqual(0);
  expect(await top()).toBeLessThan(667 / 2);
  await part(frame, "back").click();
  await expect.poll(() => page.evaluate<number>("scrollY")).toBe(before);
  expect(await focused(frame)).toBe("mkt_0");

  await page.keyboard.press("Tab");
  expect(await focused(frame)).toBe("card-yes");
  await page.keyboard.press("Enter");
  await part(frame, "side-yes").waitFor();
  expect(await pressed(frame, "side-yes")).toBe("true");
  expect(complaints).toEqual([]);
  await close();
});

test("a list is readable in light and dark, in Arabic, in readers' own colours and in a column of 200 pixels", async () => {
  const { page, frame, close } = await stage.open({ view: "markets", theme: "light", autoHeight: true }, PHONE, [
    SHIFTS,
    BELOW,
  ]);
  await frame.locator('[data-state="live"]').waitFor();
  expect(await page.evaluate<number>("shift")).toBeLessThan(0.02);
  for (const theme of ["light", "dark"]) {
    await page.evaluate(`embeds[0].setTheme("${theme}")`);
    await frame.locator(`[data-theme="${theme}"] body`).waitFor();
    expect(await accessibilityProblems(frame, undefined, ["target-size"])).toEqual([]);
    await shoot(page, `markets-${theme}`);
  }
  await part(frame, "search").fill("none such");
  await frame.getByText("No open market fits these words.").waitFor();
  await part(frame, "search").fill("");
  await page.evaluate("embeds[0].update({ locale: 'ar' })");
  await frame.locator('html[dir="rtl"]').waitFor();
  await shoot(page, "markets-ar");
  await page.emulateMedia({ forcedColors: "active" });
  await shoot(page, "markets-forced");
  await page.setViewportSize({ width: 216, height: 700 });
  await expect.poll(() => frame.evaluate<number>("innerWidth")).toBeLessThanOrEqual(200);
  expect(await overflowOf(frame)).toBe(0);
  await close();
});

test("a portfolio says what selling now pays, keeps to it as prices move, and leads to the sale", async () => {
  const { page, frame, requests, complaints, close } = await stage.open(
    { view: "portfolio", token: await userToken(), theme: "light", autoHeight: true },
    { viewport: { width: 716, height: 900 } },
    [SHIFTS, BELOW],
  );
  const position = part(frame, "position").first();
  await position.waitFor();
  expect(await page.evaluate<number>("shift")).toBeLessThan(0.02);
  const own = await portfolio();
  const values = await part(frame, "position-value").allInnerTexts();
  const dollars = (usd: number) => `$${usd.toFixed(2)}`;
  expect(values).toEqual(own.positions.map(({ sellValue }) => dollars(sellValue)));
  expect(await frame.locator(".tiles dd").allInnerTexts()).toEqual([
    dollars(own.wallet.balanceUsd),
    dollars(own.sellValueUsd),
    expect.stringMatching(/^-\$/),
  ]);
  expect(await frame.getByText(/You won \$\d/).count()).toBe(1);
  for (const theme of ["light", "dark"]) {
    await page.evaluate(`embeds[0].setTheme("${theme}")`);
    await frame.locator(`[data-theme="${theme}"] body`).waitFor();
    expect(await accessibilityProblems(frame, undefined, ["target-size"])).toEqual([]);
    await shoot(page, `portfolio-${theme}`);
  }

  // The other side's shares gain what a rival's purchase costs these.
  await frame.locator('[data-state="live"]').waitFor();
  await buyElsewhere(stage, { marketId: "mkt_1", traderId: "usr_2", side: "yes", dollars: 40 });
  const moved = frame.locator("li", { hasText: "gold" }).locator('[data-pm="position-value"]');
  const after = async () =>
    dollars((await portfolio()).positions.find(({ marketId }) => marketId === "mkt_1")?.sellValue ?? 0);
  await expect.poll(() => moved.innerText()).toBe(await after());
  expect(requests.filter((path) => path === "/embed/data/portfolio").length).toBe(2);

  await frame.getByRole("button", { name: /^Cash out \$[\d.]+: No, Will an ounce of gold/ }).click();
  await part(frame, "shares").waitFor();
  const held = own.positions.find(({ marketId }) => marketId === "mkt_1")?.shares;
  expect(await part(frame, "shares").inputValue()).toBe(String(held));
  expect(await pressed(frame, "side-no")).toBe("true");
  await part(frame, "back").click();
  await part(frame, "sell").first().click();
  await part(frame, "shares").waitFor();
  expect(await part(frame, "shares").inputValue()).toBe("");
  await part(frame, "back").click();
  await position.waitFor();
  await page.evaluate("embeds[0].update({ locale: 'ar' })");
  await frame.locator('html[dir="rtl"]').waitFor();
  await page.setViewportSize({ width: 391, height: 700 });
  await shoot(page, "portfolio-ar");
  await page.setViewportSize({ width: 216, height: 700 });
  await expect.poll(() => frame.evaluate<number>("innerWidth")).toBeLessThanOrEqual(200);
  expect(await overflowOf(frame)).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});
