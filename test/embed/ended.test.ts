import { mkdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { Frame } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { accessibilityProblems, OUTPUT } from "../support/browser.ts";
import { endMarkets, HOSTILE_REASON, openHeld, operate } from "./support/ends.ts";
import { openStage, type Stage } from "./support/stage.ts";
import { part } from "./support/ticket.ts";

const ENDED = ["mkt_void", "mkt_split", "mkt_fixed", "mkt_unvoid"] as const;

let stage: Stage;
beforeAll(async () => {
  mkdirSync(OUTPUT, { recursive: true });
  stage = await openStage({ server: { resolution: { correctionHours: 24 } } });
  await endMarkets(stage.tenant, "usr_1");
});
afterAll(() => stage?.close());

const plain = (text: string): string => text.replaceAll(/\s+/g, " ").trim();
const sentences = async (frame: Frame) => (await part(frame, "ended").allInnerTexts()).map(plain);
const DATE = String.raw`\w+ \d+, 20\d\d, \d+:\d\d [AP]M UTC`;

describe("the view of a market", () => {
  test.each([
    ["mkt_void", "Void", [`^Refunded: the market was voided on ${DATE}: The tower was never begun$`]],
    ["mkt_split", "Yes pays 40%, No 60%", [`^Settled ${DATE}: Yes pays 40%, No 60%\\.$`]],
    [
      "mkt_fixed",
      "No",
      [
        `^Settled ${DATE}: each share of Yes was paid one dollar\\.$`,
        `^Corrected on ${DATE} from “Yes” to “No”: The station measured dew$`,
      ],
    ],
  ])("of %s tells its end in words, and its reader's own result", async (marketId, outcome, told) => {
    const token = await userToken();
    const { frame, complaints, close } = await stage.open({ view: "market", marketId, token }, { timezoneId: "UTC" });
    await part(frame, "own-result").waitFor();
    expect(await frame.locator(".facts .big").innerText()).toBe(outcome);
    const texts = await sentences(frame);
    expect(texts.slice(0, -1)).toEqual(told.map((pattern) => expect.stringMatching(new RegExp(pattern))));
    expect(texts.at(-1)).toMatch(/^Last chance before: \d+%$/);
    const own = await part(frame, "own-result").innerText();
    if (marketId === "mkt_void") expect(own).toBe("You got back what you paid.");
    expect(complaints).toEqual([]);
    await close();
  });

  test("that is open when its market ends tells it soon, and a correction too", async () => {
    await openHeld(stage.tenant, "mkt_live", "Will it end while you look?", "usr_1");
    const { frame, complaints, close } = await stage.open({ view: "market", marketId: "mkt_live" });
    await frame.locator(".is-live").waitFor();
    await operate(stage.tenant, { type: "voidMarket", marketId: "mkt_live", reason: "It broke" });
    await part(frame, "ended").getByText("It broke").waitFor();
    expect(await frame.locator(".facts .big").innerText()).toBe("Void");
    const correction = { marketId: "mkt_live", outcome: "0.25", reason: "It was mended" } as const;
    await operate(stage.tenant, { type: "correctMarket", ...correction });
    await part(frame, "ended").getByText("It was mended").waitFor();
    expect(await frame.locator(".facts .big").innerText()).toBe("Yes pays 25%, No 75%");
    expect(complaints).toEqual([]);
    await close();
  });
});

test("a reason is only ever text, in the frame and on the page", async () => {
  const token = await userToken();
  for (const host of [{ view: "market", marketId: "mkt_unvoid" }, { view: "portfolio" }] as const) {
    const { frame, complaints, close } = await stage.open({ ...host, token });
    await frame.locator("bdi").getByText("onerror").waitFor();
    const texts = await frame.locator("bdi").allInnerTexts();
    expect(texts.map(plain)).toContain(plain(HOSTILE_REASON));
    expect(await frame.locator("img").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  }
  const html = await (await fetch(`${stage.tenant.url}/m/mkt_unvoid`)).text();
  expect(html).toContain("<bdi>&lt;img src=x");
  expect(html).not.toContain("<img src=x");
});

test("a card and a comparison tell what the name of an outcome does not say", async () => {
  const card = await stage.open({ view: "card", marketId: "mkt_void" });
  expect((await sentences(card.frame))[0]).toMatch(/^Refunded: .*: The tower was never begun$/);
  await card.close();
  const pair = await stage.open({ view: "compare", marketIds: ["mkt_split", "mkt_fixed"] });
  expect(await sentences(pair.frame)).toEqual([
    expect.stringMatching(/^Settled .*: Yes pays 40%, No 60%\.$/),
    expect.stringMatching(/^Settled .*paid one dollar\.$/),
    expect.stringMatching(/^Corrected on .*: The station measured dew$/),
  ]);
  await pair.close();
});

test("a card of a list says how its market ended while the reader looks, and after a correction", async () => {
  await openHeld(stage.tenant, "mkt_listed", "Will it end in a list?", "usr_1");
  await openHeld(stage.tenant, "mkt_halved", "Will it be halved in a list?", "usr_1");
  const { frame, complaints, close } = await stage.open({ view: "markets" });
  await frame.locator(".is-live").waitFor();
  const foot = (text: string) => part(frame, "card").filter({ hasText: text }).locator(".foot");
  await operate(stage.tenant, { type: "voidMarket", marketId: "mkt_listed", reason: "It broke" });
  await foot("end in a list").getByText("Result: Void").waitFor();
  await operate(stage.tenant, { type: "settleMarket", marketId: "mkt_halved", outcome: "0.5" });
  await foot("halved").getByText("Result: Yes pays 50%, No 50%").waitFor();
  await operate(stage.tenant, { type: "correctMarket", marketId: "mkt_listed", outcome: "no", reason: "It held" });
  await foot("end in a list").getByText("Result: No").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("a portfolio tells why money came back, or a result changed", async () => {
  const { frame, close } = await stage.open({ view: "portfolio", token: await userToken() });
  const row = (text: string) => frame.locator(".rows li").filter({ hasText: text });
  await row("tower").waitFor();
  const strike = row("strike").getByText("Corrected on");
  expect(await strike.innerText()).toMatch(/from “Void” to “Yes pays 33\.\d+%, No 66\.\d+%”: /);
  expect(await row("tower").innerText()).toMatch(
    /Void.*Refunded: the market was voided on .*: The tower was never begun/s,
  );
  expect(await row("cup final").innerText()).toContain("Yes pays 40%, No 60%");
  expect(await row("Bern").innerText()).toMatch(
    /No won.*Corrected on .* from “Yes” to “No”: The station measured dew/s,
  );
  await close();
});

test.each(["light", "dark"] as const)("its pictures, %s, without a fault that axe finds", async (theme) => {
  const token = await userToken();
  for (const marketId of ENDED) {
    const opened = await stage.open({ view: "market", marketId, token, theme, autoHeight: true });
    await part(opened.frame, "own-result").waitFor();
    await opened.frame.locator(".uplot").waitFor();
    expect(await accessibilityProblems(opened.frame)).toEqual([]);
    await opened.page.screenshot({ path: `${OUTPUT}ended-${marketId}-${theme}.png`, fullPage: true });
    await opened.close();
    const picture = await fetch(`${stage.tenant.url}/m/${marketId}/image.png?theme=${theme}`);
    expect(picture.status).toBe(200);
    await writeFile(`${OUTPUT}ended-${marketId}-${theme}-image.png`, new Uint8Array(await picture.arrayBuffer()));
  }
  for (const [name, host] of [
    ["portfolio", { view: "portfolio", token }],
    ["card", { view: "card", marketId: "mkt_void" }],
    ["compare", { view: "compare", marketIds: ["mkt_split", "mkt_fixed"], locale: "ar" }],
  ] as const) {
    const opened = await stage.open({ ...host, theme, autoHeight: true });
    await opened.frame.locator("main:not(.waiting)").waitFor();
    await opened.frame
      .locator(name === "portfolio" ? ".rows li" : "[data-pm=ended]")
      .first()
      .waitFor();
    await opened.page.screenshot({ path: `${OUTPUT}ended-${name}-${theme}.png`, fullPage: true });
    await opened.close();
  }
});
