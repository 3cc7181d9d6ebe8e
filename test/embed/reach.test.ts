import type { Frame } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { fillTenant } from "./support/scenery.ts";
import { openStage, type Stage } from "./support/stage.ts";
import { ask, part } from "./support/ticket.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await fillTenant(stage.tenant, "usr_1");
});
afterAll(() => stage?.close());

const problems = (frame: Frame) => accessibilityProblems(frame, undefined, ["target-size"]);
const overflowOf = (frame: Frame) =>
  frame.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
const focused = (frame: Frame) => frame.evaluate<string | null>("document.activeElement?.getAttribute('data-pm')");

test("from the keyboard alone a reader buys and sells all of it again, in sight of axe and its target sizes", async () => {
  const { page, frame, events, complaints, close } = await stage.open(
    { view: "market", marketId: "mkt_1", theme: "auto", autoHeight: true, token: await userToken() },
    { viewport: { width: 516, height: 900 }, colorScheme: "dark" },
  );
  // The states take turns in the themes: `appearance.test.ts` looks at the colours of both.
  const check = async (colorScheme: "dark" | "light") => {
    await page.emulateMedia({ colorScheme });
    expect(await problems(frame)).toEqual([]);
  };
  const ringed = `[document.activeElement, document.activeElement.parentElement]
    .some((each) => getComputedStyle(each).outlineStyle !== "none")`;
  /** Tabs on until the focus is there; a ring shows where. */
  const tabTo = async (name: string, step = "Tab") => {
    for (let count = 0; count < 40 && (await focused(frame)) !== name; count += 1) await page.keyboard.press(step);
    expect(await focused(frame)).toBe(name);
    expect(await frame.evaluate(ringed)).toBe(true);
  };
  await frame.locator(".is-live").waitFor();
  await check("dark");
  await tabTo("side-yes");
  await tabTo("amount");
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("10");
  await tabTo("submit");
  // It takes a press once the user's standing is known, which `click` waits for by itself.
  await expect.poll(() => part(frame, "submit").isEnabled()).toBe(true);
  await page.keyboard.down("Enter");
  await part(frame, "change-order").waitFor();
  // A key that is held down repeats, and confirms nothing.
  await page.keyboard.down("Enter");
  await page.keyboard.up("Enter");
  await part(frame, "change-order").waitFor();
  await check("light");
  await page.keyboard.press("Enter");
  await part(frame, "receipt").waitFor();
  await check("dark");
  await tabTo("again");
  await page.keyboard.press("Enter");
  await part(frame, "position").first().waitFor();

  const sides = () => part(frame, "position").evaluateAll((all) => all.map((one) => one.getAttribute("data-side")));
  expect((await sides()).toSorted()).toEqual(["no", "yes"]);
  await tabTo("cash-out", "Shift+Tab");
  await page.keyboard.press("Enter");
  await tabTo("submit");
  await page.keyboard.press("Enter");
  await part(frame, "change-order").waitFor();
  await check("light");
  await page.keyboard.press("Enter");
  await part(frame, "receipt").waitFor();
  await expect.poll(async () => (await sides()).length).toBe(1);
  expect((await events()).filter(({ name }) => name === "trade").map(({ detail }) => detail.action)).toEqual([
    "buy",
    "sell",
  ]);
  expect(complaints).toEqual([]);
  await close();
});

test("at 200 % and 400 % of a window of 1280 pixels nothing scrolls sideways, from left to right and from right to left", async () => {
  const { page, frame, close } = await stage.open(
    { view: "market", marketId: "mkt_0", locale: "ar", autoHeight: true, token: await userToken() },
    { viewport: { width: 640, height: 512 } },
  );
  await frame.locator(".is-live").waitFor();
  expect(await frame.evaluate("document.documentElement.dir")).toBe("rtl");
  await ask(frame);
  for (const locale of ["ar", "en"])
    for (const options of [
      { view: "market", marketId: "mkt_0" },
      { view: "markets" },
      { view: "portfolio" },
      { view: "card", marketId: "mkt_0" },
      { view: "compare", marketIds: ["mkt_0", "mkt_1"] },
    ]) {
      await page.evaluate(`embeds[0].update(${JSON.stringify({ locale, ...options })})`);
      await expect
        .poll(() => frame.evaluate("document.documentElement.lang + location.pathname"))
        .toBe(`${locale}/embed/${options.view}`);
      for (const width of [640, 320]) {
        await page.setViewportSize({ width, height: width * 0.8 });
        await expect.poll(() => overflowOf(frame), { message: `${options.view} ${locale} ${width}` }).toBe(0);
      }
    }
  await close();
});
