import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { openPage } from "../support/browser.ts";
import { openStage, type Stage } from "./support/stage.ts";

let stage: Stage;
let loader = "";
beforeAll(async () => {
  stage = await openStage();
  loader = JSON.stringify(`${stage.tenant.url}/assets/v1/embed.js`);
  await stage.tenant.deposit("usr_1", 500);
  for (const id of ["mkt_a", "mkt_b"]) await stage.tenant.openMarket(id, { question: `Will ${id} come true?` });
});
afterAll(() => stage?.close());

/** A publisher's page that has loaded the script and shows nothing yet. */
async function openHost(scripts: string[] = []) {
  const opened = await openPage(stage.browser);
  for (const content of scripts) await opened.page.addInitScript({ content });
  await opened.page.goto(stage.hostUrl({ count: 0 }));
  return opened;
}

const heading = (page: Page, name: string) =>
  page.frameLocator("iframe").getByRole("heading", { name: `Will ${name} come true?` });

test("mounting again changes the widget in place under the same handle, and unmounting leaves nothing behind", async () => {
  const counting = `window.listening = 0;
    for (const [name, step] of [["addEventListener", 1], ["removeEventListener", -1]]) {
      const call = window[name];
      window[name] = (...args) => { listening += step; return call.apply(window, args); };
    }`;
  const { page, complaints, close } = await openHost([counting]);
  await page.evaluate(`window.place = document.body.appendChild(document.createElement("div"));
    window.told = [];
    window.first = PredictionMarkets.mount(place, { marketId: "mkt_a", theme: "light", onEvent: (event) => told.push(event) }); 0`);
  const views = () => page.evaluate("told.filter(({ name }) => name === 'view').map(({ detail }) => detail.view)");
  await expect.poll(views).toEqual(["market"]);
  const again = `[PredictionMarkets.mount(place, { marketId: "mkt_b" }) === first, place.children.length]`;
  expect(await page.evaluate(again)).toEqual([true, 1]);
  await heading(page, "mkt_b").waitFor();
  // What was not named stays.
  expect(await page.frames()[1]?.locator("html").getAttribute("data-theme")).toBe("light");
  await page.evaluate(`first.update({ view: "markets", marketId: undefined, theme: "dark", height: 444 })`);
  await page.frameLocator("iframe").locator(".card").first().waitFor();
  await expect.poll(() => page.frames()[1]?.locator("html").getAttribute("data-theme")).toBe("dark");
  expect(await page.locator("iframe").evaluate((one) => one.clientHeight)).toBe(444);
  await expect.poll(views).toEqual(["market", "market", "markets"]);

  const leaves = await page.evaluate(`(() => {
    const before = listening;
    const results = [PredictionMarkets.unmount(place), PredictionMarkets.unmount(place), PredictionMarkets.unmount(null)];
    for (let round = 0; round < 50; round += 1) {
      PredictionMarkets.mount(place, { view: "market", autoHeight: true });
      PredictionMarkets.mount(place, { view: "portfolio" });
      PredictionMarkets.unmount(place);
    }
    first.update({ theme: "light" }); first.refreshToken(); first.destroy();
    return { results, children: place.children.length, listeners: listening - before, version: PredictionMarkets.version };
  })()`);
  expect(leaves).toEqual({
    results: [true, false, false],
    children: 0,
    listeners: 0,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
  });
  expect(complaints).toEqual([]);
  await close();
});

test("a place that a page throws away without a word takes its widget with it, and one that comes back shows it again", async () => {
  const { page, close } = await openHost();
  await page.evaluate(`window.place = document.body.appendChild(document.createElement("div"));
    PredictionMarkets.mount(place, { marketId: "mkt_a" }); 0`);
  await heading(page, "mkt_a").waitFor();
  await page.evaluate("window.main = document.querySelector('main'); place.remove()");
  expect(page.frames()).toHaveLength(1);
  await page.evaluate("main.append(place)");
  await heading(page, "mkt_a").waitFor();
  await page.evaluate("window.gone = new WeakRef(place.querySelector('iframe')); place.remove(); delete window.place");
  const session = await page.context().newCDPSession(page);
  await expect
    .poll(async () => {
      await session.send("HeapProfiler.collectGarbage");
      return page.evaluate("gone.deref() === undefined");
    })
    .toBe(true);
  await close();
});

test("the element follows its attributes and properties, says what happens as events that bubble, and ends when removed", async () => {
  // The element is in the page before its script, and one property was set before its class was defined.
  const early = `addEventListener("DOMContentLoaded", () => {
    const element = document.createElement("prediction-market");
    element.setAttribute("market", "mkt_a");
    element.setAttribute("theme", "light");
    element.onAction = (action) => told.push(["onAction", action]);
    window.told = []; window.element = element;
    for (const name of ["ready", "view", "signin"]) document.addEventListener("pm-" + name, ({ detail, target }) =>
      told.push([name, detail, target === element]));
    document.body.append(element);
  })`;
  const { page, complaints, close } = await openHost([early]);
  await heading(page, "mkt_a").waitFor();
  const told = () => page.evaluate("told");
  await expect.poll(told).toEqual([
    ["ready", { view: "market", mayTrade: true }, true],
    ["view", { view: "market", marketId: "mkt_a" }, true],
  ]);
  await page
    .frameLocator("iframe")
    .getByRole("button", { name: /Sign in/ })
    .first()
    .click();
  const action = { name: "signin", marketId: "mkt_a" };
  await expect
    .poll(async () => ((await told()) as unknown[]).slice(2))
    .toEqual([
      ["signin", { marketId: "mkt_a" }, true],
      ["onAction", action],
    ]);
  await page.evaluate(`window.iframe = element.querySelector("iframe");
    element.setAttribute("market", "mkt_b"); element.setAttribute("theme", "dark"); element.setAttribute("height", "321");`);
  await heading(page, "mkt_b").waitFor();
  await expect.poll(() => page.frames()[1]?.locator("html").getAttribute("data-theme")).toBe("dark");
  expect(await page.evaluate("[element.querySelector('iframe') === iframe, iframe.clientHeight]")).toEqual([true, 321]);
  const token = JSON.stringify(await userToken());
  const portfolio = page.waitForResponse((response) => response.url().includes("/portfolio"));
  await page.evaluate(`element.getToken = () => ${token}`);
  await (await portfolio).finished();
  await expect
    .poll(() =>
      page
        .frameLocator("iframe")
        .getByRole("button", { name: /Sign in/ })
        .count(),
    )
    .toBe(0);
  // Moved to another place it goes on there.
  await page.evaluate("document.querySelector('main').append(element)");
  await heading(page, "mkt_b").waitFor();
  expect(
    await page.evaluate("(element.remove(), [element.children.length, PredictionMarkets.unmount(element)])"),
  ).toEqual([0, false]);
  // The script once more, as where two parts of a page include it.
  await page.evaluate(`new Promise((resolve) => {
    const script = document.createElement("script"); script.src = ${loader}; script.onload = resolve; document.head.append(script);
  })`);
  await page.evaluate("document.body.append(element)");
  await heading(page, "mkt_b").waitFor();
  expect(await page.locator("prediction-market iframe").count()).toBe(1);
  expect(complaints).toEqual([]);
  await close();
});

test("as a module it exports the three functions, and its frames come from the origin of the script, in the page's language", async () => {
  const { page, complaints, close } = await openHost();
  await page.evaluate(`(async () => {
    document.documentElement.lang = "de";
    const { embed, mount, unmount } = await import(${loader});
    window.place = document.body.appendChild(document.createElement("div"));
    window.handle = mount(place, { marketId: "mkt_a" });
    window.same = [embed(place) === handle, typeof unmount];
  })()`);
  await heading(page, "mkt_a").waitFor();
  expect(await page.evaluate("same")).toEqual([true, "function"]);
  const frame = new URL(page.frames()[1]?.url() ?? "");
  expect([frame.origin, frame.searchParams.get("locale")]).toEqual([stage.tenant.url, "de"]);
  await expect.poll(() => page.locator("iframe").getAttribute("title")).toContain("Will mkt_a come true?");
  expect(complaints).toEqual([]);
  await close();
});

test("below the fold nothing is loaded until the reader comes near, and its room is there; eager loads at once", async () => {
  const { page, close } = await openHost();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.evaluate(`(() => {
    const far = document.createElement("div"); far.style.height = "20000px";
    const places = [0, 1].map(() => document.createElement("div"));
    document.body.append(far, ...places);
    window.heights = [["lazy", "market"], ["eager", "portfolio"]].map(([loading, view], index) =>
      PredictionMarkets.mount(places[index], { loading, view, autoHeight: true }).iframe.clientHeight);
  })()`);
  await expect.poll(() => asked.filter((path) => path.startsWith("/embed/"))).toContain("/embed/portfolio");
  expect(asked).not.toContain("/embed/market");
  for (const height of (await page.evaluate("heights")) as number[]) expect(height).toBeGreaterThan(150);
  await page.locator("iframe").first().scrollIntoViewIfNeeded();
  await page.frameLocator("iframe >> nth=0").getByRole("heading").first().waitFor();
  await close();
});

describe("storage", () => {
  const stored = (page: Page) =>
    Promise.all(
      page
        .frames()
        .map((frame) => frame.evaluate("localStorage.length + sessionStorage.length + document.cookie.length")),
    );
  const show = (page: Page, consent: boolean) =>
    page.evaluate(`PredictionMarkets.mount(document.body.appendChild(document.createElement("div")),
      { view: "market", autoHeight: true, consent: ${consent}, onEvent: ({ name }) => (window.heard ??= []).push(name) }); 0`);

  test("keeps the height of the last visit, but nothing at all without consent", async () => {
    const { page, close } = await openHost();
    await show(page, false);
    await expect.poll(() => page.evaluate("window.heard?.includes('height')")).toBe(true);
    expect(await stored(page)).toEqual([0, 0]);
    // What lies below the fold has no layout, and so no height, until it is seen.
    await page.evaluate("document.querySelector('body > div').remove()");
    await show(page, true);
    await expect.poll(() => page.evaluate("localStorage.length")).toBe(1);
    expect(await page.context().cookies()).toEqual([]);
    await close();
  });
});

test("what the page asks for while the frame loads anew, because consent was taken back, is shown once it is there", async () => {
  const { page, close } = await openHost();
  await page.evaluate(`window.place = document.body.appendChild(document.createElement("div"));
    PredictionMarkets.mount(place, { marketId: "mkt_a" }); 0`);
  await heading(page, "mkt_a").waitFor();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.context().route(/consent=0/, async (route) => {
    await held;
    await route.continue();
  });
  const asked = page.waitForRequest(/consent=0/);
  await page.evaluate(`PredictionMarkets.mount(place, { consent: false }); 0`);
  await asked;
  await page.evaluate(`PredictionMarkets.mount(place, { marketId: "mkt_b" }); 0`);
  // The document of before hears of it too, and is left all the same.
  await heading(page, "mkt_b").waitFor();
  release();
  await expect.poll(() => page.frames()[1]?.url()).toContain("consent=0");
  await heading(page, "mkt_b").waitFor();
  await close();
});

test("a server that is away leaves a quiet card, is asked again, and the widget comes by itself", async () => {
  // The script's waits, fifty times as fast; a frame that loads still has all the time.
  const hasty = `{ const later = window.setTimeout;
    window.setTimeout = (run, ms, ...rest) => later(run, ms === 15_000 || ms < 3000 ? ms : ms / 50, ...rest); }`;
  const { page, close } = await openHost([hasty]);
  await page.context().route(/\/embed\/market|v1\/embed\.js\?/, (route) => route.abort("connectionrefused"));
  await page.evaluate(`(() => {
    const place = document.body.appendChild(document.createElement("div"));
    place.lang = "de"; window.told = [];
    PredictionMarkets.mount(place, { marketId: "mkt_a", height: 300, onEvent: (event) => told.push(event) });
  })()`);
  const card = page.locator('[data-pm="unavailable"]');
  await card.getByText("Die Prognosen sind gerade nicht verfügbar").waitFor();
  expect((await card.boundingBox())?.height).toBe(300);
  const troubles = () => page.evaluate("told.filter(({ name }) => name === 'error').map(({ detail }) => detail)");
  await expect.poll(async () => ((await troubles()) as unknown[]).length).toBeGreaterThan(2);
  const waits = ((await troubles()) as { code: string; retryInMs: number }[]).slice(0, 3);
  expect(waits.map(({ code }) => code)).toEqual(["UNREACHABLE", "UNREACHABLE", "UNREACHABLE"]);
  for (const [index, { retryInMs }] of waits.entries()) expect(retryInMs / 2 ** index / 5000).toBeCloseTo(1, -0.4);
  await page.context().unroute(/\/embed\/market|v1\/embed\.js\?/);
  await heading(page, "mkt_a").waitFor();
  expect(await card.count()).toBe(0);
  expect(await page.evaluate("told.at(-1).name")).not.toBe("error");
  await close();
});
