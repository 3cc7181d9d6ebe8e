import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONSOLE, COOKIE, ConsoleClient } from "../../server/support/console.ts";
import { tenantOfTests } from "../../server/support/during-tests.ts";
import { ADMIN_KEY } from "../../server/support/harness.ts";
import { type ConsolePage, openConsole } from "../support/console-page.ts";
import { type HostileSite, openHostileSite } from "./support/hostile-site.ts";
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
const isSignedIn = () =>
  victim.page.evaluate(async () => (await fetch("/console/session", { headers: { "x-background": "1" } })).status);

beforeAll(async () => {
  site = await openHostileSite();
  victim = await openConsole(tenant, { path: "/markets" });
  context = victim.page.context();
  csrf = await victim.page.evaluate(async () => (await (await fetch("/console/session")).json()).csrfToken);
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
      page.evaluate(
        async ({ to, body, key, token }) => {
          const read: string[] = [];
          const attempt = async (name: string, url: string, init: RequestInit) => {
            const answer = await fetch(to + url, { credentials: "include", ...init }).catch(() => undefined);
            if (answer && answer.type !== "opaque" && answer.type !== "opaqueredirect")
              read.push(`${name}: ${answer.status} ${await answer.text()}`);
          };
          const text = JSON.stringify(body);
          const json = { "content-type": "application/json" };
          const claimed = { ...json, "x-csrf-token": token, "idempotency-key": "stolen" };
          for (const mode of ["cors", "no-cors"] as const) {
            await attempt("read", "/console/api/v1/audit", { mode });
            await attempt("session", "/console/session", { mode });
            await attempt("plain post", "/console/api/v1/markets", { mode, method: "POST", body: text });
            const form = new URLSearchParams({ key });
            await attempt("form sign-in", "/console/session", { mode, method: "POST", body: form });
            await attempt("sign-in", "/console/session", { mode, method: "POST", body: JSON.stringify({ key }) });
          }
          await attempt("post", "/console/api/v1/markets", { method: "POST", body: text, headers: claimed });
          await attempt("put", "/console/api/v1/policy", { method: "PUT", body: '{"feeBps":999}', headers: claimed });
          await attempt("sign-out", "/console/session", { method: "DELETE", headers: claimed });
          const data = new FormData();
          data.set("key", key);
          await attempt("form data", "/console/session", { method: "POST", mode: "no-cors", body: data });
          navigator.sendBeacon(`${to}/console/api/v1/markets`, new Blob([text], { type: "text/plain" }));

          const loaded = async (element: HTMLElement) => {
            const outcome = new Promise<string>((resolve) => {
              element.onload = () => resolve("loaded");
              element.onerror = () => resolve("refused");
            });
            document.body.append(element);
            return outcome;
          };
          const script = Object.assign(document.createElement("script"), { src: `${to}/console/session` });
          const image = Object.assign(document.createElement("img"), { src: `${to}/console/api/v1/audit?x` });
          const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `${to}/console/` });
          for (const element of [script, image, style]) read.push(`${element.tagName}: ${await loaded(element)}`);
          const socket = new WebSocket(`${to.replace("http", "ws")}/console/api/v1/stream`);
          read.push(
            await new Promise<string>((resolve) => {
              socket.onopen = () => resolve("socket: open");
              socket.onerror = () => resolve("socket: refused");
            }),
          );
          const events = new EventSource(`${to}/console/api/v1/stream`, { withCredentials: true });
          read.push(
            await new Promise<string>((resolve) => {
              events.onopen = () => resolve("stream: open");
              events.onerror = () => resolve("stream: refused");
            }),
          );
          events.close();
          return read;
        },
        { to: target, body: MARKET, key: ADMIN_KEY, token: csrf },
      ),
    );
    expect(found).toEqual([
      "SCRIPT: refused",
      "IMG: refused",
      "LINK: refused",
      "socket: refused",
      "stream: refused",
    ]);
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
        const [answer] = await Promise.all([
          page.waitForResponse((each) => each.url().startsWith(target)),
          page.evaluate(
            ({ to, type, body }) => {
              const form = document.createElement("form");
              Object.assign(form, { method: "post", action: `${to}/console/api/v1/markets`, enctype: type });
              const field = Object.assign(document.createElement("input"), { name: body.slice(0, -1), value: "}" });
              form.append(field);
              document.body.append(form);
              form.submit();
            },
            { to: target, type: enctype, body: JSON.stringify(MARKET) },
          ),
        ]);
        return answer.status();
      });
      expect(answers.map(({ status }) => status)).toEqual([403]);
    }
    expect(await written(tenant)).toEqual(before);
    expect(await isSignedIn()).toBe(200);
  });

  test("cannot show the console in itself, nor hold on to a window with it", async () => {
    const { found } = await onHostilePage(site[which], async (page, target) => {
      const inside = await page.evaluate(async (to) => {
        const seen: string[] = [];
        for (const [tag, attribute] of [
          ["iframe", "src"],
          ["object", "data"],
          ["embed", "src"],
        ] as const) {
          const element = document.createElement(tag);
          element.setAttribute(attribute, `${to}/console/markets`);
          const settled = new Promise<void>((resolve) => {
            element.onload = element.onerror = () => resolve();
            // An object or an embed that was refused may say nothing.
            setTimeout(resolve, 500);
          });
          document.body.append(element);
          await settled;
          try {
            if ((element as HTMLIFrameElement).contentDocument?.body.textContent) seen.push(tag);
          } catch {}
        }
        return seen;
      }, target);
      const frames = page.frames().slice(1).map((frame) => frame.url());
      const [popup] = await Promise.all([
        page.waitForEvent("popup"),
        page.evaluate((to) => {
          const held = open(`${to}/console/markets`);
          (window as unknown as { held: Window | null }).held = held;
        }, target),
      ]);
      await popup.waitForLoadState();
      const shown = await popup.content();
      const reach = await page.evaluate(() => {
        const { held } = window as unknown as { held: Window | null };
        held?.postMessage({ type: "sign-out", key: "x" }, "*");
        try {
          return String(held?.document?.title ?? "closed");
        } catch {
          return "refused";
        }
      });
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
  for (const value of ["null", "", `${origin}/`, `${origin}.evil.example`, `${origin}, ${origin}`, origin.toUpperCase(),
    origin.replace("http", "https"), `http://user@${new URL(origin).host}`, "file://", "about:blank"])
    expect([value, (await put({ origin: value })).status]).toEqual([value, 403]);
  for (const value of ["cross-site", "same-site", "none", "", "same-origin, same-origin", "SAME-ORIGIN", "same-origin;"])
    expect([value, (await put({ "sec-fetch-site": value })).status]).toEqual([value, 403]);
  for (const value of [null, "", token.slice(1), `${token}=`, token.toUpperCase(), "undefined", "null", `${token}, x`])
    expect([value, (await put({ "x-csrf-token": value })).status]).toEqual([value, 403]);
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", ""])
    expect([type, (await put({ "content-type": type })).status]).toEqual([type, 400]);
  expect(await written(tenant)).toEqual(before);
});
