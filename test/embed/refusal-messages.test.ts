import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Command } from "../../src/engine/commands.ts";
import { readAssets } from "../../src/server/pages/assets.ts";
import { configOf } from "../engine/world.ts";
import { userToken } from "../server/support/harness.ts";
import { type OpenEmbed, openStage, type Stage } from "./support/stage.ts";
import { ask, part } from "./support/ticket.ts";

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

const refusal = ({ frame }: OpenEmbed): Promise<string> =>
  part(frame, "refusal").getByRole("alert").or(part(frame, "refusal").getByRole("status")).innerText();
const refusals = async ({ events }: OpenEmbed) =>
  (await events()).filter(({ name }) => name === "refused").map(({ detail }) => [detail.code, detail.stage]);

describe("who may not trade is told before the first press, and the way out is the host's to offer", () => {
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
  const restrict = (restricted: boolean) => () => submit({ type: "restrictUser", traderId: "usr_1", restricted });
  const suitability = (suitabilityRequired: boolean) => setPolicy({ suitabilityRequired });
  const residents = (...allowed: string[]) => setPolicy({ jurisdictions: { allowed, blocked: [] } });
  test.each([
    ["KYC_REQUIRED", apply(true), apply(false), /identity has to be verified/, "verify"],
    ["SUITABILITY_REQUIRED", suitability(true), suitability(false), /Answer a few questions first/, "suitability"],
    ["JURISDICTION_UNKNOWN", residents("CH"), residents(), /place of residence has to be known/, "verify"],
    ["ACCOUNT_RESTRICTED", restrict(true), restrict(false), /may not trade at the moment/, undefined],
  ] as const)("%s", async (code, impose, lift, words, action) => {
    const { page, frame, requests } = opened;
    await impose();
    // It is asked once for each user, and again when the page hands a token.
    const count = (path: string, among = requests) => among.filter((each) => each === path).length;
    const before = count("/v1/quote");
    await page.evaluate(`window.token = ${JSON.stringify(await userToken({ jti: code }))}; embeds[0].refreshToken()`);
    // Who passed is not asked about again: what changed for them since, a press finds out.
    await part(frame, "submit").click();
    await expect.poll(() => refusal(opened)).toMatch(words);
    expect(await part(frame, "submit").isDisabled()).toBe(true);
    expect(count("/v1/quote")).toBe(before + 1);
    expect((await refusals(opened)).at(-1)).toEqual([code, "quote"]);
    const fresh = await openMarket({}, "usr_1");
    await expect.poll(() => refusal(fresh)).toMatch(words);
    expect(await part(fresh.frame, "submit").isDisabled()).toBe(true);
    expect(await part(fresh.frame, "submit").getAttribute("aria-disabled")).toBeNull();
    expect(await refusals(fresh)).toEqual([[code, "before"]]);
    expect([count("/v1/eligibility", fresh.requests), count("/v1/quote", fresh.requests)]).toEqual([1, 0]);
    const wayOut = part(fresh.frame, "way-out");
    expect(await wayOut.count()).toBe(action === undefined ? 0 : 1);
    if (action !== undefined) {
      expect(await wayOut.getAttribute("data-action")).toBe(action);
      await wayOut.click();
      await expect.poll(async () => (await fresh.events()).at(-1)?.name).toBe(action);
    }
    // The user has taken it, and the page hands the token again.
    await lift();
    for (const one of [fresh, opened]) {
      await one.page.evaluate("embeds[0].refreshToken()");
      await expect.poll(() => part(one.frame, "submit").isEnabled()).toBe(true);
      expect(await part(one.frame, "refusal").count()).toBe(0);
    }
    await fresh.close();
  });

  test("what ends by itself is told with the time of its end, and ends then", async () => {
    const forMs = (ttlMs: number) => submit({ type: "updatePolicy", patch: { suitabilityRequired: true }, ttlMs });
    await forMs(7_200_000);
    const barred = await openMarket({}, "usr_2");
    const time = String.raw`\w+ \d+, 20\d\d, \d+:\d\d.[AP]M \S+`;
    const words = new RegExp(`^Answer a few questions first: .*\\. Not allowed until ${time}\\.$`);
    await expect.poll(() => refusal(barred)).toMatch(words);
    await forMs(8000);
    await barred.page.evaluate(`window.token = ${JSON.stringify(await userToken({ sub: "usr_2", jti: "later" }))}`);
    await barred.page.evaluate("embeds[0].refreshToken()");
    await expect.poll(() => part(barred.frame, "submit").isEnabled(), { timeout: 15_000 }).toBe(true);
    expect(await part(barred.frame, "refusal").count()).toBe(0);
    await barred.close();
  });

  test.each([
    ["a limit", setPolicy({ maxTradeUsd: 10 }), setPolicy({ maxTradeUsd: 1000 }), /may be \$10\.00 at most/],
    [
      "exposure",
      setPolicy({ maxUserExposureUsd: 10 }),
      setPolicy({ maxUserExposureUsd: 10_000 }),
      /over your limit of \$10\.00/,
    ],
  ] as const)(
    "%s that was lowered meanwhile is told at the first press, in the reader's language",
    async (_, impose, lift, words) => {
      await impose();
      await part(opened.frame, "submit").click();
      await expect.poll(() => refusal(opened)).toMatch(words);
      await lift();
      // What was refused can be tried again where it stands.
      await ask(opened.frame);
      await part(opened.frame, "change-order").click();
    },
  );

  test("a cap on open positions that the first amount exceeds is told before the first press", async () => {
    await setPolicy({ maxUserExposureUsd: 10 })();
    const capped = await openMarket({}, "usr_2");
    await expect.poll(() => refusal(capped)).toMatch(/over your limit of \$10\.00/);
    expect(await refusals(capped)).toEqual([["EXPOSURE_EXCEEDED", "before"]]);
    await setPolicy({ maxUserExposureUsd: 10_000 })();
    await capped.close();
  });

  test("an empty wallet is told at once, and money is offered", async () => {
    const poor = await openMarket({}, "usr_poor");
    await poor.frame.getByText("your wallet holds $0.00.").waitFor();
    await part(poor.frame, "submit").click();
    await poor.frame.getByText("There is not enough money in your wallet for this.").waitFor();
    await part(poor.frame, "way-out").click();
    await expect.poll(async () => (await poor.events()).at(-1)?.name).toBe("deposit");
    expect(await refusals(poor)).toEqual([["INSUFFICIENT_FUNDS", "quote"]]);
    await poor.close();
  });

  test("amounts that cannot be bought say so before anybody asks the server", async () => {
    const { frame, close } = await openMarket();
    const amount = part(frame, "amount");
    for (const [text, words] of [
      ["", "Enter an amount in dollars."],
      ["0", "Enter an amount in dollars."],
      ["twelve", "This number is not clear. Write it like 1,000.50."],
      ["-5", "This number is not clear."],
      ["1,00,0", "This number is not clear."],
      ["0.0000001", "This number is not clear."],
      ["900000", "That would move the price too far. Try less."],
    ] as const) {
      await amount.fill(text);
      await frame.getByText(words).waitFor();
      expect(await part(frame, "submit").isDisabled()).toBe(true);
    }
    for (const [text, dollars] of [
      ["7,5", "$7.50"],
      ["1,000.50", "$1,000.50"],
      ["1.000,50", "$1,000.50"],
    ] as const) {
      await amount.fill(text);
      await frame.getByRole("button", { name: `Buy Yes for ${dollars}` }).waitFor();
    }
    await close();
  });
});

describe("a market that stops taking trades says so at once", () => {
  test("suspended, resumed, settled", async () => {
    const { frame, id, close } = await openMarket();
    await submit({ type: "suspendMarket", marketId: id });
    await frame.getByText("Trading is paused at the moment.").waitFor();
    await submit({ type: "resumeMarket", marketId: id });
    await part(frame, "submit").waitFor();
    await submit({ type: "settleMarket", marketId: id, outcome: "no" });
    await frame.getByText("each share of No was paid one dollar.").waitFor();
    // Nothing is left to be likely, to wait for or to be live.
    expect(await frame.locator(".facts").innerText()).toMatch(/^No\s+won\s+\$[\d.]+ traded\s+settled$/);
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
    expect(await part(frame, "submit").count()).toBe(0);
    await close();
  });
});

describe("when the network fails", () => {
  test("the view says since when it is not live, and comes back by itself", async () => {
    const { page, frame, close } = await openMarket();
    await page.context().setOffline(true);
    await frame.getByText(/not live since \d/).waitFor();
    await frame.getByText("Prices are not live at the moment.").waitFor();
    await part(frame, "submit").click();
    await frame.getByText("The service cannot be reached.").waitFor();
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
    await ask(frame);
    await part(frame, "submit").click();
    await frame.getByText(/it is never made twice/).waitFor();
    expect(await refusals(opened)).toEqual([["OUTCOME_UNKNOWN", "trade"]]);
    await page.unroute("**/v1/trade");
    // The price has moved by then and the quote is used, and what is repeated is still what was decided.
    await part(frame, "submit").click();
    await part(frame, "receipt").waitFor();
    expect(before - (await stage.tenant.balance("wallet:usr_1"))).toBe(25_000_000n);
    await close();
  });
});

test("too many requests: the form counts down and takes nothing until then, and a new frame does the same", async () => {
  const limited = await openStage({ server: { rateLimit: { perMinute: 20, embedPerMinute: 20 } } });
  const useUp = async (path: string): Promise<void> => {
    while ((await fetch(limited.tenant.url + path)).status !== 429);
  };
  await limited.tenant.deposit("usr_1", 100);
  await limited.tenant.openMarket("mkt_a", { question: "Will it be shown at last?" });
  const data = await (await fetch(`${limited.tenant.url}/embed/data/market?marketId=mkt_a`)).json();
  const opened = await limited.open({ view: "market", marketId: "mkt_a", token: await userToken() });
  await opened.frame.getByText("live", { exact: true }).waitFor();
  await expect.poll(() => opened.requests.includes("/embed/data/portfolio")).toBe(true);
  await useUp("/v1/markets");
  await part(opened.frame, "submit").click();
  await expect.poll(() => refusal(opened)).toBe("Too many requests in a short time.");
  const left = async () => Number(/\d+/.exec(await part(opened.frame, "timer").innerText())?.[0]);
  const first = await left();
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThanOrEqual(60);
  expect(await part(opened.frame, "submit").isDisabled()).toBe(true);
  await expect.poll(left).toBeLessThan(first);
  // What is left of the widget's own bucket is used up too: the frame of a reader who opens the page now can be shown, and says so.
  await useUp("/embed/data/list");
  await opened.frame.evaluate("location.reload()").catch(() => {});
  await opened.frame.getByText(/Next attempt in \d+ seconds?\./).waitFor();
  const { page, frame } = opened;
  // As soon as there are data, they are shown in that document.
  await page.route("**/embed/market?*", async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/"retryAfterSec":\d+/, '"retryAfterSec":1');
    await route.fulfill({ response, body });
  });
  let isLost = true;
  await page.route("**/embed/data/market?*", (route) => (isLost ? route.abort() : route.fulfill({ json: data })));
  await page.route("**/assets/frame-*", (route) => {
    const body = readAssets().parts.get(new URL(route.request().url()).pathname) ?? "";
    return route.fulfill({ body, contentType: "text/javascript" });
  });
  await frame.evaluate("location.reload()").catch(() => {});
  await frame.locator('[data-pm="unavailable"]').waitFor();
  await expect.poll(async () => (await opened.events()).at(-1)?.detail.code).toBe("UNREACHABLE");
  isLost = false;
  await frame.getByRole("heading", { name: "Will it be shown at last?" }).waitFor();
  expect(opened.requests.filter((path) => path === "/embed/market").length).toBe(3);
  await limited.close();
});
