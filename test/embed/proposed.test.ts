import { mkdirSync } from "node:fs";
import type { Frame } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { userToken } from "../server/support/harness.ts";
import { accessibilityProblems, OUTPUT, openPage } from "../support/browser.ts";
import { HOSTILE_REASON, openHeld } from "./support/ends.ts";
import { openStage, STREAM_WAITS, type Stage } from "./support/stage.ts";
import { part } from "./support/ticket.ts";

const JUDGED = { resolution: { holdHours: 24, approvals: 2 } };
const DATE = String.raw`\w+ \d+, 20\d\d, \d+:\d\d.[AP]M \S+`;

let stage: Stage;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  stage = await openStage({ server: JUDGED });
  await stage.tenant.deposit("usr_1", 500);
  for (const id of ["mkt_live", "mkt_own", "mkt_bad", "mkt_shown", "mkt_still"])
    await openHeld(stage.tenant, id, "Will the bridge open in May?", "usr_1");
  await operator().settleMarket({ marketId: "mkt_own", outcome: "yes" });
  await operator().voidMarket({ id: "mkt_bad", reason: HOSTILE_REASON });
  await operator().settleMarket({ marketId: "mkt_shown", outcome: { yes: 0.4 } });
  await user("usr_1").objectToProposal({ id: "mkt_shown", reason: "It opened in June" });
});
afterAll(() => stage?.close());

const operator = () => localApi(stage.tenant.services.handlers, { actor: "admin:ops" });
const user = (id: string) => localApi(stage.tenant.services.handlers, { actor: `user:${id}`, user: { id } });
const said = async (frame: Frame) =>
  (await part(frame, "proposal").locator('[data-pm="ended"]').allInnerTexts()).map((text) => text.trim());

test("an end is proposed, objected to and rejected while a reader looks", async () => {
  const { frame, complaints, close } = await stage.open({ view: "market", marketId: "mkt_live" });
  await frame.locator(".is-live").waitFor();
  expect(await part(frame, "proposal").count()).toBe(0);
  await operator().settleMarket({ marketId: "mkt_live", outcome: "yes" });
  await part(frame, "proposal").waitFor();
  expect(await said(frame)).toEqual([
    expect.stringMatching(new RegExp(`^Proposed: Yes, final on ${DATE}$`)),
    "It waits for approval.",
  ]);
  await expect.poll(() => part(frame, "state").getAttribute("data-state")).toBe("paused");
  await user("usr_1").objectToProposal({ id: "mkt_live", reason: "It is closed" });
  await part(frame, "proposal").getByText("1 objection").waitFor();
  const { proposalId } = await operator().getMarketProposal({ id: "mkt_live" });
  await operator().rejectProposal({ id: proposalId, reason: "It is closed" });
  await part(frame, "proposal").waitFor({ state: "detached" });
  expect(complaints).toEqual([]);
  await close();
});

test("what is proposed before the stream of events opens is shown as soon as it does, although the market's status stays", async () => {
  await operator().suspendMarket({ id: "mkt_still" });
  const { frame, complaints, close } = await stage.open({ view: "market", marketId: "mkt_still" }, {}, [STREAM_WAITS]);
  await part(frame, "state").waitFor();
  expect(await part(frame, "proposal").count()).toBe(0);
  await operator().settleMarket({ marketId: "mkt_still", outcome: "no" });
  await frame.evaluate("openStream()");
  await part(frame, "proposal").getByText("Proposed: No").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("a user with a position objects with a reason, once; the words of a refusal are the reader's", async () => {
  const host = { view: "market", marketId: "mkt_own", token: await userToken(), locale: "de" } as const;
  const [opened, second] = [await stage.open(host), await stage.open(host)];
  const form = part(opened.frame, "objection");
  const field = form.getByLabel("Warum ist das falsch?");
  await field.fill("  Die Brücke ist zu  ");
  await form.getByRole("button").click();
  await form.getByText("Ihr Einspruch ist erfasst.").waitFor();
  await part(opened.frame, "proposal").getByText("1 Einspruch").waitFor();
  expect(await stage.tenant.audit("proposal.objected")).toContainEqual(
    expect.objectContaining({ actor: "user:usr_1", payload: expect.objectContaining({ reason: "Die Brücke ist zu" }) }),
  );
  expect(opened.complaints).toEqual([]);
  await opened.close();
  const again = part(second.frame, "objection");
  await again.getByRole("textbox").fill("Noch einmal");
  await again.getByRole("button").click();
  await again.getByText("Sie haben schon Einspruch erhoben.").waitFor();
  expect(await again.getByRole("textbox").inputValue()).toBe("Noch einmal");
  await second.close();
});

test("a portfolio says that a market is paused since before it was opened, and offers no sale in it", async () => {
  const { frame, complaints, close } = await stage.open({ view: "portfolio", token: await userToken() });
  await frame.locator(".is-live").waitFor();
  const row = frame.locator(".rows li").filter({ has: frame.locator('[data-market="mkt_bad"]') });
  await row.getByText("paused").waitFor();
  expect(await row.locator("[data-pm=position]").innerText()).toContain("if it could be sold now");
  expect(await row.locator("[data-pm=sell]").count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("on a narrow screen what is proposed stands above the curve", async () => {
  const narrow = { viewport: { width: 320, height: 900 } };
  const { frame, close } = await stage.open({ view: "market", marketId: "mkt_bad", autoHeight: true }, narrow);
  await part(frame, "proposal").waitFor();
  const top = (selector: string) => frame.locator(selector).evaluate((one) => one.getBoundingClientRect().top);
  expect(await top("[data-pm=proposal]")).toBeLessThan(await top(".chart"));
  await close();
});

test("a reader without a position sees the proposal and no form; reasons are only ever text", async () => {
  for (const token of [null, await userToken({ sub: "usr_2" })]) {
    const { frame, complaints, close } = await stage.open({ view: "market", marketId: "mkt_bad", token });
    await frame.locator(".is-paused").waitFor();
    await frame.locator("bdi").getByText("onerror").waitFor();
    expect((await said(frame))[0]).toMatch(/^Proposed: Void, final on /);
    expect(await part(frame, "objection").count()).toBe(0);
    expect(await frame.locator("img").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  }
  const html = await (await fetch(`${stage.tenant.url}/m/mkt_bad`)).text();
  expect(html).toMatch(/data-pm="proposal"><p>Proposed: Void, final on <time datetime="[^"]+">[^<]+<\/time><\/p>/);
  expect(html).toContain("Reason: <bdi>&lt;img src=x");
  expect(html).not.toContain("<img src=x");
});

test.each(["light", "dark"] as const)("its pictures, %s, without a fault that axe finds", async (theme) => {
  const token = await userToken();
  const host = { view: "market", marketId: "mkt_shown", token, theme, autoHeight: true } as const;
  for (const [name, locale, width] of [
    ["wide", "en", 900],
    ["narrow", "ar", 375],
  ] as const) {
    const opened = await stage.open({ ...host, locale }, { viewport: { width, height: 900 } });
    await part(opened.frame, "objection").waitFor();
    await opened.frame.locator(".uplot").waitFor();
    expect(await accessibilityProblems(opened.frame)).toEqual([]);
    await opened.page.screenshot({ path: `${OUTPUT}proposed-${name}-${theme}.png`, fullPage: true });
    await opened.close();
  }
  const { page, close } = await openPage(stage.browser, { colorScheme: theme, javaScriptEnabled: false });
  await page.goto(`${stage.tenant.url}/m/mkt_shown`);
  await page.screenshot({ path: `${OUTPUT}proposed-page-${theme}.png`, fullPage: true });
  await close();
});
