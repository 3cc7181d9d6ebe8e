import { mkdirSync } from "node:fs";
import type { Frame } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { faintPairs } from "../../src/domain/theme/contrast.ts";
import type { StatedTheme } from "../../src/domain/theme/stated-theme.ts";
import { completeTheme } from "../../src/domain/theme/stated-theme.ts";
import { userToken } from "../server/support/harness.ts";
import { accessibilityProblems, OUTPUT } from "../support/browser.ts";
import { fillTenant } from "./support/scenery.ts";
import { openStage, type Stage } from "./support/stage.ts";

const both = (light: string, dark: string) => ({ light, dark });

/** Every pair of text and ground passes by a hair, so that any tint of either would fail. */
const THEME: StatedTheme = {
  colors: {
    background: both("#eeeeee", "#222222"),
    surface: both("#eeeeee", "#222222"),
    text: both("#333333", "#898989"),
    muted: both("#40334d", "#8d8695"),
    accent: both("#004dff", "#4c82ff"),
    onAccent: both("#eeeeee", "#222222"),
    yes: both("#007e2a", "#0b9e3c"),
    onYes: both("#eeeeee", "#222222"),
    no: both("#d71520", "#ff3a45"),
    onNo: both("#eeeeee", "#222222"),
  },
  radius: 3,
  density: "compact",
};

let stage: Stage;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  stage = await openStage({ embed: { theme: THEME } });
  await fillTenant(stage.tenant, "usr_1");
});
afterAll(() => stage?.close());

const VIEWS = ["market", "markets", "portfolio"] as const;
type View = (typeof VIEWS)[number];
const READY = { market: ".own", markets: ".card", portfolio: ".rows" };

async function openView(view: View, options: { theme?: "dark" | "light" | "auto"; width: number; height?: number }) {
  const { theme = "dark", width, height } = options;
  const token = await userToken();
  const opened = await stage.open(
    {
      ...{ view, theme, token },
      ...(height === undefined ? { autoHeight: true } : { height }),
      ...(view === "market" ? { marketId: "mkt_0" } : {}),
    },
    { viewport: { width: width + 16, height: 800 } },
  );
  await opened.frame.waitForSelector(READY[view]);
  return opened;
}

const token = (frame: Frame, name: string) =>
  frame.evaluate<string>(`getComputedStyle(document.documentElement).getPropertyValue("--pm-${name}")`);
const styleOf = (frame: Frame, selector: string, property: string) =>
  frame.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}`);

describe("a tenant's theme", () => {
  test("passes the check of contrast", () => {
    expect(faintPairs(completeTheme(THEME).colors)).toEqual([]);
  });

  test.each(VIEWS)("is what the %s view is made of, and every word of it can be read in both schemes", async (view) => {
    const { frame, page, complaints, close } = await openView(view, { theme: "auto", width: 500 });
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      expect(await token(frame, "accent")).toBe(scheme === "light" ? "#004dff" : "#4c82ff");
      expect(await accessibilityProblems(frame)).toEqual([]);
    }
    expect(await token(frame, "radius")).toBe("3px");
    expect(Number(await token(frame, "density"))).toBeLessThan(1);
    expect(complaints).toEqual([]);
    await close();
  });
});

/** Things to press or fill in that are smaller than that, in CSS pixels. */
const smallerThan = (frame: Frame, least: number, place = "body") =>
  frame.evaluate<
    string[]
  >(`[...document.querySelector(${JSON.stringify(place)}).querySelectorAll("a, button, input, [tabindex='0']")]
    .filter((each) => each.offsetParent !== null)
    .map((each) => [each.closest("label") ?? each, each.getBoundingClientRect()])
    .filter(([, { width, height }]) => Math.min(width, height) < ${least})
    .map(([each, { width, height }]) => each.outerHTML.slice(0, 80) + " " + width + "x" + height)`);

test.each(VIEWS)("the %s view fits a column of 200 pixels, and fingers hit what there is to press", async (view) => {
  const { frame, page, close } = await openView(view, { width: 200 });
  const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
  await expect.poll(() => frame.evaluate<number>(overflow)).toBe(0);
  expect(await smallerThan(frame, 24)).toEqual([]);
  if (view === "market") expect(await smallerThan(frame, 44, "form")).toEqual([]);
  await page.screenshot({ path: `${OUTPUT}embed-${view}-200.png`, fullPage: true });
  await close();
});

describe("a reader's own colours", () => {
  test("leave the sides, what is chosen and the main button different by border and underline", async () => {
    const { frame, page, close } = await openView("market", { width: 375 });
    await page.emulateMedia({ forcedColors: "active" });
    const border = async (selector: string) => ({
      style: await styleOf(frame, selector, "borderTopStyle"),
      width: await styleOf(frame, selector, "borderTopWidth"),
      underline: await styleOf(frame, selector, "textDecorationLine"),
    });
    const yes = await border(".side.yes");
    expect(yes).toEqual({ style: "solid", width: "4px", underline: "underline" });
    expect(await border(".side.no")).toEqual({ style: "dashed", width: "2px", underline: "none" });
    expect(await border(".buy")).toEqual({ style: "solid", width: "4px", underline: "underline" });
    expect(await border(".chips > [aria-pressed=true]")).toEqual({
      style: "solid",
      width: "3px",
      underline: "underline",
    });
    expect(await border(".chips > [aria-pressed=false]")).toEqual({ style: "solid", width: "1px", underline: "none" });
    expect(await token(frame, "yes")).toBe("CanvasText");
    await page.screenshot({ path: `${OUTPUT}embed-market-forced-375.png`, fullPage: true });
    await close();
  });
});

test("paper is white with dark words, whatever the scheme, and has nothing to press", async () => {
  const { frame, page, close } = await openView("market", { width: 600 });
  await page.emulateMedia({ media: "print" });
  expect(await token(frame, "text")).toBe("#333333");
  expect(await styleOf(frame, "h1", "color")).toBe("rgb(51, 51, 51)");
  const pressable = `[...document.querySelectorAll("button, input")].filter((each) => each.offsetParent !== null).length`;
  expect(await frame.evaluate<number>(pressable)).toBe(0);
  await page.screenshot({ path: `${OUTPUT}embed-market-print.png`, fullPage: true });
  await close();
});

test.each([320, 375])(
  "at %d by 600 pixels the odds and both sides are in sight, and so is the button to buy",
  async (width) => {
    const { frame, page, close } = await openView("market", { width, height: 600 });
    const bottom = (selector: string) =>
      frame.evaluate<number>(`document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().bottom`);
    for (const part of [".big", ".side.yes", ".side.no"]) expect(await bottom(part)).toBeLessThanOrEqual(600);
    await frame.click(".side.no");
    await frame.waitForSelector(".buy", { state: "visible" });
    expect(await bottom(".buy")).toBeLessThanOrEqual(600);
    await page.screenshot({ path: `${OUTPUT}embed-market-compact-${width}.png`, fullPage: true });
    await close();
  },
);
