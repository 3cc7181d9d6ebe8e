import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONSOLE, COOKIE, ConsoleClient } from "../../server/support/console.ts";
import { tenantOfTests } from "../../server/support/during-tests.ts";
import { ADMIN_KEY } from "../../server/support/harness.ts";
import { type ConsolePage, openConsole } from "../support/console-page.ts";
import { type HostileSite, openHostileSite } from "./support/hostile-site.ts";
import { runInPage } from "./support/in-page.ts";
import { written } from "./support/written.ts";

/** What the server answered: browsers hide most of it from pages of others. */
const answered: { isOwn: boolean; status: number; hasCookie: boolean }[] = [];
const tenant = tenantOfTests({
  console: CONSOLE,
  onAnswered(exchange, status) {
    const isOwn = exchange.header("sec-fetch-site") === "same-origin";
    answered.push({ isOwn, status, hasCookie: exchange.header("cookie")?.includes(COOKIE) === true });
  },
});
let victim: ConsolePage;
let context: BrowserContext;
let site: HostileSite;
let csrf: string;
const isSignedIn = () => victim.page.evaluate('fetch("/console/session").then(({ status }) => status)');

beforeAll(async () => {
  site = await openHostileSite();
  victim = await openConsole(tenant, { path: "/markets" });
  context = victim.page.context();
  csrf = await victim.page.evaluate('fetch("/console/session").then((it) => it.json()).then((it) => it.csrfToken)');
});
afterAll(async () => {
  await victim?.close();
  await site?.close();
});

/** Runs something on a page of the hostile site, in the victim's browser, and collects what the console answered to it. */
async function onHostilePage<Found>(origin: string, attack: (page: Page, target: string) => Promise<Found>) {
  const page = await context.newPage();
  await page.goto(origin);
  answered.length = 0;
  const found = await attack(page, tenant.server.opsUrl);
  await page.close();
  return { found, answers: answered.filter(({ isOwn }) => !isOwn) };
}

const MARKET = {
  question: "Stolen?",
  category: "weather",
  kind: "lmsr",
  p0: 0.5,
  closeAt: new Date(Date.now() + 3_600_000).toISOString(),
  resolutionRef: "nobody",
};

describe.each(["sameSite", "crossSite"] as const)("a page of another origin (%s)", (which) => {
  test("cannot change, read, sign in or sign out with the operator's cookie, by any kind of request", async () => {
    const before = await written(tenant);
    const { found, answers } = await onHostilePage(site[which], (page, target) =>
      runInPage<string[]>(page, "send-all", { to: target, body: MARKET, key: ADMIN_KEY, token: csrf }),
    );
    expect(found).toEqual(["SCRIPT: refused", "IMG: refused", "LINK: refused", "socket: refused", "stream: refused"]);
    expect(answers.length).toBeGreaterThan(5);
    expect(answers.filter(({ status }) => status !== 403)).toEqual([]);
    // Only the origin's check stands between a neighbour's port and the cookie.
    expect(answers.some(({ hasCookie }) => hasCookie)).toBe(which === "sameSite");
    expect(await written(tenant)).toEqual(before);
    expect(await isSignedIn()).toBe(200);
  });

  test("cannot send a form that navigates, in itself or in a new window", async () => {
    const before = await written(tenant);
    for (const enctype of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      const { answers } = await onHostilePage(site[which], async (page, target) => {
        const to = `${target}/console/api/v1/markets`;
        const answer = page.waitForResponse((each) => each.url() === to);
        await runInPage(page, "send-form", { to, enctype, body: JSON.stringify(MARKET) });
        await answer;
      });
      expect(answers.map(({ status }) => status)).toEqual([403]);
    }
    expect(await written(tenant)).toEqual(before);
    expect(await isSignedIn()).toBe(200);
  });

  test("cannot show the console in itself, nor hold on to a window with it", async () => {
    const { found } = await onHostilePage(site[which], async (page, target) => {
      const [popup, inside] = await Promise.all([
        page.waitForEvent("popup"),
        runInPage<string[]>(page, "embed-page", { to: `${target}/console/markets` }),
      ]);
      const [, ...framed] = page.frames();
      const frames = framed.map((frame) => frame.url());
      await popup.waitForLoadState();
      const shown = await popup.content();
      const reach = await runInPage<string>(page, "reach-window");
      await popup.close();
      return { inside, frames, shown, reach };
    });
    expect(found.inside).toEqual([]);
    expect(found.frames.filter((url) => url.startsWith(tenant.server.opsUrl))).toEqual([]);
    expect(found.shown).toContain("Only the console's own page may send this");
    expect(found.shown).not.toContain("<script");
    expect(["refused", "closed"]).toContain(found.reach);
    expect(await isSignedIn()).toBe(200);
  });
});

test("requests that claim to be the page's own are refused for the smallest difference", async () => {
  const client = new ConsoleClient(tenant.server.opsUrl);
  await client.signIn();
  const { origin, csrf: token = "" } = client;
  const before = await written(tenant);
  const put = (headers: Record<string, string | null>) =>
    client.send("PUT", "/console/api/v1/policy", { body: { feeBps: 444 }, headers });
  for (const value of [
    "null",
    "",
    `${origin}/`,
    `${origin}.evil.example`,
    `${origin}, ${origin}`,
    origin.toUpperCase(),
    origin.replace("http", "https"),
    `http://user@${new URL(origin).host}`,
    "file://",
    "about:blank",
  ])
    expect([value, (await put({ origin: value })).status]).toEqual([value, 403]);
  for (const value of [
    "cross-site",
    "same-site",
    "none",
    "",
    "same-origin, same-origin",
    "SAME-ORIGIN",
    "same-origin;",
  ])
    expect([value, (await put({ "sec-fetch-site": value })).status]).toEqual([value, 403]);
  for (const value of [null, "", token.slice(1), `${token}=`, token.toUpperCase(), "undefined", "null", `${token}, x`])
    expect([value, (await put({ "x-csrf-token": value })).status]).toEqual([value, 403]);
  for (const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/json",
    "",
  ])
    expect([type, (await put({ "content-type": type })).status]).toEqual([type, 400]);
  expect(await written(tenant)).toEqual(before);
});
