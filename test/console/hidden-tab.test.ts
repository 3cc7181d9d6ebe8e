import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { act, type ConsolePage, openConsole, rowOf } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });
let opened: ConsolePage;
let page: Page;

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  await openHeld(tenant, "mkt_1", "Will it open?", "usr_1");
  opened = await openConsole(tenant, { path: "/traders" });
  ({ page } = opened);
  await rowOf(page, "usr_1").waitFor();
});
afterAll(() => opened?.close());

/** As the browser tells a page that its tab is put behind another, or before. */
const turn = (visibility: "hidden" | "visible"): Promise<void> =>
  page.evaluate(`Object.defineProperty(document, "visibilityState", { value: "${visibility}", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"))`);

test("a hidden tab gives its connection back and asks nothing; visible again it says that it is stale, and reads anew", async () => {
  const asked: string[] = [];
  const streamEnds = page.waitForEvent("requestfailed", (request) => request.url().includes("/v1/stream"));
  await turn("hidden");
  await streamEnds;
  page.on("request", (request) => asked.push(request.url()));
  await tenant.deposit("usr_new", 5);
  await page.evaluate("new Promise((resolve) => setTimeout(resolve, 2500))");
  expect(asked).toEqual([]);
  expect(await page.getByText("Connection lost").count()).toBe(1);
  await turn("visible");
  await rowOf(page, "usr_new").waitFor({ timeout: 3000 });
  await page.getByText("Connection lost").waitFor({ state: "detached" });
  await expect.poll(() => page.locator("[data-stale]").count()).toBe(0);
});

test("reads that get no answer count as a lost connection after ten seconds", async () => {
  await page.route("**/v1/users?*", () => {});
  const beganMs = performance.now();
  await tenant.deposit("usr_newer", 5);
  await page.getByText("Connection lost").waitFor({ timeout: 15_000 });
  expect(performance.now() - beganMs).toBeGreaterThan(9000);
  expect(await page.locator('[data-stale="true"]').count()).toBe(1);
  await page.unrouteAll();
});

test("of seven windows three have a stream, all stay current and act, and where one goes, another takes its place", async () => {
  const first = await openConsole(tenant, { path: "/traders" });
  const context = first.page.context();
  const streaming = new Set<Page>();
  context.on("request", (request) => {
    if (request.url().includes("/v1/stream")) streaming.add(request.frame().page());
  });
  await first.page.reload();
  const windows = [first.page];
  while (windows.length < 7) {
    const next = await context.newPage();
    await next.goto(first.page.url());
    await rowOf(next, "usr_1").waitFor();
    windows.push(next);
  }
  await tenant.deposit("usr_late", 5);
  await Promise.all(windows.map((each) => rowOf(each, "usr_late").waitFor({ timeout: 3000 })));
  for (const each of windows) expect(await each.getByText("Connection lost").count()).toBe(0);
  expect([...streaming]).toEqual(windows.slice(0, 3));
  const last = windows[6] as Page;
  await rowOf(last, "usr_late").getByRole("link", { name: "usr_late" }).click();
  expect(await act(last, last.getByRole("button", { name: "Restrict" }), "Seven windows")).toContain("Entry");
  await windows[1]?.close();
  await expect.poll(() => streaming.size).toBe(4);
  await first.close();
});

test("a window whose stream is refused says that the connection is lost, though the rest is answered", async () => {
  await page.route("**/v1/stream?*", (route) => route.abort());
  await page.reload();
  await page.getByText("Connection lost").waitFor();
  await page.unrouteAll();
  await page.getByText("Connection lost").waitFor({ state: "detached" });
});
