import { afterAll, beforeAll, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { openPage } from "../support/browser.ts";
import { fillTenant } from "./support/scenery.ts";
import { openStage, type Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await fillTenant(stage.tenant, "usr_1");
});
afterAll(() => stage?.close());

/** Adds up what moves in a page. */
const WATCH = `window.moved = 0;
  new PerformanceObserver((list) => { for (const { value } of list.getEntries()) moved += value; })
    .observe({ type: "layout-shift", buffered: true });`;

test.each([
  [1280, 800],
  [375, 700],
])("no view moves the article around it, at a first visit and the next, at %i by %i", async (width, height) => {
  const token = JSON.stringify(await userToken());
  const { page, close } = await openPage(stage.browser, { viewport: { width, height } });
  const context = page.context();
  await context.addInitScript({ content: WATCH });
  const visit = async (view: string): Promise<[view: string, moved: number]> => {
    const here = await context.newPage();
    await here.goto(stage.hostUrl({ count: 0 }));
    const portfolio = here.waitForResponse((response) => response.url().includes("/portfolio"));
    await here.evaluate(`(() => {
      window.height = 0;
      const place = document.body.appendChild(document.createElement("div"));
      document.body.appendChild(document.createElement("p")).textContent = "The article goes on. ".repeat(400);
      PredictionMarkets.mount(place, { view: ${JSON.stringify(view)}, marketId: "mkt_0", marketIds: ["mkt_0", "mkt_1"],
        autoHeight: true, getToken: () => ${token}, onEvent: ({ name, detail }) => { if (name === "height") height = detail.height; } });
    })()`);
    await (await portfolio).finished();
    const content = "Math.ceil(document.documentElement.getBoundingClientRect().height)";
    await expect
      .poll(
        async () =>
          (await here.evaluate<number>("height")) - ((await here.frames()[1]?.evaluate<number>(content)) ?? -1),
      )
      .toBe(0);
    // After the next picture the observer has been told of all before it.
    await here.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50)))");
    const moved = await here.evaluate<number>("moved");
    await here.close();
    return [view, moved];
  };
  const views = ["market", "markets", "portfolio", "card", "compare"];
  const found = await Promise.all(views.map(visit));
  // The next time, with what was kept of this one.
  found.push(await visit("portfolio"));
  expect(found.filter(([, moved]) => moved >= 0.02)).toEqual([]);
  await close();
});
