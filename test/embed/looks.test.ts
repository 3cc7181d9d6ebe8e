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
  await stage.tenant.deposit("usr_rich", 80_000_000);
  const closeAt = Date.now() + 40 * 86_400_000;
  await stage.tenant.openMarket("mkt_arabic", {
    closeAt,
    question: "هل ستتجاوز Bitcoin سعر 200,000$ قبل نهاية عام 2030؟",
  });
  await stage.tenant.openMarket("mkt_long", { closeAt, question: `${"Will the committee agree? ".repeat(19)}` });
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

test("a question is read in its own direction, and a long one stretches no card", async () => {
  const { frame, close } = await stage.open(
    { view: "markets", autoHeight: true },
    { viewport: { width: 1100, height: 800 } },
  );
  const direction = `getComputedStyle([...document.querySelectorAll(".card .question")].find((each) => /Bitcoin/.test(each.textContent) && /عام/.test(each.textContent))).direction`;
  expect(await frame.evaluate(direction)).toBe("rtl");
  const heights = await frame.evaluate<number[]>(
    `[...document.querySelectorAll(".card")].map((each) => each.offsetHeight)`,
  );
  expect(Math.max(...heights) - Math.min(...heights)).toBeLessThan(60);
  await close();
});

test("a large wallet is readable in full on a small screen", async () => {
  const token = await userToken({ sub: "usr_rich" });
  const { page, frame, close } = await stage.open(
    { view: "portfolio", token, autoHeight: true },
    { viewport: { width: 320, height: 640 } },
  );
  await frame.getByText("$80,000,000.00").waitFor();
  const clipped = `[...document.querySelectorAll(".tiles > div")].filter((each) => each.scrollWidth > each.clientWidth).length`;
  expect(await frame.evaluate(clipped)).toBe(0);
  await page.screenshot({ path: `${OUTPUT}embed-portfolio-large-320.png`, fullPage: true });
  await close();
});
