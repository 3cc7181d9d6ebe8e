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

/** Adds up what moved in a page, with the greatest moves for a report. */
const WATCH = `window.shifts = [];
  new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value, sources }) =>
    ({ value, moved: sources.map(({ node, previousRect, currentRect }) => [node?.nodeName, previousRect.y, currentRect.y]) }))))
    .observe({ type: "layout-shift", buffered: true });`;

test.each([
  [1280, 800],
  [375, 700],
])("no view moves the article around it, at a first visit and the next, at %i by %i", async (width, height) => {
  const token = JSON.stringify(await userToken());
  const { page, close } = await openPage(stage.browser, { viewport: { width, height } });
  await page.addInitScript({ content: WATCH });
  const found: Record<string, number> = {};
  const heights: unknown[] = [];
  for (const visit of ["first", "second"])
    for (const view of ["market", "markets", "portfolio"]) {
      await page.goto(stage.hostUrl({ count: 0 }));
      await page.evaluate(`(() => {
        window.heard = [];
        const place = document.body.appendChild(document.createElement("div"));
        const text = document.body.appendChild(document.createElement("p"));
        text.textContent = "The article goes on. ".repeat(400);
        PredictionMarkets.mount(place, { view: ${JSON.stringify(view)}, marketId: "mkt_0", marketIds: ["mkt_0", "mkt_1"],
          autoHeight: true, getToken: () => ${token}, onEvent: ({ name, detail }) => heard.push(name === "height" ? detail.height : name) });
        window.reserved = place.offsetHeight;
      })()`);
      await expect.poll(() => page.evaluate("heard.some(Number)")).toBe(true);
      await page.waitForTimeout(1500);
      found[`${visit} ${view}`] = await page.evaluate<number>("shifts.reduce((sum, { value }) => sum + value, 0)");
      heights.push([visit, view, await page.evaluate("[reserved, heard.filter(Number), JSON.stringify(shifts)]")]);
    }
  console.log(width, JSON.stringify(heights, null, 0), found);
  await close();
});
