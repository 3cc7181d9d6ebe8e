import type { Frame, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { openStage, type Stage } from "./support/stage.ts";
import { ask, confirmed } from "./support/ticket.ts";

const PHONE = { viewport: { width: 375, height: 667 } };
const MARKETS = 12;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.tenant.deposit("usr_1", 500);
  await stage.tenant.deposit("usr_2", 700);
  for (let index = 0; index < MARKETS; index += 1)
    await stage.tenant.openMarket(`mkt_${index}`, { question: `Will number ${index} come true?` });
});
afterAll(() => stage?.close());

const heading = (frame: Frame): Promise<string> => frame.locator("h1").innerText();
const focused = (frame: Frame): Promise<string> => frame.evaluate("document.activeElement.textContent");
const viewEvents = (page: Page): Promise<string[]> =>
  page.evaluate(
    "events.filter(({ name }) => name === 'view').map(({ detail }) => [detail.view, detail.marketId].join(' ').trim())",
  );

test("a list that a reader comes back to has its search, its place and its focus, in the article too", async () => {
  const opened = await stage.open({ view: "markets", autoHeight: true }, PHONE);
  const { page, frame, complaints, requests, close } = opened;
  await frame.getByRole("searchbox").fill("number");
  await expect.poll(() => frame.locator("h2").last().innerText()).toMatch(/found/i);
  const card = frame.locator('[data-market="mkt_9"]');
  await card.scrollIntoViewIfNeeded();
  const before = await page.evaluate<number>("scrollY");
  expect(before).toBeGreaterThan(300);
  await card.click();
  await expect.poll(() => heading(frame)).toBe("Will number 9 come true?");
  expect(await focused(frame)).toBe("Will number 9 come true?");
  const top = () => page.locator("iframe").evaluate((one) => Math.round(one.getBoundingClientRect().top));
  await expect.poll(top).toBeGreaterThanOrEqual(0);
  expect(await top()).toBeLessThan(667 / 2);

  await frame.locator('[data-pm="back"]').click();
  await card.waitFor();
  await expect.poll(() => page.evaluate<number>("scrollY")).toBe(before);
  expect(await frame.getByRole("searchbox").inputValue()).toBe("number");
  expect(await focused(frame)).toContain("Will number 9 come true?");

  await page.evaluate("history.back()");
  await expect.poll(() => heading(frame)).toBe("Will number 9 come true?");
  await page.evaluate("history.back()");
  await card.waitFor();
  expect(await frame.getByRole("searchbox").inputValue()).toBe("number");
  expect(await viewEvents(page)).toEqual(["markets", "market mkt_9", "markets", "market mkt_9", "markets"]);
  expect(requests.filter((path) => path === "/embed/market")).toEqual([]);
  expect(complaints).toEqual([]);
  await close();
});

test("a server that is lost on the way shows the frame's own card, tells the page, and the view comes by itself", async () => {
  const { page, frame, events, close } = await stage.open({ view: "markets" });
  let isBusy = false;
  await page.route("**/embed/data/market?*", (route) =>
    isBusy
      ? route.fulfill({
          status: 429,
          headers: { "retry-after": "1", "error-code": "RATE_LIMITED" },
          json: { error: "Too many requests" },
        })
      : route.abort(),
  );
  await frame.locator('[data-market="mkt_3"]').first().click();
  const card = frame.locator('[data-pm="unavailable"]');
  await card.waitFor();
  const [first] = await events();
  expect(first).toMatchObject({ name: "error", detail: { code: "UNREACHABLE", retryInMs: expect.any(Number) } });
  await card.locator('[data-pm="back"]').click();
  await frame.locator('[data-market="mkt_3"]').first().waitFor();

  isBusy = true;
  await frame.locator('[data-market="mkt_3"]').first().click();
  await card.waitFor();
  const last = (await events()).at(-1)?.detail;
  expect(last?.code).toBe("RATE_LIMITED");
  expect(last?.retryInMs).toBeGreaterThanOrEqual(1000);
  await page.unroute("**/embed/data/market?*");
  await expect.poll(() => heading(frame)).toBe("Will number 3 come true?");
  expect(await card.count()).toBe(0);
  await close();
});

test("the frame is as high as the view that the reader moves to, and a large blank that is left alone is given back", async () => {
  const { page, frame, close } = await stage.open({ view: "card", marketId: "mkt_1", autoHeight: true, height: 900 });
  const content = () => frame.evaluate<number>("Math.ceil(document.documentElement.getBoundingClientRect().height)");
  const height = () => page.locator("iframe").evaluate((one) => one.clientHeight);
  const blank = async () => (await height()) - (await content());
  await expect.poll(blank).toBe(0);
  const card = await height();
  expect(card).toBeLessThan(600);
  await frame.locator('[data-pm="card-yes"]').click();
  await frame.locator('[data-pm="back"]').waitFor();
  await expect.poll(height).toBeGreaterThan(card);
  await expect.poll(blank).toBe(0);
  await frame.locator('[data-pm="back"]').click();
  await expect.poll(height).toBe(card);
  await close();
});

test("the page around changes market, view and language in place", async () => {
  const { page, frame, requests, close } = await stage.open({ view: "market", marketId: "mkt_1" });
  await frame.locator(".is-live").waitFor();
  const documents = () => requests.filter((path) => /^\/embed\/\w+$/.test(path) && path !== "/embed/stream").length;
  const before = documents();
  await page.evaluate("embeds[0].update({ marketId: 'mkt_2' })");
  await expect.poll(() => heading(frame)).toBe("Will number 2 come true?");
  await page.evaluate("embeds[0].update({ locale: 'ar' })");
  await expect
    .poll(() => frame.evaluate("[document.documentElement.lang, document.documentElement.dir].join()"))
    .toBe("ar,rtl");
  await page.evaluate("embeds[0].update({ view: 'markets', marketId: undefined, locale: 'de' })");
  await frame.locator('[data-market="mkt_4"]').first().click();
  await frame.locator('[data-pm="back"]', { hasText: "Alle Märkte" }).waitFor();
  expect(await viewEvents(page)).toEqual(["market mkt_1", "market mkt_2", "markets", "market mkt_4"]);
  expect(documents()).toBe(before);
  await close();
});

test("the answer that was asked for first and comes last replaces nothing", async () => {
  const { page, frame, close } = await stage.open({ view: "market", marketId: "mkt_1" });
  await frame.locator(".is-live").waitFor();
  const late = Promise.withResolvers<void>();
  await page.route("**/embed/data/market?*mkt_2*", async (route) => {
    const response = await route.fetch();
    await late.promise;
    await route.fulfill({ response });
  });
  const answered = page.waitForResponse("**/embed/data/market?*mkt_2*");
  await frame.evaluate(`window.headings = new Set();
    new MutationObserver(() => headings.add(document.querySelector("h1")?.textContent))
      .observe(document.body, { subtree: true, childList: true, characterData: true })`);
  await page.evaluate("embeds[0].update({ marketId: 'mkt_2' })");
  await page.evaluate("embeds[0].update({ marketId: 'mkt_3' })");
  await expect.poll(() => heading(frame)).toBe("Will number 3 come true?");
  late.resolve();
  await (await answered).finished();
  // The frame has read the late answer once another of its own is there.
  await page.evaluate("embeds[0].update({ locale: 'de' })");
  await expect.poll(() => frame.evaluate("document.documentElement.lang")).toBe("de");
  expect(await frame.evaluate("[...headings]")).not.toContain("Will number 2 come true?");
  expect(await viewEvents(page)).toEqual(["market mkt_1", "market mkt_3"]);
  await close();
});

test("what belongs to a user ends with them: a receipt, a portfolio, a typed amount, and answers that come too late", async () => {
  const [ann, ben] = await Promise.all([userToken({ sub: "usr_1" }), userToken({ sub: "usr_2" })]);
  const { page, frame, events, close } = await stage.open({ view: "market", marketId: "mkt_5", token: ann });
  const become = (token: string | null) =>
    page.evaluate(`window.token = ${JSON.stringify(token)}; embeds[0].refreshToken()`);
  const part = (name: string) => frame.locator(`[data-pm="${name}"]`);
  await part("amount").fill("12.5");
  await confirmed(frame);
  await part("position").waitFor();
  await become(ben);
  await expect.poll(() => part("position").count()).toBe(0);
  expect(await part("receipt").count()).toBe(0);

  // An answer to Ben that arrives when Ann is back.
  let answer = (): void => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const trades = (await events()).filter(({ name }) => name === "trade").length;
  await page.route("**/v1/trade", async (route) => {
    const response = await route.fetch();
    await held;
    await route.fulfill({ response });
  });
  await ask(frame);
  await part("submit").click();
  await expect.poll(() => stage.tenant.balance("wallet:usr_2")).toBeLessThan(700_000_000n);
  await become(ann);
  await part("position").waitFor();
  const [answered] = await Promise.all([page.waitForResponse("**/v1/trade"), answer()]);
  await answered.finished();
  await become(null);
  await frame.locator('[data-action="signin"]').waitFor();
  for (const name of ["position", "receipt", "submit"]) expect(await part(name).count()).toBe(0);
  expect(await part("amount").inputValue()).toBe("25");
  expect((await events()).filter(({ name }) => name === "trade").length).toBe(trades);
  const kept =
    await frame.evaluate<string>(`(async () => JSON.stringify([location.href, history.state, { ...localStorage },
    { ...sessionStorage }, document.cookie, await indexedDB.databases(), await caches.keys()]))()`);
  expect(kept).not.toContain(ann.slice(-20));
  expect(kept).not.toContain(ben.slice(-20));
  expect(kept).toMatch(/\{\},\{\},"",\[\],\[\]\]$/);
  await close();
});
