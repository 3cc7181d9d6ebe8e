import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { createInterface } from "node:readline";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessibilityProblems, OUTPUT, openBrowser, openPage } from "../support/browser.ts";
import { MAIN, pmctlHere } from "./support/pmctl.ts";

const cwd = tmpdir();
const BUILT = new URL("../../dist/site/index.html", import.meta.url).href;
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 320, height: 640 };

let child: ChildProcess;
let browser: Browser;
let url: string;
beforeAll(async () => {
  browser = await openBrowser();
  child = spawn(process.execPath, [MAIN, "docs", "first-market"], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const [line] = await once(createInterface(child.stdout as NonNullable<typeof child.stdout>), "line");
  url = String(line);
});
afterAll(async () => {
  if (child?.exitCode === null && child.kill()) await once(child, "exit");
});

test("it prints the page's address, and the server shows nothing but the site", async () => {
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/docs\/start\/first-market\.html$/);
  const statusOf = async (path: string, init?: RequestInit) => (await fetch(new URL(path, url), init)).status;
  const found = ["/", "/index.html", "/search.html", "/docs/guides/samples/sign-in.py"].map((path) => statusOf(path));
  expect(await Promise.all(found)).toEqual([200, 200, 200, 200]);
  const refused = ["/package.json", "/docs/../package.json", "/constructor", "/docs"].map((path) => statusOf(path));
  expect(await Promise.all(refused)).toEqual([404, 404, 404, 404]);
  expect(await statusOf("/", { method: "POST" })).toBe(404);
});

test("a port that is in use, an unknown page and a name of several pages are errors that say what to do", async () => {
  const { port } = new URL(url);
  expect(await pmctlHere(["docs", "--port", port], { cwd })).toMatchObject({
    code: 6,
    stderr: expect.stringContaining(`port ${port}: it is in use; without --port pmctl takes any free port`),
  });
  const said = async (page: string) => pmctlHere(["docs", page], { cwd });
  expect(await said("first-markt")).toMatchObject({
    code: 5,
    stderr: expect.stringContaining("did you mean first-market?"),
  });
  expect(await said("ledger")).toMatchObject({
    code: 6,
    stderr: expect.stringContaining("concepts/ledger, design/ledger"),
  });
});

test("a reader finds a page by the menu and by the search, with a mouse and without a complaint of the browser", async () => {
  const { page, complaints, close } = await openPage(browser, { viewport: WIDE });
  await page.goto(url);
  expect(await page.locator("nav [aria-current=page]").textContent()).toBe("First market in ten minutes");
  await page.screenshot({ path: `${OUTPUT}site-page.png` });
  await page.locator("nav summary", { hasText: "Guides" }).click();
  await page.locator("nav a", { hasText: "Connect your program" }).click();
  await page.waitForURL("**/docs/guides/integrator.html");
  await page.locator("#q").fill("claims");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/search.html?q=claims");
  expect(await page.locator(".hits a").first().getAttribute("href")).toContain("docs/guides/integrator.html#");
  await page.screenshot({ path: `${OUTPUT}site-search.png` });
  await page.locator(".hits a").first().click();
  await page.waitForURL("**/docs/guides/integrator.html#*");
  expect(complaints).toEqual([]);
  await close();
});

test("pages fit a screen of 320 px in the dark, and axe finds nothing", async () => {
  const { page, complaints, close } = await openPage(browser, { viewport: NARROW, colorScheme: "dark" });
  for (const path of [
    "/",
    "/docs/start/first-market.html",
    "/docs/reference/pmctl.html",
    "/docs/design/performance.html",
  ]) {
    await page.goto(new URL(path, url).href);
    expect([path, await page.evaluate<number>("document.documentElement.scrollWidth")]).toEqual([path, NARROW.width]);
    await page.screenshot({ path: `${OUTPUT}site${path.replaceAll("/", "-")}-narrow.png` });
  }
  const wide = page.locator(".wide").first();
  await wide.scrollIntoViewIfNeeded();
  expect(await wide.locator("thead th").first().isVisible()).toBe(true);
  expect(await accessibilityProblems(page, ".wide")).toEqual([]);
  await page.screenshot({ path: `${OUTPUT}site-wide-table.png` });
  await page.goto(new URL("/docs/start/go-live.html", url).href);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("the built site works from a folder, its search too", async () => {
  const { page, complaints, close } = await openPage(browser, { viewport: WIDE });
  await page.goto(BUILT);
  await page.locator("main a", { hasText: "Go live" }).click();
  await page.getByRole("heading", { name: "Go live", level: 1 }).waitFor();
  await page.locator("#q").fill("MARKET_CLOSED");
  await page.keyboard.press("Enter");
  await page.locator(".hits a").first().waitFor();
  expect(await page.locator(".hits a").first().getAttribute("href")).toContain("docs/reference/errors.html#");
  expect(complaints).toEqual([]);
  await close();
});

test("Ctrl-C ends it with 130", async () => {
  const exit = once(child, "exit");
  child.kill("SIGINT");
  expect(await exit).toEqual([130, null]);
});
