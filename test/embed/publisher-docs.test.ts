import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { snippetWithPolicy } from "../../src/domain/embed/snippet-with-policy.ts";
import { BUILT_IN } from "../../src/domain/theme/tokens.ts";
import { ELEMENT_ATTRIBUTES } from "../../src/server/pages/docs/embed/guide.ts";
import { PUBLIC_KEY } from "../server/support/harness.ts";
import { type ServedTenant, serveTenant } from "../server/support/tenant.ts";
import { accessibilityProblems, OUTPUT, openBrowser, openPage } from "../support/browser.ts";
import { fillTenant } from "./support/scenery.ts";

const MAX_COMPRESSED = 60 * 1024;
const SIZES = { wide: { width: 1280, height: 900 }, narrow: { width: 320, height: 640 } } as const;

let tenant: ServedTenant;
let browser: Browser;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  const embed = {
    name: "Acme <Markets>",
    publicKeys: [PUBLIC_KEY],
    allowedOrigins: [],
    theme: { overridable: ["colors", "radius", "words"] as const },
  };
  [tenant, browser] = await Promise.all([serveTenant({ embed }), openBrowser()]);
  await fillTenant(tenant, "alice");
});
afterAll(async () => {
  await browser?.close();
  await tenant?.close();
});

const hashOf = (text = "") => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
/** Without what the browser says of a sandbox on the tenant's own origin, and of requests that a new document ended. */
const amiss = (complaints: readonly string[]): string[] =>
  complaints.filter((line) => !/allow-scripts and allow-same-origin|ERR_ABORTED/.test(line));
const snippetOn = (page: Page): Promise<string | null> => page.locator("[data-pm=configured]").textContent();

test("the page is small, runs what its policy names by hash, cannot be framed, and answers HEAD", async () => {
  const address = `${tenant.url}/docs/embed`;
  const response = await fetch(address, { headers: { "accept-encoding": "gzip" } });
  const html = await response.text();
  expect([response.status, response.headers.get("content-encoding")]).toEqual([200, "gzip"]);
  expect(gzipSync(html).length).toBeLessThan(MAX_COMPRESSED);
  const policy = response.headers.get("content-security-policy") ?? "";
  const [, script] = /<script>([^<]*(?:<(?!\/script)[^<]*)*)<\/script><\/body>/.exec(html) ?? [];
  expect(policy).toContain(`script-src 'self' ${hashOf(script)};`);
  const styles = [...html.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(([, style]) => hashOf(style));
  expect(policy).toContain(`style-src ${styles.join(" ")};`);
  expect(policy).toContain("frame-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(html).toContain("Acme &lt;Markets&gt;");
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(ids).toEqual([...new Set(ids)]);
  const head = await fetch(address, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  for (const where of ["/docs", "/docs/trading"])
    expect(await (await fetch(tenant.url + where)).text()).toContain('href="/docs/embed"');
});

test("the form works without scripts: its address holds what was chosen, and markup in it stays text", async () => {
  const query = new URLSearchParams({ view: "card", theme: "light", marketId: '"><script>x</script>', as: "element" });
  const html = await (await fetch(`${tenant.url}/docs/embed?${query}`)).text();
  expect(html).toContain('<option value="card" selected>');
  expect(html).not.toContain("<script>x");
  expect(html).toContain("&lt;prediction-market market=&quot;&amp;quot;&gt;");
  const { page, complaints, close } = await openPage(browser, { javaScriptEnabled: false });
  await page.goto(`${tenant.url}/docs/embed`);
  await page.locator("[name=view]").selectOption("markets");
  await page.locator("[name=locale]").selectOption("de");
  await page.getByRole("button", { name: "Write the snippet" }).press("Enter");
  await page.waitForURL("**/docs/embed?*view=markets*");
  expect(await snippetOn(page)).toContain('{"view":"markets","theme":"dark","locale":"de",');
  expect(await page.locator("[name=view]").inputValue()).toBe("markets");
  expect(amiss(complaints)).toEqual([]);
  await close();
});

describe("the configurator", () => {
  test("writes the command's text at once, and the widget beside it follows in place", async () => {
    const { page, complaints, close } = await openPage(browser, { viewport: SIZES.wide });
    await page.goto(`${tenant.url}/docs/embed`);
    const frame = page.frameLocator("#preview iframe");
    const first = await page.locator("[name=market]").inputValue();
    await frame.locator(".is-live").waitFor();
    const written = (more: object) => {
      const usual = { view: "market", theme: "dark", marketIds: [first], title: "Prediction market" } as const;
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
    await page.locator("[name=theme]").selectOption("light");
    await expect.poll(() => frame.locator("html").getAttribute("data-theme")).toBe("light");
    await page.locator("[name=locale]").selectOption("de");
    await expect.poll(() => frame.locator("html").getAttribute("lang")).toBe("de");
    expect(frameUrl()).toContain("locale=de");
    await page.locator("summary", { hasText: "Brand" }).click();
    await page.locator("[name=accentLight]").fill("#7a1fa2");
    await page.locator("[name=radius]").fill("3");
    await page.locator("[name=consent]").selectOption("false");
    await page.locator("[name=loading]").selectOption("eager");
    await page.locator("[name=height]").fill("700");
    const terms = { marketIds: ["mkt_1"], theme: "light", locale: "de", heightPx: 700, loading: "eager" } as const;
    const accents = { light: "#7a1fa2", dark: BUILT_IN.colors.accent.dark };
    const brand = { colors: { accent: accents }, radius: 3 };
    expect(await snippetOn(page)).toBe(written({ ...terms, consent: false, brand }).html.join("\n"));
    const accent = "getComputedStyle(document.documentElement).getPropertyValue('--pm-accent')";
    await expect.poll(() => page.frames()[1]?.evaluate<string>(accent)).toBe("#7a1fa2");

    for (const view of ["card", "markets", "portfolio", "compare"]) {
      await page.locator("[name=view]").selectOption(view);
      expect(await snippetOn(page)).toContain(`{"view":"${view}"`);
      await expect.poll(frameUrl).toContain(`/embed/${view}?`);
    }
    // The address makes the same page again.
    const before = await snippetOn(page);
    await page.reload();
    expect(await snippetOn(page)).toBe(before);
    await page.locator("[name=versus]").selectOption("mkt_3");
    expect(await snippetOn(page)).toContain('"marketIds":["mkt_1","mkt_3"]');
    expect(await page.locator("#preview iframe").count()).toBe(1);
    expect(amiss(complaints)).toEqual([]);
    await close();
  });

  test.each(["script", "element", "iframe"])("a snippet as %s mounts on another page as it stands", async (form) => {
    const { page, close } = await openPage(browser, { viewport: SIZES.wide });
    await page.goto(`${tenant.url}/docs/embed`);
    await page.locator("[name=as]").selectOption(form);
    await page.locator("[name=market]").selectOption("mkt_1");
    const html = await snippetOn(page);
    const policyOn = page.locator("#snippet-policy");
    if (form === "script")
      await expect.poll(() => policyOn.textContent()).toContain(hashOf(/<script>(.*)<\/script>/.exec(html ?? "")?.[1]));
    const policy = await policyOn.textContent();
    const site = createServer((_, response) => {
      response.writeHead(200, {
        "content-type": "text/html",
        "content-security-policy": `default-src 'none'; ${policy}`,
      });
      response.end(`<!doctype html><title>News</title>${html}`);
    });
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
    // Another name of this machine is another site.
    await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
    await page
      .frameLocator("iframe")
      .getByRole("heading", { name: /ounce of gold/ })
      .waitFor();
    if (form === "element")
      expect(await page.evaluate("customElements.get('prediction-market').observedAttributes")).toEqual(
        ELEMENT_ATTRIBUTES.map(([name]) => name),
      );
    await close();
    site.close();
  });
});

describe.each(["light", "dark"] as const)("/docs/embed in a browser, %s", (colorScheme) => {
  test.each(["wide", "narrow"] as const)("fits a %s screen and is accessible", async (size) => {
    const { page, complaints, close } = await openPage(browser, { colorScheme, viewport: SIZES[size] });
    await page.goto(`${tenant.url}/docs/embed?theme=auto`);
    await page.frameLocator("#preview iframe").locator(".is-live").waitFor();
    await page.screenshot({ path: `${OUTPUT}docs-embed-${size}-${colorScheme}.png` });
    await page.screenshot({ path: `${OUTPUT}docs-embed-${size}-${colorScheme}-full.png`, fullPage: true });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(SIZES[size].width);
    // The colours are the same on all sizes, and the targets in all colours.
    if ((size === "wide") === (colorScheme === "light"))
      expect(await accessibilityProblems(page, undefined, ["target-size"])).toEqual([]);
    expect(amiss(complaints)).toEqual([]);
    await close();
  });
});

test("a snippet is chosen and copied with the keyboard alone", async () => {
  const { page, close } = await openPage(browser, {
    viewport: SIZES.wide,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await page.goto(`${tenant.url}/docs/embed`);
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
