import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Frame } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
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
  words: { no: { en: "Nope", de: "Nö" } },
  overridable: ["colors", "words"],
};

/** A picture that other origins may embed, as an isolated document asks of it. */
const pictures = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "image/svg+xml", "cross-origin-resource-policy": "cross-origin" });
  response.end('<svg xmlns="http://www.w3.org/2000/svg" width="120" height="30"><rect width="120" height="30"/></svg>');
});

let stage: Stage;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  await once(pictures.listen(0, "127.0.0.1"), "listening");
  const { port } = pictures.address() as AddressInfo;
  const logo = { url: `http://127.0.0.1:${port}/logo.svg`, alt: "Acme", href: "https://acme.example/" };
  stage = await openStage({ embed: { theme: { ...THEME, logo } } });
  await fillTenant(stage.tenant, "usr_1");
  await stage.tenant.deposit("usr_rich", 80_000_000);
  const closeAt = Date.now() + 40 * 86_400_000;
  await stage.tenant.openMarket("mkt_arabic", {
    closeAt,
    question: "هل ستتجاوز Bitcoin سعر 200,000$ قبل نهاية عام 2030؟",
  });
  await stage.tenant.openMarket("mkt_long", { closeAt, question: `${"Will the committee agree? ".repeat(19)}` });
});
afterAll(async () => {
  await stage?.close();
  pictures.close();
});

const token = (frame: Frame, name: string) =>
  frame.evaluate<string>(`getComputedStyle(document.documentElement).getPropertyValue("--pm-${name}")`);
const styleOf = (frame: Frame, selector: string, property: string) =>
  frame.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}`);
const bottomOf = (frame: Frame, selector: string) =>
  frame.evaluate<number>(`document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().bottom`);
const overflowOf = (frame: Frame) =>
  frame.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth");
/** Things to press or fill in that are smaller than that, in CSS pixels. */
const smallerThan = (frame: Frame, least: number, place = "body") =>
  frame.evaluate<
    string[]
  >(`[...document.querySelector(${JSON.stringify(place)}).querySelectorAll("a, button, input, [tabindex='0']")]
    .filter((each) => each.offsetParent !== null)
    .map((each) => [each, (each.closest("label.side") ?? each).getBoundingClientRect()])
    .filter(([, { width, height }]) => Math.min(width, height) < ${least})
    .map(([each, { width, height }]) => each.outerHTML.slice(0, 80) + " " + width + "x" + height)`);

async function openView(view: "market" | "markets" | "portfolio", width: number) {
  const opened = await stage.open(
    { view, theme: "auto", token: await userToken(), height: 600, ...(view === "market" ? { marketId: "mkt_0" } : {}) },
    { viewport: { width: width + 16, height: 800 }, colorScheme: "dark" },
  );
  await opened.frame.waitForSelector({ market: ".own", markets: ".card", portfolio: ".rows" }[view]);
  const shoot = (name: string) =>
    opened.page.screenshot({ path: `${OUTPUT}appearance-${view}-${name}.png`, fullPage: true });
  const resize = async (to: number) => {
    await opened.page.setViewportSize({ width: to + 16, height: 800 });
    await expect.poll(() => opened.frame.evaluate<number>("innerWidth")).toBeLessThanOrEqual(to);
  };
  return { ...opened, shoot, resize };
}

test("a theme whose text passes by a hair passes", () => {
  expect(faintPairs(completeTheme(THEME).colors)).toEqual([]);
});

test.each(["market", "markets", "portfolio"] as const)(
  "the %s view is made of the tenant's theme, readable in both schemes, and fits a column of 200 pixels",
  async (view) => {
    const { frame, page, complaints, shoot, resize, close } = await openView(view, 500);
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      expect(await token(frame, "accent")).toBe(scheme === "light" ? "#004dff" : "#4c82ff");
      expect(await accessibilityProblems(frame)).toEqual([]);
    }
    expect([await token(frame, "radius"), await token(frame, "density")]).toEqual(["3px", "0.7"]);
    await resize(200);
    await expect.poll(() => overflowOf(frame)).toBe(0);
    expect(await smallerThan(frame, 24)).toEqual([]);
    await shoot("200");
    expect(complaints).toEqual([]);
    await close();
  },
);

test("a narrow ticket is within reach of fingers, differs in readers' own colours too, and stays off paper", async () => {
  const { frame, page, shoot, resize, close } = await openView("market", 375);
  for (const width of [375, 320]) {
    await resize(width);
    for (const part of [".big", ".side.yes", ".side.no"]) expect(await bottomOf(frame, part)).toBeLessThanOrEqual(600);
  }
  await frame.click(".side.no");
  await frame.waitForSelector(".buy", { state: "visible" });
  await frame.evaluate("scrollTo(0, 0)");
  expect(await bottomOf(frame, ".buy")).toBeLessThanOrEqual(600);
  expect(await smallerThan(frame, 44, "form")).toEqual([]);
  await shoot("compact");

  await page.emulateMedia({ forcedColors: "active" });
  const border = async (selector: string) => [
    await styleOf(frame, selector, "borderTopStyle"),
    await styleOf(frame, selector, "borderTopWidth"),
    await styleOf(frame, selector, "textDecorationLine"),
  ];
  expect(await border(".side.no")).toEqual(["dashed", "4px", "underline"]);
  expect(await border(".side.yes")).toEqual(["solid", "2px", "none"]);
  expect(await border(".buy")).toEqual(["dashed", "4px", "underline"]);
  expect(await border(".chips > [aria-pressed=true]")).toEqual(["solid", "3px", "underline"]);
  expect(await border(".chips > [aria-pressed=false]")).toEqual(["solid", "1px", "none"]);
  expect(await token(frame, "yes")).toBe("CanvasText");
  await shoot("forced");

  await page.emulateMedia({ forcedColors: "none", media: "print" });
  expect(await styleOf(frame, "h1", "color")).toBe("rgb(51, 51, 51)");
  const pressable = `[...document.querySelectorAll("button, input")].filter((each) => each.offsetParent !== null).length`;
  expect(await frame.evaluate<number>(pressable)).toBe(0);
  await shoot("print");
  await close();
});

test("a page's brand counts where the tenant allows it, the rest is told; the logo leads out in a tab of its own", async () => {
  const accent = both("#7a1fa2", "#d7a6ee");
  const brand = { colors: { accent, onAccent: both("#ffffff", "#000000"), yes: "#777777" }, words: { yes: "Agree" } };
  const { frame, page, events, complaints, close } = await stage.open(
    { view: "market", marketId: "mkt_0", theme: "light", brand: { ...brand, radius: 9 } },
    { viewport: { width: 500, height: 800 } },
  );
  await expect.poll(() => token(frame, "accent")).toBe(accent.light);
  expect(await token(frame, "yes")).toBe("#007e2a");
  expect(await token(frame, "radius")).toBe("3px");
  expect(await frame.locator(".sides").innerText()).toMatch(/Agree[\s\S]*Nope/);
  const errors = async () => (await events()).filter(({ name }) => name === "error").map(({ detail }) => detail);
  await expect.poll(errors).toEqual([
    {
      code: "BRAND_REFUSED",
      message: expect.stringMatching(
        /^brand\.colors\.yes: .*needs 4\.5:1; brand\.radius: is not in embed\.theme\.overridable$/,
      ),
    },
  ]);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.evaluate("embeds[0].setTheme('dark')");
  await expect.poll(() => token(frame, "accent")).toBe(accent.dark);
  await page.evaluate("embeds[0].update({ brand: undefined })");
  await expect.poll(() => token(frame, "accent")).toBe("#4c82ff");

  const logo = frame.locator(".logo a");
  expect([await logo.getAttribute("target"), await logo.getAttribute("rel")]).toEqual(["_blank", "noopener"]);
  await expect.poll(() => frame.evaluate<number>(`document.querySelector(".logo img").naturalWidth`)).toBe(120);
  expect(complaints).toEqual([expect.stringMatching(/^warning: prediction-markets: BRAND_REFUSED: /)]);
  await close();
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
