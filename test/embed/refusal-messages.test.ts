import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Command } from "../../src/engine/commands.ts";
import { configOf } from "../engine/world.ts";
import { userToken } from "../server/support/harness.ts";
import { type OpenEmbed, openStage, type Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  for (const user of ["usr_1", "usr_2"]) await stage.tenant.deposit(user, 900);
});
afterAll(() => stage?.close());

const submit = (command: Command) => stage.tenant.services.sequencer.submit({ command, actor: "admin:ops" });

let markets = 0;
/** A market of its own, so that no test sees another's prices. */
async function openMarket(change: { closeAt?: number } = {}, userId = "usr_1"): Promise<OpenEmbed & { id: string }> {
  markets += 1;
  const id = `mkt_${markets}`;
  await stage.tenant.openMarket(id, change);
  const opened = await stage.open({ view: "market", marketId: id, token: await userToken({ sub: userId }) });
  await opened.frame.getByText("live", { exact: true }).waitFor();
  return { ...opened, id };
}

async function buy({ frame }: OpenEmbed): Promise<void> {
  await frame.getByRole("button", { name: /^Buy Yes/ }).click();
  await frame.getByRole("button", { name: /^Confirm/ }).click();
}

const problem = ({ frame }: OpenEmbed): Promise<string> => frame.locator(".problem [role=alert]").innerText();

describe("a refusal is told in words, and what can be done about it is the host's to offer", () => {
  let opened: OpenEmbed;
  beforeAll(async () => {
    opened = await openMarket();
  });
  afterAll(() => opened?.close());
  const setPolicy = (patch: object) => () => submit({ type: "updatePolicy", patch });
  const apply = (kycRequired: boolean) => async () => {
    const keys = await stage.tenant.backend.sql`select hash, name, type from api_key where expires_at is null`;
    const kept = keys.map(({ hash, name, type }) => ({ hash, name, type, expiresAt: null }));
    await submit(configOf({ keys: kept, kycRequired, document: JSON.stringify({ kycRequired }) }));
  };
  test.each([
    ["identity", apply(true), apply(false), /identity has to be verified/, "verify"],
    [
      "suitability",
      setPolicy({ suitabilityRequired: true }),
      setPolicy({ suitabilityRequired: false }),
      /Answer a few questions first/,
      "suitability",
    ],
    [
      "jurisdiction",
      setPolicy({ jurisdictions: { allowed: ["CH"], blocked: [] } }),
      setPolicy({ jurisdictions: { allowed: [], blocked: [] } }),
      /not available where you live/,
      undefined,
    ],
    [
      "a limit",
      setPolicy({ maxTradeUsd: 10 }),
      setPolicy({ maxTradeUsd: 1000 }),
      /limit of 10 USD per trade/,
      undefined,
    ],
    [
      "exposure",
      setPolicy({ maxUserExposureUsd: 10 }),
      setPolicy({ maxUserExposureUsd: 10_000 }),
      /exposure over the cap of 10/,
      undefined,
    ],
    [
      "a restriction",
      () => submit({ type: "restrictUser", traderId: "usr_1", restricted: true }),
      () => submit({ type: "restrictUser", traderId: "usr_1", restricted: false }),
      /may not trade at the moment/,
      undefined,
    ],
  ] as const)("%s", async (_what, impose, lift, words, event) => {
    await impose();
    await buy(opened);
    expect(await problem(opened)).toMatch(words);
    if (event !== undefined) {
      await opened.frame.locator(".problem button").click();
      await expect.poll(async () => (await opened.events()).at(-1)?.name).toBe(event);
    }
    // What was refused can be tried again where it stands.
    await lift();
    await opened.frame.getByRole("button", { name: /^Confirm/ }).click();
    await opened.frame.getByRole("heading", { name: /You bought/ }).waitFor();
    await opened.frame.getByRole("button", { name: "Trade again" }).click();
  });

  test("an empty wallet", async () => {
    const poor = await openMarket({}, "usr_poor");
    await poor.frame.getByText("Your wallet holds $0.00.").waitFor();
    await buy(poor);
    expect(await problem(poor)).toMatch(/not enough money/);
    await poor.frame.getByRole("button", { name: "Add money" }).click();
    await expect.poll(async () => (await poor.events()).map(({ name }) => name)).toEqual(["deposit"]);
    await poor.close();
  });

  test("amounts that cannot be bought say so before anybody asks the server", async () => {
    const { frame, close } = await openMarket();
    const amount = frame.getByLabel("Amount in dollars");
    for (const [text, words] of [
      ["", "Enter an amount in dollars."],
      ["twelve", "Enter an amount in dollars."],
      ["-5", "Enter an amount in dollars."],
      ["0.0000001", "Enter an amount in dollars."],
      ["900000", "That would move the price too far. Try less."],
    ] as const) {
      await amount.fill(text);
      await frame.getByText(words).waitFor();
      expect(await frame.locator("button.buy").isDisabled()).toBe(true);
    }
    await amount.fill("7,5");
    await frame.getByRole("button", { name: "Buy Yes for $7.50" }).waitFor();
    await close();
  });
});

describe("a market that stops taking trades says so at once", () => {
  test("suspended, resumed, settled", async () => {
    const { frame, id, close } = await openMarket();
    await submit({ type: "suspendMarket", marketId: id });
    await frame.getByText("Trading is paused at the moment.").waitFor();
    await submit({ type: "resumeMarket", marketId: id });
    await frame.locator("button.buy").waitFor();
    await submit({ type: "settleMarket", marketId: id, outcome: "no" });
    await frame.getByText("Settled: No won.").waitFor();
    // Nothing is left to be likely, to wait for or to be live.
    expect(await frame.locator(".facts").innerText()).toMatch(/^No\s+won\s+\$[\d.]+ traded$/);
    await close();
  });

  test("closed, when its time has come, whatever the reader's clock says", async () => {
    await stage.tenant.openMarket("mkt_closing", { closeAt: Date.now() + 1_800_000 });
    const { frame, close } = await stage.open({ view: "market", marketId: "mkt_closing" }, {}, [
      "window.laterMs = 0; const passed = performance.now.bind(performance); performance.now = () => passed() + laterMs;",
    ]);
    await frame.getByText("live", { exact: true }).waitFor();
    expect(await frame.getByText("Closed. The result is being decided.").count()).toBe(0);
    await frame.evaluate("laterMs = 1_800_000");
    await frame.getByText("Closed. The result is being decided.").waitFor();
    expect(await frame.locator("button.buy").count()).toBe(0);
    await close();
  });
});

describe("when the network fails", () => {
  test("the view says since when it is not live, and comes back by itself", async () => {
    const { page, frame, close } = await openMarket();
    await page.context().setOffline(true);
    await frame.getByText(/not live since \d/).waitFor();
    await frame.getByText("This price may be old.").waitFor();
    await buy({ frame } as OpenEmbed);
    expect(await problem({ frame } as OpenEmbed)).toMatch(/cannot be reached/);
    await page.context().setOffline(false);
    await frame.getByText("live", { exact: true }).waitFor();
    await close();
  });

  test("a purchase whose answer was lost is made once, however often it is confirmed", async () => {
    const opened = await openMarket();
    const { page, frame, close } = opened;
    const before = await stage.tenant.balance("wallet:usr_1");
    await page.route("**/v1/trade", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await buy(opened);
    expect(await problem(opened)).toMatch(/never made twice/);
    await page.unroute("**/v1/trade");
    // The price on the screen has moved by then, and what is repeated is still what was decided.
    await frame.getByRole("button", { name: /^Confirm/ }).click();
    await frame.getByRole("heading", { name: /You bought/ }).waitFor();
    expect(before - (await stage.tenant.balance("wallet:usr_1"))).toBe(25_000_000n);
    await close();
  });

  test("a price that ran away meanwhile buys nothing", async () => {
    markets += 1;
    const id = `mkt_${markets}`;
    await stage.tenant.openMarket(id);
    const opened = await stage.open({ view: "market", marketId: id, token: await userToken() });
    await opened.page.context().setOffline(true);
    await opened.frame.getByText(/not live since \d/).waitFor();
    await opened.page.route("**/v1/stream*", (route) => route.abort());
    await opened.page.context().setOffline(false);
    const terms = { marketId: id, traderId: "usr_2", side: "yes", amountMicro: 200_000_000n } as const;
    await submit({ type: "placeTrade", id: "trd_away", ...terms, claimedJurisdiction: undefined });
    const before = await stage.tenant.balance("wallet:usr_1");
    await buy(opened);
    expect(await problem(opened)).toMatch(/The price has moved/);
    expect(await stage.tenant.balance("wallet:usr_1")).toBe(before);
    await opened.close();
  });
});

test("too many requests: the form counts down and takes nothing until then, and a new frame does the same", async () => {
  const limited = await openStage({ server: { rateLimit: { perMinute: 4 } } });
  await limited.tenant.deposit("usr_1", 100);
  await limited.tenant.openMarket("mkt_a");
  const opened = await limited.open({ view: "market", marketId: "mkt_a", token: await userToken() });
  await opened.frame.getByText("live", { exact: true }).waitFor();
  await expect.poll(() => opened.requests.includes("/v1/portfolio")).toBe(true);
  await buy(opened);
  expect(await problem(opened)).toBe("Too many requests from your network.");
  const left = async () => Number(/\d+/.exec(await opened.frame.locator("[role=timer]").innerText())?.[0]);
  const first = await left();
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThanOrEqual(60);
  expect(await opened.frame.locator("button.buy").isDisabled()).toBe(true);
  await expect.poll(left).toBeLessThan(first);
  // The frame of somebody who opens the page now can be shown, and says the same.
  await opened.frame.evaluate("location.reload()").catch(() => {});
  await opened.frame.getByText(/This page tries again in \d+ s/).waitFor();
  await limited.close();
});
