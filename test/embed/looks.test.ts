import { mkdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { accessibilityProblems, OUTPUT } from "../support/browser.ts";
import { openStage, type Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  stage = await openStage();
  const { tenant } = stage;
  await tenant.deposit("usr_1", 800);
  const questions: [string, string][] = [
    ["Will Bitcoin trade above $200,000 at the start of 2030?", "crypto"],
    ["Will an ounce of gold cost more than $5,000 at the end of 2030?", "metals"],
    ["Will people walk on the Moon again before 2031?", "space"],
    ["Will one euro cost less than one US dollar at the end of June 2030?", "fx"],
    ["Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft?", "words"],
  ];
  const closeAt = Date.now() + 40 * 86_400_000;
  for (const [index, [question, category]] of questions.entries())
    await tenant.openMarket(`mkt_${index}`, { question, category, closeAt, kind: index % 2 ? "lmsr" : "cpmm" });
  for (const [index, [marketId, side, dollars]] of (
    [
      ["mkt_0", "yes", 50],
      ["mkt_0", "no", 20],
      ["mkt_1", "no", 60],
      ["mkt_2", "yes", 90],
      ["mkt_0", "yes", 30],
    ] as const
  ).entries())
    await tenant.services.sequencer.submit({
      command: {
        type: "placeTrade",
        id: `trd_${index}`,
        marketId,
        traderId: "usr_1",
        side,
        amountMicro: BigInt(dollars) * 1_000_000n,
        claimedJurisdiction: undefined,
      },
      actor: "user:usr_1",
    });
  await tenant.services.sequencer.submit({
    command: { type: "settleMarket", marketId: "mkt_2", outcome: "yes" },
    actor: "admin:ops",
  });
}, 180_000);
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
