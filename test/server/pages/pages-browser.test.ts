import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessibilityProblems, openBrowser, openPage } from "../../support/browser.ts";
import { PUBLIC_KEY } from "../support/harness.ts";
import { type ServedTenant, serveTenant } from "../support/tenant.ts";

let tenant: ServedTenant;
let browser: Browser;
beforeAll(async () => {
  const embed = { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: ["https://news.example"] };
  [tenant, browser] = await Promise.all([serveTenant({ embed }), openBrowser()]);
  await tenant.openMarket("mkt_a", {
    question: "Will it rain in Bern?",
    meta: JSON.stringify({ description: "Yes if it rains." }),
    resolutionRef: "https://weather.example/bern",
  });
  await tenant.openMarket("mkt_b", { question: "هل ستمطر غدًا؟" });
});
afterAll(async () => {
  await tenant?.close();
});

test("without scripts a reader finds a market, reads all of it, and goes back", async () => {
  const { page, complaints, close } = await openPage(browser, {
    javaScriptEnabled: false,
    viewport: { width: 360, height: 700 },
  });
  await page.goto(`${tenant.url}/?locale=de`);
  await page.getByRole("searchbox").fill("rain");
  await page.getByRole("button", { name: "Suchen" }).click();
  await page.getByRole("link", { name: "Will it rain in Bern?" }).click();
  expect(new URL(page.url()).pathname).toBe("/m/mkt_a");
  expect(await page.locator("h1").innerText()).toBe("Will it rain in Bern?");
  for (const part of ["chance", "closes", "rules", "source"])
    expect(await page.locator(`[data-pm=${part}]`).isVisible()).toBe(true);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  await page.getByRole("link", { name: "Acme" }).click();
  expect(await page.locator("li h2").count()).toBe(2);
  expect(complaints).toEqual([]);
  await close();
});

test("with scripts the widget takes the card's place and may trade, and nothing is refused by the policy", async () => {
  const { page, complaints, close } = await openPage(browser, { viewport: { width: 800, height: 900 } });
  await page.goto(`${tenant.url}/m/mkt_a`);
  await page.waitForSelector("html.live");
  const frame = page.frameLocator("iframe");
  await frame.locator("h1").waitFor();
  expect(await page.locator(".card [data-pm=chance]").isVisible()).toBe(false);
  expect(await page.locator("iframe").getAttribute("src")).toContain(`host=${encodeURIComponent(tenant.url)}`);
  expect(await frame.getByRole("button", { name: /sign in/i }).count()).toBe(1);
  const refusal = frame.locator("[data-pm=refusal]");
  expect(await refusal.innerText()).toContain("Here you can only look. You can trade on the site of Acme.");
  const link = refusal.getByRole("link", { name: "Acme" });
  const stated = await Promise.all(["href", "target", "rel"].map((name) => link.getAttribute(name)));
  expect(stated).toEqual(["https://news.example", "_blank", "noopener"]);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

describe("a tenant without a page that takes trades", () => {
  const baseUrl = "https://predict.acme.example";
  let alone: ServedTenant;
  beforeAll(async () => {
    alone = await serveTenant({ embed: { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: [], baseUrl } });
    await alone.openMarket("mkt_a");
  });
  afterAll(() => alone?.close());

  test("has no sign-in on its market pages, and the widget there promises no site", async () => {
    const { page, complaints, close } = await openPage(browser, { viewport: { width: 800, height: 900 } });
    await page.goto(`${alone.url}/m/mkt_a`);
    const frame = page.frameLocator("iframe");
    await frame.locator("[data-pm=refusal]").waitFor();
    expect(await frame.locator("[data-pm=refusal]").innerText()).toBe("Here you can only look.");
    expect(await frame.locator("[data-pm=way-out], [data-pm=refusal] a").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test("is linked to from pages of other sites by its own address, and never from its own pages", async () => {
    const linked = async (host: string) => {
      const query = new URLSearchParams({ marketId: "mkt_a", host });
      const data = (await (await fetch(`${alone.url}/embed/data/market?${query}`)).json()) as {
        tradeAt: string | null;
      };
      return data.tradeAt;
    };
    expect(await linked("https://blog.example")).toBe(baseUrl);
    expect(await linked(baseUrl)).toBe(null);
    expect(await linked(alone.url)).toBe(null);
  });
});

test.each([
  ["/m/mkt_b?locale=ar", "dark"],
  ["/?locale=ar", "light"],
  ["/m/mkt_none", "dark"],
] as const)("%s can be read with assistive technology in %s colours", async (path, colorScheme) => {
  const { page, close } = await openPage(browser, { colorScheme, viewport: { width: 360, height: 700 } });
  await page.goto(tenant.url + path);
  expect(await accessibilityProblems(page)).toEqual([]);
  await close();
});
