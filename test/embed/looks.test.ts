import { mkdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { accessibilityProblems, OUTPUT } from "../support/browser.ts";
import { fillTenant } from "./support/scenery.ts";
import { openStage, type Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  stage = await openStage();
  await fillTenant(stage.tenant, "usr_1");
});
afterAll(() => stage?.close());

describe.each(["dark", "light"] as const)("%s", (theme) => {
  test.each(["market", "markets", "portfolio"] as const)(
    "the %s view is readable by everybody, and fits 320 pixels",
    async (view) => {
      const token = await userToken();
      const { page, frame, complaints, close } = await stage.open(
        { view, theme, token, autoHeight: true, ...(view === "market" ? { marketId: "mkt_0" } : {}) },
        { viewport: { width: 800, height: 600 }, colorScheme: theme },
      );
      await frame.waitForSelector(view === "market" ? ".own" : view === "markets" ? ".trending" : ".rows");
      if (view !== "portfolio") await frame.waitForSelector(view === "market" ? ".is-live" : ".card");
      expect(await accessibilityProblems(frame)).toEqual([]);
      await page.screenshot({ path: `${OUTPUT}embed-${view}-${theme}-800.png`, fullPage: true });
      await page.setViewportSize({ width: 320, height: 640 });
      const width = () =>
        frame.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
      await expect.poll(width).toBe(0);
      await expect.poll(() => frame.evaluate<number>("innerWidth")).toBeLessThanOrEqual(320);
      await page.screenshot({ path: `${OUTPUT}embed-${view}-${theme}-320.png`, fullPage: true });
      expect(complaints).toEqual([]);
      await close();
    },
  );
});
