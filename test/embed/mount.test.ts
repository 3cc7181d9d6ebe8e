import { afterAll, beforeAll, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { openStage, type Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.tenant.deposit("usr_1", 500);
  await stage.tenant.deposit("usr_2", 500);
  await stage.tenant.deposit("usr_early", 500);
  for (const id of ["mkt_a", "mkt_b", "mkt_live", "mkt_early"])
    await stage.tenant.openMarket(id, { question: `Will ${id} come true?`, kind: id === "mkt_b" ? "lmsr" : "cpmm" });
});
afterAll(() => stage?.close());

const buy = (marketId: string, userId: string, dollars: number) =>
  stage.tenant.services.sequencer.submit({
    command: {
      type: "placeTrade",
      id: `trd_${userId}_${dollars}`,
      marketId,
      traderId: userId,
      side: "yes",
      amountMicro: BigInt(dollars) * 1_000_000n,
      claimedJurisdiction: undefined,
    },
    actor: `user:${userId}`,
  });

test("a page of another origin with a strict policy mounts a view: three requests and one stream, none to third parties", async () => {
  const foreign: string[] = [];
  const { page, frame, complaints, requests, close } = await stage.open({ view: "market", marketId: "mkt_a" });
  page.on("request", (request) => foreign.push(request.url()));
  await frame.getByText("live", { exact: true }).waitFor();
  expect(requests.slice(0, 3)).toEqual(["/assets/embed.js", "/embed/market", "/assets/frame.js"]);
  await expect.poll(() => requests.slice(3).sort()).toEqual(["/assets/plot.js", "/assets/stream.js", "/embed/stream"]);
  expect(complaints).toEqual([]);
  expect(foreign.filter((url) => !url.startsWith(stage.tenant.url))).toEqual([]);
  const sandbox = await page.locator("iframe").getAttribute("sandbox");
  expect(sandbox?.split(" ").sort()).toEqual([
    ...["allow-forms", "allow-popups", "allow-popups-to-escape-sandbox", "allow-same-origin", "allow-scripts"],
  ]);
  await close();
});

test.each(["market", "markets", "portfolio"] as const)(
  "with a token the %s view is open after three requests, and then there are the portfolio and one stream",
  async (view) => {
    const { frame, complaints, requests, close } = await stage.open({ view, token: await userToken() });
    await expect.poll(() => requests.includes("/embed/data/portfolio")).toBe(true);
    await expect.poll(() => requests.includes("/assets/stream.js")).toBe(true);
    await frame.waitForSelector("h1");
    expect(requests.slice(0, 3)).toEqual(["/assets/embed.js", `/embed/${view}`, "/assets/frame.js"]);
    // A ticket asks whether its user may trade, beside what is shown already.
    const later = [
      "/assets/stream.js",
      "/embed/data/portfolio",
      "/embed/stream",
      ...(view === "market" ? ["/v1/eligibility"] : []),
    ];
    await expect
      .poll(() =>
        requests
          .slice(3)
          .filter((path) => path !== "/assets/plot.js")
          .sort(),
      )
      .toEqual(later);
    expect(complaints).toEqual([]);
    await close();
  },
);

test("what was traded before the stream began is in the curve too, and its sentence says what the headline says", async () => {
  const holdStream = `{
    const ask = window.fetch;
    const released = new Promise((resolve) => { window.release = resolve; });
    window.fetch = (address, ...rest) =>
      String(address).includes("/v1/stream") ? released.then(() => ask(address, ...rest)) : ask(address, ...rest);
  }`;
  const { frame, close } = await stage.open({ view: "market", marketId: "mkt_early" }, {}, [holdStream]);
  await frame.locator("figcaption").waitFor();
  await buy("mkt_early", "usr_early", 300);
  await frame.evaluate("release()");
  await frame.locator(".is-live").waitFor();
  const headline = () => frame.locator(".facts .big").innerText();
  await expect.poll(headline).not.toBe("50%");
  expect(await frame.locator("figcaption span").innerText()).toContain(`${await headline()} chance, up`);
  await close();
});

test("a trade with the host's token: the quote on the screen is what is bought, and the host is told", async () => {
  const { frame, events, close } = await stage.open({ view: "market", marketId: "mkt_a", token: await userToken() });
  await frame.getByRole("button", { name: "$5", exact: true }).click();
  await frame.locator('[data-pm="side-no"]').click();
  const quoted = await frame.locator(".quote div:has-text('Shares') dd").innerText();
  await frame.getByRole("button", { name: "Buy No for $5.00" }).click();
  await frame.getByRole("button", { name: "Confirm: buy No for $5.00" }).click();
  const done = frame.getByRole("heading", { name: /You bought/ });
  await done.waitFor();
  expect(await done.innerText()).toBe(`You bought ${quoted} No`);
  expect(await done.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
  await frame.getByText("You hold").waitFor();
  const trade = (await events()).find(({ name }) => name === "trade");
  expect(trade).toMatchObject({ name: "trade", detail: { marketId: "mkt_a", side: "no", amount: 5 } });
  expect(await stage.tenant.balance("wallet:usr_1")).toBe(495_000_000n);
  await close();
});

test("another trader's trade moves the price, the curve and the quote without a request", async () => {
  const { frame, requests, close } = await stage.open({ view: "market", marketId: "mkt_live" });
  await frame.getByText("live", { exact: true }).waitFor();
  const before = requests.length;
  const shares = () => frame.locator(".quote div:has-text('Shares') dd").innerText();
  const first = await shares();
  expect(await frame.locator(".facts .big").innerText()).toBe("50%");
  await buy("mkt_live", "usr_2", 200);
  await expect.poll(() => frame.locator(".facts .big").innerText()).not.toBe("50%");
  expect(await shares()).not.toBe(first);
  expect(requests.length).toBe(before);
  await close();
});

test("two embeds on one page keep their own markets, and destroy removes one of them", async () => {
  const { page, close } = await stage.open({ view: "market", marketId: "mkt_b", count: 2 });
  const addresses = await page.locator("iframe").evaluateAll((all) => all.map((one) => one.getAttribute("src") ?? ""));
  expect(new Set(addresses.map((address) => new URL(address).searchParams.get("frame"))).size).toBe(2);
  await page.evaluate("embeds[0].setTheme('light')");
  const frames = page.frames().slice(1);
  await expect
    .poll(() => Promise.all(frames.map((one) => one.evaluate("document.documentElement.dataset.theme"))))
    .toEqual(["light", "auto"]);
  await page.evaluate("embeds[0].destroy()");
  expect(await page.locator("iframe").count()).toBe(1);
  await page.evaluate("embeds[0].setTheme('dark')");
  await close();
});

test("the frame grows with what it shows when asked to, and has the given height otherwise", async () => {
  const fixed = await stage.open({ view: "market", marketId: "mkt_b", height: 432 });
  expect(await fixed.page.locator("iframe").evaluate((one) => one.clientHeight)).toBe(432);
  await fixed.close();
  const { page, frame, close } = await stage.open({ view: "market", marketId: "mkt_b", autoHeight: true });
  const content = () => frame.evaluate<number>("Math.ceil(document.documentElement.getBoundingClientRect().height)");
  const height = () => page.locator("iframe").evaluate((one) => one.clientHeight);
  await expect.poll(async () => (await height()) - (await content())).toBe(0);
  const before = await height();
  await frame.getByRole("button", { name: "Table" }).click();
  await expect.poll(height).not.toBe(before);
  await close();
});

test("a wrong option is a warning in the console that names the values that it takes", async () => {
  const { page, complaints, close } = await stage.open({ view: "market", marketId: "mkt_b" });
  const wrong = { theme: "purple", view: "chart" };
  for (const [name, value] of Object.entries(wrong))
    await page.evaluate(`PredictionMarkets.embed("#m0", { ${name}: "${value}" }).destroy()`);
  expect(complaints.filter((line) => line.includes("prediction-markets"))).toEqual([
    "warning: prediction-markets: theme must be one of: [auto, light, dark]",
    "warning: prediction-markets: view must be one of: [market, markets, portfolio, card, compare]",
  ]);
  await close();
});

test("whatever it is given, the loader throws nothing on the host's page", async () => {
  const { page, complaints, close } = await stage.open({ view: "market", marketId: "mkt_b" });
  const survived = await page.evaluate<boolean>(`(() => {
    const odd = [undefined, null, 1, "", "#", "#nowhere", "<<", {}, []];
    const options = [null, 1, "x", { view: "nothing", theme: 3, height: "tall" }, { onEvent: 1, getToken: "no" },
      { get view() { throw new Error("trap"); } }, { marketId: Symbol("x") }, { height: -5 }, { height: Infinity }];
    for (const selector of odd) for (const option of [undefined, ...options]) {
      const made = PredictionMarkets.embed(selector, option);
      made.setTheme("nothing"); made.refreshToken(); made.destroy(); made.destroy();
    }
    for (const option of options) PredictionMarkets.embed("#m0", option).destroy();
    return true;
  })()`);
  expect(survived).toBe(true);
  expect(complaints.filter((line) => line.startsWith("script:"))).toEqual([]);
  await close();
});

test("the name of the global is the page's to choose", async () => {
  const { page, close } = await stage.open({ view: "market", marketId: "mkt_b" });
  await page.evaluate(`(() => {
    const script = document.createElement("script");
    script.src = ${JSON.stringify(`${stage.tenant.url}/assets/embed.js`)};
    script.dataset.global = "AcmeMarkets";
    document.head.append(script);
  })()`);
  // Not waitForFunction: it polls with eval, which the page's policy refuses.
  await expect.poll(() => page.evaluate("typeof AcmeMarkets")).toBe("object");
  await page.evaluate("AcmeMarkets.embed('#m0', { view: 'markets' })");
  await page.frameLocator("iframe >> nth=1").locator(".card").first().waitFor();
  await close();
});

test("signing in later, another user, and signing out: the frame follows the host's page", async () => {
  const { page, frame, events, close } = await stage.open({ view: "portfolio" });
  await frame.getByRole("button", { name: "Sign in" }).click();
  await expect.poll(async () => (await events()).map(({ name }) => name)).toEqual(["signin"]);
  const wallet = frame.locator(".tiles div:has-text('Wallet') dd");
  for (const [user, balance] of [
    ["usr_2", /^\$300/],
    ["usr_9", /^\$0/],
  ] as const) {
    await page.evaluate(`window.token = ${JSON.stringify(await userToken({ sub: user }))}; embeds[0].refreshToken()`);
    await expect.poll(() => wallet.innerText()).toMatch(balance);
  }
  await page.evaluate("window.token = null; embeds[0].refreshToken()");
  await frame.getByRole("button", { name: "Sign in" }).waitFor();
  await close();
});

test("a page without sign-in shows no button for it: the widget names the site, and links to it", async () => {
  for (const view of ["market", "portfolio"] as const) {
    const { frame, close } = await stage.open({ view, signIn: false });
    await frame.getByRole("link", { name: "Acme Markets" }).waitFor();
    expect(await frame.locator("[data-pm=way-out]").count()).toBe(0);
    await close();
  }
});

/** The least pause between two calls of `getToken` is ten seconds. */
const HURRIED = `{ const later = setTimeout; window.setTimeout = (run, ms, ...rest) => later(run, ms > 9000 && ms <= 10_000 ? 2500 : ms, ...rest); }`;

test("a token is asked for again before it ends, after a pause however soon that is, and the author is told once to sign it for longer", async () => {
  const now = Math.floor(Date.now() / 1000);
  const lives = [20, 21, 61, -10].map((restSec) => userToken({ iat: now - 60, exp: now + restSec }));
  const tokens = JSON.stringify(await Promise.all(lives));
  const { page, asked, complaints, close } = await stage.open({ view: "market" }, {}, [HURRIED]);
  await page.evaluate(`window.times = []; const tokens = ${tokens}; Object.defineProperty(window, "token", { get() {
    times.push(performance.now()); return tokens[times.length % tokens.length]; } }); embeds[0].refreshToken()`);
  await expect.poll(asked).toBe(5);
  const times = (await page.evaluate("times")) as number[];
  for (const [index, time] of times.slice(1).entries()) expect(time - (times[index] ?? 0)).toBeGreaterThan(2400);
  const told = complaints.filter((line) => line.includes("getToken"));
  expect(told).toEqual([
    expect.stringMatching(/^warning: .*getToken: its token ends too soon, .*: sign it for longer$/),
  ]);
  await close();
});

test("tokens that differ and are all refused are asked for at once, and then after pauses", async () => {
  const now = Math.floor(Date.now() / 1000);
  const lives = [600, 601, 602, 603].map((agoSec) => userToken({ iat: now - 900, exp: now - agoSec }));
  const tokens = JSON.stringify(await Promise.all(lives));
  const { page, asked, close } = await stage.open({ view: "market" }, {}, [HURRIED]);
  await page.evaluate(`window.times = []; const tokens = ${tokens}; Object.defineProperty(window, "token", { get() {
    times.push(performance.now()); return tokens[times.length % tokens.length]; } }); embeds[0].refreshToken()`);
  await expect.poll(asked).toBe(4);
  const [, second = 0, third = 0] = (await page.evaluate("times")) as number[];
  expect(third - second).toBeGreaterThan(2400);
  await close();
});

test("a token that the server refuses is dropped, and the page is told", async () => {
  const now = Math.floor(Date.now() / 1000);
  const stale = await stage.open({ view: "market", token: await userToken({ iat: now - 900, exp: now - 600 }) });
  await stale.frame.locator('[data-pm="way-out"][data-action="signin"]').waitFor();
  await expect.poll(stale.asked).toBe(2);
  const refusal = { code: "USER_REQUIRED", message: "A valid user token is required", stage: "before" };
  expect(await stale.events()).toEqual([{ name: "refused", detail: refusal }]);
  await expect
    .poll(() => stale.complaints)
    .toContainEqual(expect.stringContaining("USER_REQUIRED: A valid user token is required; its exp is past"));
  await stale.close();
});
