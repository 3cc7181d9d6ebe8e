import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { CONSOLE, COOKIE, ConsoleClient } from "../../server/support/console.ts";
import { tenantOfTests } from "../../server/support/during-tests.ts";
import { ADMIN_KEY } from "../../server/support/harness.ts";
import { openBrowser, openPage } from "../../support/browser.ts";
import { openConsole } from "../support/console-page.ts";
import { openHostileSite } from "./support/hostile-site.ts";
import { runInPage } from "./support/in-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const origin = () => tenant.server.opsUrl;

/** All live texts of the page's scripts. */
async function heapOf(page: Page): Promise<string> {
  const debug = await page.context().newCDPSession(page);
  const chunks: string[] = [];
  debug.on("HeapProfiler.addHeapSnapshotChunk", ({ chunk }) => void chunks.push(chunk));
  await debug.send("HeapProfiler.enable");
  await debug.send("HeapProfiler.collectGarbage");
  await debug.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
  await debug.detach();
  return chunks.join("");
}

test("after the sign-in the key is nowhere: not in the page, its memory, storage, history, addresses or answers", async () => {
  const { page, close } = await openPage(await openBrowser());
  const sent: string[] = [];
  const received: Promise<string>[] = [];
  let isSignedIn = false;
  page.on("request", (request) => {
    if (isSignedIn) sent.push(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData()}`);
  });
  page.on("response", (response) => {
    received.push(
      response.text().then(
        (text) => `${response.url()} ${JSON.stringify(response.headers())} ${text}`,
        () => "",
      ),
    );
  });
  await page.goto(`${origin()}/console/markets?q=x`);
  await page.getByLabel("Admin key").fill("sk_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Admin key").fill(ADMIN_KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  isSignedIn = true;
  expect(new URL(page.url()).search).toBe("?q=x");
  await page.getByRole("link", { name: "System" }).click();
  await page.getByRole("table", { name: "Keys" }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { level: 1, name: "Markets" }).waitFor();
  const [cookie] = await page.context().cookies();
  const secrets = { key: ADMIN_KEY, wrong: "sk_wrong", token: cookie?.value ?? "" };
  const places = { kept: await runInPage<string>(page, "kept"), heap: await heapOf(page), sent: sent.join("\n") };
  expect(places.kept).toContain("Markets");
  expect(places.heap).toContain("csrfToken");
  for (const [name, secret] of Object.entries(secrets))
    for (const [place, text] of Object.entries(places))
      expect([name, place, text.includes(secret)]).toEqual([name, place, false]);
  // An answer that has no end, such as the stream, is given up with its page.
  await close();
  const answers = (await Promise.all(received)).join("\n");
  expect(answers).toContain("csrfToken");
  expect(answers.includes(ADMIN_KEY)).toBe(false);
});

test("the browser keeps the cookie for this host alone, out of reach of scripts, for as long as it runs", async () => {
  const { page, close } = await openConsole(tenant);
  const { value, ...attributes } = (await page.context().cookies())[0] ?? { value: "" };
  expect(attributes).toEqual({
    name: COOKIE,
    domain: new URL(origin()).hostname,
    path: "/",
    expires: -1,
    httpOnly: true,
    secure: true,
    sameSite: "Strict",
  });
  expect(value).toMatch(/^[\w-]{43}$/);
  expect(await page.evaluate("document.cookie")).toBe("");
  await close();
});

test("a cookie that someone planted is not adopted: the sign-in makes a new one, and the planted one opens nothing", async () => {
  const { page, close } = await openPage(await openBrowser());
  const planted = "P".repeat(43);
  const site = await openHostileSite({ "set-cookie": `${COOKIE}=${planted}; Path=/; Secure; HttpOnly; SameSite=None` });
  await page.goto(site.sameSite);
  expect((await page.context().cookies()).map(({ value }) => value)).toEqual([planted]);
  await page.goto(`${origin()}/console/`);
  await page.getByLabel("Admin key").fill(ADMIN_KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  const [cookie, ...others] = await page.context().cookies();
  expect(others).toEqual([]);
  expect(cookie?.value).not.toBe(planted);
  expect(cookie?.sameSite).toBe("Strict");
  const thief = new ConsoleClient(origin());
  thief.cookie = `${COOKIE}=${planted}`;
  expect((await thief.get("/console/session")).status).toBe(401);
  // Over the open session, too: it only signs the operator out.
  await page.goto(site.sameSite);
  await page.goto(`${origin()}/console/`);
  await page.getByLabel("Admin key").waitFor();
  await site.close();
  await close();
});

test("a planted cookie of an open session is ended by the operator's own sign-in, and its token changes nothing for him", async () => {
  const attacker = new ConsoleClient(origin());
  await attacker.signIn();
  const victim = new ConsoleClient(origin());
  victim.cookie = attacker.cookie;
  const own = await victim.signIn();
  expect(own.status).toBe(200);
  expect(victim.cookie).not.toBe(attacker.cookie);
  expect((await attacker.get("/console/session")).status).toBe(401);
  // The attacker's token is of no use with the victim's cookie.
  const headers = { "x-csrf-token": attacker.csrf ?? "" };
  expect((await victim.send("PUT", "/console/api/v1/policy", { body: { feeBps: 1 }, headers })).status).toBe(403);
});

test("neither another tenant's session nor a part of one opens anything", async () => {
  const client = new ConsoleClient(origin());
  await client.signIn();
  const value = client.cookie?.split("=")[1] ?? "";
  for (const cookie of [
    `__Host-pm_console_zeta=${value}`,
    `__Host-pm_console_ACME=${value}`,
    `__Secure-pm_console_acme=${value}`,
    `${COOKIE}=${value.slice(0, 42)}`,
    `${COOKIE}=${value.toUpperCase()}`,
    `${COOKIE}=${encodeURIComponent(`${value}=`)}`,
    `${COOKIE}=${value}, ${COOKIE}=${value}`,
    `${COOKIE}=${value}; ${COOKIE}=${value}`,
    `x="; ${COOKIE}=${value}"`,
  ])
    expect([cookie, (await client.get("/console/session", { cookie })).status]).toEqual([cookie, 401]);
});

test("signing out in one tab signs the other one out at once, and going back shows nothing", async () => {
  const { page, close } = await openConsole(tenant, { path: "/markets" });
  const other = await page.context().newPage();
  await other.goto(`${origin()}/console/traders`);
  await other.getByRole("heading", { level: 1, name: "Traders" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Admin key").waitFor();
  await other.getByLabel("Admin key").waitFor();
  expect(await other.getByRole("table").count()).toBe(0);
  await page.goBack();
  await page.goForward();
  await page.getByLabel("Admin key").waitFor();
  expect(await page.context().cookies()).toEqual([]);
  await close();
});
