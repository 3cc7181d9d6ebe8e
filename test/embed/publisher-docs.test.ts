import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { snippetWithPolicy } from "../../src/cli/embed/embed.ts";
import { PUBLIC_KEY } from "../server/support/harness.ts";
import { type ServedTenant, serveTenant } from "../server/support/tenant.ts";
import { accessibilityProblems, OUTPUT, openBrowser, openPage } from "../support/browser.ts";
import { fillTenant } from "./support/scenery.ts";

const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 320, height: 640 } } as const;

let tenant: ServedTenant;
let browser: Browser;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  const embed = {
    name: "Acme <Markets>",
    publicKeys: [PUBLIC_KEY],
    allowedOrigins: [],
  };
  [tenant, browser] = await Promise.all([serveTenant({ embed }), openBrowser()]);
  await fillTenant(tenant, "alice");
});
afterAll(async () => {
  await tenant?.close();
});

const hashOf = (text = "") => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const snippetOn = (page: Page): Promise<string | null> => page.locator("[data-pm=configured]").textContent();

/** The element's attributes that the page explains. */
async function attributesTold(): Promise<(string | undefined)[]> {
  const html = await (await fetch(`${tenant.url}/docs/embed`)).text();
  const [, table = ""] = /<h2 id="the-element">[\s\S]*?<tbody>([\s\S]*?)<\/tbody>/.exec(html) ?? [];
  return [...table.matchAll(/<tr>\s*<t[hd][^>]*><code>([^<]+)<\/code>/g)].map(([, name]) => name);
}

describe("the configurator", () => {
  test("writes the command's text at once, and the widget beside it follows in place", async () => {
    const { page, complaints, close } = await openPage(browser, { viewport: SIZES.wide });
    await page.goto(`${tenant.url}/docs/embed`);
    const frame = page.frameLocator("#preview iframe");
    await frame.locator(".is-live").waitFor();
    const first = await page.locator("[name=market]").inputValue();
    const written = (more: object) => {
      const usual = { view: "market", theme: "auto", marketIds: [first], title: "Prediction market" } as const;
      return snippetWithPolicy("script", { origin: tenant.url, ...usual, ...more });
    };
    expect(await snippetOn(page)).toBe(written({}).html.join("\n"));
    await expect.poll(() => page.locator("#snippet-policy").textContent()).toBe(written({}).csp);
    const frameUrl = () => page.frames()[1]?.url() ?? "";

    await page.locator("[name=market]").selectOption("mkt_1");
    expect(await snippetOn(page)).toBe(written({ marketIds: ["mkt_1"] }).html.join("\n"));
    await frame.getByRole("heading", { name: /ounce of gold/ }).waitFor();
    expect(frameUrl()).toContain("marketId=mkt_1");
    await page.locator("[name=marketId]").fill("mkt_3");
    await frame.getByRole("heading", { name: /one euro/ }).waitFor();
    await page.locator("[name=marketId]").fill("");
    // No page of this tenant takes trades.
    expect(await frame.locator("[data-action=signin]").count()).toBe(0);
    await page.locator("[name=theme]").selectOption("light");
    await expect.poll(() => frame.locator("html").getAttribute("data-theme")).toBe("light");
    await page.locator("[name=locale]").selectOption("de");
    await expect.poll(() => frame.locator("html").getAttribute("lang")).toBe("de");
    expect(frameUrl()).toContain("locale=de");
    await page.locator("[name=consent]").selectOption("false");
    await page.locator("[name=loading]").selectOption("eager");
    await page.locator("[name=height]").fill("700");
    const terms = { marketIds: ["mkt_1"], theme: "light", locale: "de", heightPx: 700, loading: "eager" } as const;
    expect(await snippetOn(page)).toBe(written({ ...terms, consent: false }).html.join("\n"));
    for (const view of ["card", "markets", "portfolio", "compare"]) {
      await page.locator("[name=view]").selectOption(view);
      expect(await snippetOn(page)).toContain(`{"view":"${view}"`);
      await expect.poll(frameUrl).toContain(`/embed/${view}?`);
    }
    // The address makes the same page again.
    const before = await snippetOn(page);
    await page.reload();
    await expect.poll(() => snippetOn(page)).toBe(before);
    await page.locator("[name=versus]").selectOption("mkt_3");
    expect(await snippetOn(page)).toContain('"marketIds":["mkt_1","mkt_3"]');
    expect(await page.locator("#preview iframe").count()).toBe(1);
    expect(complaints).toEqual([]);
    await page.locator("[name=view]").selectOption("market");
    await page.locator("[name=marketId]").fill("mkt_none");
    await page.getByText("No market has this id.").waitFor();
    await page.locator("[name=marketId]").fill("mkt_3");
    await page.getByText("No market has this id.").waitFor({ state: "hidden" });
    await close();
  });

  test.each(["script", "element", "iframe"])("a snippet as %s mounts on another page as it stands", async (form) => {
    const { page, complaints, close } = await openPage(browser, { viewport: SIZES.wide });
    await page.goto(`${tenant.url}/docs/embed`);
    await expect.poll(() => snippetOn(page)).not.toBe("");
    await page.locator("[name=as]").selectOption(form);
    await page.locator("[name=market]").selectOption("mkt_1");
    const html = await snippetOn(page);
    const policyOn = page.locator("#snippet-policy");
    if (form === "script")
      await expect.poll(() => policyOn.textContent()).toContain(hashOf(/<script>(.*)<\/script>/.exec(html ?? "")?.[1]));
    const policy = await policyOn.textContent();
    const site = createServer(({ url }, response) => {
      response.writeHead(200, {
        "content-type": "text/html",
        "content-security-policy": `default-src 'none'; ${policy}`,
      });
      const shown = url === "/without-script" ? html?.replace("/assets/v1/embed.js", "/assets/v1/none.js") : html;
      response.end(`<!doctype html><title>News</title>${shown}`);
    });
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
    // Another name of this machine is another site.
    const siteUrl = `http://localhost:${(site.address() as AddressInfo).port}`;
    await page.goto(siteUrl);
    await page
      .frameLocator("iframe")
      .getByRole("heading", { name: /ounce of gold/ })
      .waitFor();
    if (form === "element")
      expect(await page.evaluate("customElements.get('prediction-market').observedAttributes")).toEqual(
        await attributesTold(),
      );
    await page.goto(`${siteUrl}/without-script`);
    expect(complaints.filter((line) => line.startsWith("script:"))).toEqual([]);
    await close();
    site.close();
  });
});

test.each([
  ["wide", "light"],
  ["narrow", "dark"],
] as const)("/docs/embed in a browser fits a %s screen, %s, and is accessible", async (size, colorScheme) => {
  const { page, complaints, close } = await openPage(browser, { colorScheme, viewport: SIZES[size] });
  await page.goto(`${tenant.url}/docs/embed?theme=auto`);
  await page.frameLocator("#preview iframe").locator(".is-live").waitFor();
  await page.screenshot({ path: `${OUTPUT}docs-embed-${size}-${colorScheme}-full.png`, fullPage: true });
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(SIZES[size].width);
  expect(await accessibilityProblems(page, undefined, ["target-size"])).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("a snippet is chosen and copied with the keyboard alone", async () => {
  const { page, close } = await openPage(browser, {
    viewport: SIZES.wide,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await page.goto(`${tenant.url}/docs/embed`);
  await expect.poll(() => snippetOn(page)).not.toBe("");
  await page.locator("[name=view]").focus();
  await page.keyboard.press("ArrowDown");
  expect(await page.locator("[name=view]").inputValue()).toBe("markets");
  const copy = page.getByRole("button", { name: "Copy: the snippet" });
  await copy.focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => copy.textContent()).toBe("Copied");
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await snippetOn(page));
  await close();
});
