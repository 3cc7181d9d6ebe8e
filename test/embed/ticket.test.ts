import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../../src/domain/policy/policy.ts";
import { configOf } from "../engine/world.ts";
import { PUBLIC_KEY, userToken } from "../server/support/harness.ts";
import { type OpenEmbed, openStage, type Stage } from "./support/stage.ts";
import { ask, buyElsewhere, confirmed, part } from "./support/ticket.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  for (const user of ["usr_1", "usr_2", "usr_rival"]) await stage.tenant.deposit(user, 900);
});
afterAll(() => stage?.close());

let markets = 0;
/** A market of its own, so that no test sees another's prices. */
async function openTicket(): Promise<OpenEmbed & { marketId: string }> {
  markets += 1;
  const marketId = `mkt_t${markets}`;
  await stage.tenant.openMarket(marketId);
  const options = { view: "market", marketId, token: await userToken(), autoHeight: true } as const;
  const opened = await stage.open(options);
  await opened.frame.getByText("live", { exact: true }).waitFor();
  return { ...opened, marketId };
}

const wallet = (user: string): Promise<bigint> => stage.tenant.balance(`wallet:${user}`);
const named = async ({ events }: OpenEmbed, ...names: string[]) =>
  (await events()).filter(({ name }) => names.includes(name));

describe("what was shown, or better, or nothing", () => {
  test("a price that moves while a quote waits trades nothing at the next press, and the one after executes what is shown", async () => {
    const opened = await openTicket();
    const { frame, marketId } = opened;
    await part(frame, "amount").fill("25");
    expect(await part(frame, "impact").innerText()).toMatch(/Chance of Yes\s+50% → 5\d%/);
    await ask(frame);
    const before = await wallet("usr_1");
    await buyElsewhere(stage, { marketId, traderId: "usr_rival", side: "yes", dollars: 200 });
    expect(await part(frame, "moved").innerText()).toMatch(
      /^The price of Yes moved from 50\.0¢ to \d\d\.\d¢\. Nothing/,
    );
    // One press asks again, and trades nothing.
    await ask(frame);
    expect(await part(frame, "moved").count()).toBe(0);
    expect(await wallet("usr_1")).toBe(before);
    const lines = await frame.locator("dl.quote").innerText();
    await part(frame, "submit").click();
    const receipt = await part(frame, "receipt").innerText();
    expect(await wallet("usr_1")).toBe(before - 25_000_000n);

    const [, quoted] = await named(opened, "quote");
    const [confirm] = await named(opened, "confirm");
    const [trade] = await named(opened, "trade");
    expect(confirm?.detail).toEqual(quoted?.detail);
    const { amount, shares, avgPrice, fee, yesPriceAfter } = quoted?.detail ?? {};
    expect(trade?.detail).toMatchObject({ action: "buy", amount, shares, avgPrice, fee, yesPriceAfter });
    // The lines of the second step are the quote's figures.
    expect(lines).toContain(`${(Math.round(Number(avgPrice) * 1000) / 10).toFixed(1)}¢`);
    expect(receipt).toMatch(/You bought [\d.]+ Yes/);
    expect(receipt).toMatch(/Selling them now pays \$2\d\.\d\d/);

    // To trade again, the keyboard goes on where most people do.
    await part(frame, "again").click();
    await expect.poll(() => frame.evaluate("document.activeElement.dataset.pm")).toBe("amount");
    await opened.close();
  });

  test("a price that gets better leaves the ticket as it is, and the receipt says that there was more", async () => {
    const { frame, marketId, close } = await openTicket();
    await ask(frame);
    const shown = Number(/Shares\s+([\d.]+)/.exec(await frame.locator("dl.quote").innerText())?.[1]);
    // However long it stands, and what others trade meanwhile that is too small to see.
    await buyElsewhere(stage, { marketId, traderId: "usr_rival", side: "yes", dollars: 0.0001 });
    await buyElsewhere(stage, { marketId, traderId: "usr_rival", side: "no", dollars: 60 });
    await frame.locator("b", { hasText: "47." }).first().waitFor();
    expect(await part(frame, "moved").count()).toBe(0);
    expect(await frame.locator("dl.quote").innerText()).toContain(String(shown));
    const before = await wallet("usr_1");
    await part(frame, "submit").click();
    const receipt = await part(frame, "receipt").innerText();
    expect(receipt).toContain(`That is more than you were shown: ${shown}.`);
    expect(Number(/You bought ([\d.]+) Yes/.exec(receipt)?.[1])).toBeGreaterThan(shown);
    expect(await wallet("usr_1")).toBe(before - 25_000_000n);
    await close();
  });

  test("a trade that would give less is refused by the server, and the ticket says so to the page around", async () => {
    // The stream's news come late.
    const opened = await openTicket();
    const { page, frame, marketId } = opened;
    await page.context().setOffline(true);
    await frame.getByText(/not live since \d/).waitFor();
    expect((await named(opened, "error")).map(({ detail }) => detail.code)).toEqual(["UNREACHABLE"]);
    await page.route("**/embed/stream*", (route) => route.abort());
    await page.context().setOffline(false);
    await ask(frame);
    await buyElsewhere(stage, { marketId, traderId: "usr_rival", side: "yes", dollars: 60 });
    const before = await wallet("usr_1");
    await part(frame, "submit").click();
    expect(await part(frame, "moved").innerText()).toMatch(
      /^You would now get less than was shown\. Nothing was traded/,
    );
    expect(await wallet("usr_1")).toBe(before);
    expect((await named(opened, "refused")).map(({ detail }) => [detail.code, detail.stage])).toEqual([
      ["SLIPPAGE", "trade"],
    ]);
    expect(await confirmed(frame)).toMatch(/You bought/);
    await opened.close();
  });
});

describe("a narrow widget of a fixed height", () => {
  test("covers nothing of its button, and tells a fee that changed while it was open", async () => {
    await stage.tenant.openMarket("mkt_narrow");
    const options = { view: "market", marketId: "mkt_narrow", token: await userToken(), height: 600 } as const;
    const opened = await stage.open(options, { viewport: { width: 390, height: 700 } });
    const { page, frame, close } = opened;
    await frame.getByText("live", { exact: true }).waitFor();
    await part(frame, "side-yes").click();
    await part(frame, "amount").fill("0.004");
    await frame.getByText("That is too little to trade.").waitFor();
    expect(await part(frame, "submit").isDisabled()).toBe(true);
    await part(frame, "amount").fill("25");
    for (const width of [375, 320]) {
      await page.evaluate(`document.querySelector("iframe").parentElement.style.width = "${width}px"`);
      await ask(frame);
      expect(await frame.evaluate(COVERED)).toEqual([]);
      await part(frame, "change-order").click();
    }
    expect(await frame.locator("dl.quote").innerText()).toMatch(/Fee, included\s+\$0\.25/);
    await ask(frame);
    await takeFee(300);
    await part(frame, "submit").click();
    expect(await part(frame, "moved").innerText()).toBe(
      "You would now get less than was shown. Nothing was traded. Press again for a new price.",
    );
    expect(await frame.locator("dl.quote").innerText()).toMatch(/Fee, included\s+\$0\.75/);
    await takeFee(100);
    await ask(frame);
    await part(frame, "change-order").click();
    expect(await frame.locator("dl.quote").innerText()).toMatch(/Fee, included\s+\$0\.25/);
    await close();
  });
});

/** Buttons of the choice between buying and selling whose text comes closer to their edge than 6 pixels. */
const TIGHT = `[...document.querySelectorAll(".actions > button")].filter((button) => {
  const range = document.createRange();
  range.selectNodeContents(button);
  const [text, edge] = [range.getBoundingClientRect(), button.getBoundingClientRect()];
  return text.left < edge.left + 6 || text.right > edge.right - 6;
}).map((button) => button.textContent)`;

test("a reader who signs in keeps the side and the amount, and has no sale under the finger", async () => {
  const marketId = "mkt_entry";
  await stage.tenant.openMarket(marketId);
  await buyElsewhere(stage, { marketId, traderId: "usr_1", side: "yes", dollars: 5 });
  const viewport = { width: 320, height: 900 };
  const options = { view: "market", marketId, autoHeight: true, locale: "de" } as const;
  const { page, frame, close } = await stage.open(options, { viewport });
  await part(frame, "side-no").click();
  await part(frame, "amount").fill("7");
  const signIn = part(frame, "way-out");
  const { x = 0, y = 0, width = 0, height = 0 } = (await signIn.boundingBox()) ?? {};
  await signIn.click();
  await page.evaluate(`window.token = ${JSON.stringify(await userToken())}; embeds[0].refreshToken()`);
  await frame.getByText("Sie halten").waitFor();
  await part(frame, "submit").waitFor();
  // "Verkaufen" is the longest of these words, and is not cut off.
  expect(await frame.evaluate(TIGHT)).toEqual([]);
  expect(await part(frame, "side-no").getAttribute("aria-pressed")).toBe("true");
  expect(await part(frame, "amount").inputValue()).toBe("7");
  for (const name of ["sell", "cash-out"]) {
    const place = await part(frame, name).first().boundingBox();
    const [left, top] = [x + width / 2 - (place?.x ?? 0), y + height / 2 - (place?.y ?? 0)];
    const isUnder = place && left > 0 && left < place.width && top > 0 && top < place.height;
    expect([name, isUnder]).toEqual([name, false]);
  }
  await close();
});

describe("a position", () => {
  test("too large to be sold whole is sold as far as the price allows, and while trading is paused none is", async () => {
    const marketId = "mkt_part";
    await Promise.all([stage.tenant.deposit("usr_1", 500), stage.tenant.deposit("usr_rival", 3000)]);
    await stage.tenant.openMarket(marketId, { liquidityMicro: 20_000_000n });
    await buyElsewhere(stage, { marketId, traderId: "usr_1", side: "yes", dollars: 200 });
    await buyElsewhere(stage, { marketId, traderId: "usr_rival", side: "no", dollars: 450 });
    const options = { view: "market", marketId, token: await userToken(), autoHeight: true } as const;
    const { frame, close } = await stage.open(options);
    await part(frame, "cash-out").click();
    await frame.getByText(/Of [\d,.]+ shares, [\d,.]+ can be sold now/).waitFor();
    expect(await confirmed(frame)).toMatch(/You sold [\d,.]+ Yes/);
    await stage.tenant.services.sequencer.submit({ command: { type: "suspendMarket", marketId }, actor: "admin:ops" });
    await frame.getByText(/Worth \$[\d,.]+ if it could be sold now/).waitFor();
    await close();
  });

  test("is worth what selling it pays, and is sold for exactly what was quoted, after two presses", async () => {
    const opened = await openTicket();
    const { frame, marketId } = opened;
    await confirmed(frame);
    await part(frame, "again").click();
    await part(frame, "position").waitFor();
    expect(await part(frame, "position").getAttribute("data-side")).toBe("yes");
    const api = await ownPosition(marketId);
    expect(await part(frame, "position-value").innerText()).toBe(`$${api.sellValue.toFixed(2)}`);
    expect(await part(frame, "position-result").innerText()).toBe(`-$${(-api.sellPnl).toFixed(2)}`);
    // Another trade moves the value at once, without a request.
    await buyElsewhere(stage, { marketId, traderId: "usr_rival", side: "yes", dollars: 100 });
    await expect.poll(() => part(frame, "position-value").innerText()).not.toBe(`$${api.sellValue.toFixed(2)}`);
    const now = await ownPosition(marketId);
    expect(await part(frame, "position-value").innerText()).toBe(`$${now.sellValue.toFixed(2)}`);

    // A part of it first: the field is empty, and takes no more than is held.
    await part(frame, "sell").click();
    await expect.poll(() => frame.evaluate("document.activeElement.dataset.pm")).toBe("shares");
    expect(await part(frame, "side-no").isDisabled()).toBe(true);
    expect(await part(frame, "submit").isDisabled()).toBe(true);
    await part(frame, "shares").fill("900");
    await frame.getByText("You do not hold that many shares.").waitFor();
    await part(frame, "shares").fill("1.5");
    const before = await wallet("usr_1");
    expect(await confirmed(frame)).toMatch(/You sold 1\.5 Yes/);
    const first = await lastSale(opened);
    expect(await wallet("usr_1")).toBe(before + first);

    // Then all of it, once the ticket knows what is left.
    await frame.getByText(/You hold 47\.4/).waitFor();
    await part(frame, "cash-out").click();
    await expect.poll(() => part(frame, "shares").inputValue()).toBe(String((await ownPosition(marketId)).shares));
    await ask(frame);
    expect(await wallet("usr_1")).toBe(before + first);
    expect(await frame.locator("dl.quote .win").innerText()).toMatch(/^You get\s+\$/);
    await part(frame, "submit").click();
    await part(frame, "receipt").waitFor();
    expect(await wallet("usr_1")).toBe(before + first + (await lastSale(opened)));
    await expect.poll(() => part(frame, "position").count()).toBe(0);
    await opened.close();
  });

  test("the widgets of a page ask once who their user is", async () => {
    await stage.tenant.openMarket("mkt_three");
    const options = { view: "market", marketId: "mkt_three", token: await userToken(), height: 150, count: 3 } as const;
    const { page, frame, requests, close } = await stage.open(options);
    for (const one of page.frames().slice(1)) await one.locator(".is-live").waitFor();
    await expect.poll(() => requests.filter((path) => path === "/embed/data/portfolio").length).toBe(3);
    await ask(frame);
    // One of them asked about the user, and this one asked for its quote.
    const count = (wanted: string) => requests.filter((path) => path === wanted).length;
    expect([count("/v1/eligibility"), count("/v1/quote")]).toEqual([1, 1]);
    await close();
  });
});

/** The user's position in a market, as the API has it. */
async function ownPosition(marketId: string): Promise<{ shares: number; sellValue: number; sellPnl: number }> {
  const headers = { "x-api-key": PUBLIC_KEY, authorization: `Bearer ${await userToken()}` };
  const all = (await (await fetch(`${stage.tenant.url}/v1/positions`, { headers })).json()) as { marketId: string }[];
  return all.find((position) => position.marketId === marketId) as never;
}

/** Micro-dollars that the last sale was quoted to pay; what was traded is the same. */
async function lastSale(opened: OpenEmbed): Promise<bigint> {
  const [quoted] = (await named(opened, "quote")).slice(-1);
  const [trade] = (await named(opened, "trade")).slice(-1);
  const { action, amount, fee, shares } = (quoted?.detail ?? {}) as Record<string, number>;
  expect(trade?.detail).toMatchObject({ action: "sell", amount, fee, shares });
  expect(action).toBe("sell");
  return BigInt(Math.round((Number(amount) - Number(fee)) * 1e6));
}

/** Where another element lies over the button, of points along its edges and middle. */
const COVERED = `(() => {
  const button = document.querySelector(".buy");
  const { left, top, width, height } = button.getBoundingClientRect();
  const win = document.querySelector(".win").getBoundingClientRect();
  const over = win.top >= 0 && win.bottom <= top ? [] : ["what it pays"];
  for (const x of [0.1, 0.5, 0.9])
    for (const y of [0.1, 0.5, 0.9]) {
      const hit = document.elementFromPoint(left + width * x, top + height * y);
      if (hit !== button) over.push([x, y, hit?.className ?? "outside"]);
    }
  return over;
})()`;

/** An operator changes the fee. */
async function takeFee(feeBps: number): Promise<void> {
  const { backend, services } = stage.tenant;
  const stored = await backend.sql`select hash, name, type from api_key where expires_at is null`;
  const keys = stored.map(({ hash, name, type }) => ({ hash, name, type, expiresAt: null }));
  const command = configOf({ keys, policy: { ...DEFAULT_POLICY, feeBps } });
  await services.sequencer.submit({ command, actor: "cli:test" });
}
