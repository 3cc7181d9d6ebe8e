import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../../src/domain/policy/policy.ts";
import { userToken } from "../server/support/harness.ts";
import { openPage } from "../support/browser.ts";
import { type HostOptions, openStage, type Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.tenant.openMarket("mkt_a", { question: "Will it rain?" });
});
afterAll(() => stage?.close());

/** Opens the address, and notes each line that the widget writes into the console. */
async function openAuthor(address: string) {
  const { page, close } = await openPage(stage.browser);
  const lines: string[] = [];
  page.on("console", (message) => {
    const [, line] = message.text().split("prediction-markets: ");
    if (line !== undefined) lines.push(`${message.type()}: ${line}`);
  });
  await page.goto(address);
  return { page, lines, close };
}

describe("what the page's author misspelt is one warning each, which names the nearest known word", () => {
  const UNUSABLE = [
    "warning: height must be 120 to 4000 CSS pixels: tall",
    "warning: loading must be one of: [lazy, eager]",
  ];

  test("options of a call, once however often the page changes the widget", async () => {
    const { page, lines, close } = await openAuthor(stage.hostUrl({ count: 0 }));
    await page.evaluate(`window.handle = PredictionMarkets.mount(document.body.appendChild(document.createElement("div")),
      { themme: "dark", marketid: "mkt_a", getTokn() {}, purpose: 1, height: "tall", loading: "soon", brand: undefined }); 0`);
    const warnings = () => lines.filter((line) => line.startsWith("warning")).sort();
    const first = [
      ...UNUSABLE,
      "warning: unknown option getTokn: did you mean getToken?",
      "warning: unknown option marketid: did you mean marketId?",
      expect.stringMatching(/unknown option purpose: the options are view, theme, .*, onAction$/),
      "warning: unknown option themme: did you mean theme?",
    ];
    await expect.poll(warnings).toEqual(first);
    await page.evaluate(`handle.update({ theme: "light", heigth: 300 })`);
    await expect
      .poll(warnings)
      .toEqual([...UNUSABLE, first[2], "warning: unknown option heigth: did you mean height?", ...first.slice(3)]);
    await close();
  });

  test("attributes of the element, but not those that every element may have", async () => {
    const { page, lines, close } = await openAuthor(stage.hostUrl({ count: 0 }));
    await page.evaluate(`document.body.insertAdjacentHTML("beforeend", '<prediction-market data-markte="mkt_a" themme="dark"' +
      ' data-theme="dark" get-tokn="x" colour="red" height="tall" loading="soon" id="a" class="b" title="c" tabindex="0"' +
      ' data-testid="d" data-v-7ba5bd90="" aria-label="e" onclick="0" auto-height></prediction-market>'); 0`);
    await expect
      .poll(() => lines.filter((line) => line.startsWith("warning")).sort())
      .toEqual([
        ...UNUSABLE,
        expect.stringMatching(/unknown attribute colour: the attributes are view, theme, .*, consent$/),
        "warning: unknown attribute data-markte: did you mean market?",
        "warning: unknown attribute data-theme: did you mean theme?",
        "warning: unknown attribute get-tokn: did you mean the property getToken?",
        "warning: unknown attribute themme: did you mean theme?",
      ]);
    await close();
  });

  test("a right spelling is no warning: every option and attribute, pixels as CSS writes them, and options left undefined", async () => {
    const { page, lines, close } = await openAuthor(stage.hostUrl({ count: 0 }));
    await page.evaluate(`window.ready = 0; document.addEventListener("pm-ready", () => { ready += 1; });
      document.body.insertAdjacentHTML("beforeend", '<prediction-market view="market" market="mkt_a" theme="dark" height="300px"' +
      ' locale="de" loading="eager" consent="false" auto-height></prediction-market>');
      PredictionMarkets.mount(document.body.appendChild(document.createElement("div")), { view: "market", theme: undefined,
        height: "320.4px", marketId: "mkt_a", marketIds: undefined, autoHeight: false, locale: undefined, loading: "eager",
        consent: true, signIn: true, brand: null, getToken: () => null, onEvent: ({ name }) => { ready += name === "ready"; },
        onAction() {} }); 0`);
    await expect.poll(() => page.evaluate("ready")).toBe(2);
    expect(await page.locator("body > div iframe").evaluate((one) => one.style.height)).toBe("320px");
    // Messages arrive in order: frames that have been told of no token have been told of their options before.
    await expect.poll(() => lines.filter((line) => line.includes("cannot trade")).length).toBe(2);
    expect(lines.filter((line) => line.startsWith("warning"))).toEqual([]);
    await close();
  });
});

describe("why a page may not trade is one line in its console, without the token", () => {
  const reasons = async (address: string) => {
    const { page, lines, close } = await openAuthor(address);
    await expect.poll(() => lines.length).toBe(1);
    return { page, lines, close };
  };
  const of = (options: HostOptions) => stage.hostUrl({ view: "market", marketId: "mkt_a", ...options });

  test("no token, said once however often the page answers none", async () => {
    const { page, lines, close } = await reasons(of({}));
    await page.evaluate("embeds[0].refreshToken(); embeds[0].refreshToken()");
    await expect.poll(() => page.evaluate("asked")).toBe(3);
    expect(lines).toEqual(["info: cannot trade: getToken is missing or answers no token"]);
    await close();
  });

  test("a token that the service refuses, with what the page itself can see in it", async () => {
    const now = Math.floor(Date.now() / 1000);
    const tokens = [
      [await userToken({ iat: now - 900, exp: now - 600 }), "its exp is past"],
      [await userToken({ iat: now, exp: now + 2 * 86_400 }), "its exp is more than 24 hours after its iat"],
      [await userToken({ sub: 7 as never }), "its sub names no user"],
      ["news.example.com", "it is no JWT with sub and exp"],
      [
        await userToken({}, "x".repeat(40)),
        "its signature, iss, aud or another claim is wrong, and `pmctl audit security` names it to the operator",
      ],
    ] as const;
    const { page, lines, close } = await openAuthor(of({ token: tokens[0][0] }));
    for (const [token, why] of tokens) {
      await page.evaluate(`window.token = ${JSON.stringify(token)}; embeds[0].refreshToken()`);
      const line = `warning: cannot trade: USER_REQUIRED: A valid user token is required; ${why}`;
      await expect.poll(() => lines.at(-1)).toBe(line);
    }
    expect(lines).toHaveLength(tokens.length);
    for (const [token] of tokens) expect(lines.join()).not.toContain(token);
    await close();
  });

  test("what getToken answers instead of a token: prices stay live, and nothing is asked for but once more", async () => {
    const { page, frame, asked, events, complaints, close } = await stage.open({ view: "market", marketId: "mkt_a" });
    const lines = () =>
      complaints.filter((line) => line.includes("cannot trade")).map((line) => line.split("trade: ")[1]);
    await frame.locator(".is-live").waitFor();
    for (const [answer, line] of [
      ["`<!doctype html>\\n<title>Sign in</title>\\n` + Math.random()", "getToken answered text that is no JWT"],
      ["new Response('eyJ')", "getToken answered an object, not text"],
      ["({ token: 'eyJ' })", "getToken answered an object, not text"],
      [`"Bearer ${await userToken()}"`, "getToken answered a text that begins with Bearer: leave out Bearer"],
    ] as const) {
      const good = JSON.stringify(await userToken());
      await page.evaluate(`window.token = ${good}; embeds[0].refreshToken()`);
      await frame.locator("[data-pm=submit]:enabled").waitFor();
      const before = await asked();
      await page.evaluate(`Object.defineProperty(window, "token", { configurable: true, get: () => ${answer}, set(value) {
        Object.defineProperty(window, "token", { value, configurable: true, writable: true }); } }); embeds[0].refreshToken()`);
      await frame.locator('[data-pm="way-out"][data-action="signin"]').waitFor();
      await expect.poll(() => lines().at(-1)).toBe(line);
      expect(await frame.locator("[data-pm=submit]:enabled").count()).toBe(0);
      expect((await asked()) - before).toBeLessThanOrEqual(2);
      await frame.locator(".is-live").waitFor();
    }
    expect((await events()).filter(({ name }) => name === "error")).toEqual([]);
    await close();
  });

  test("a policy that refuses the user", async () => {
    await stage.tenant.services.sequencer.submit({
      command: { type: "updatePolicy", patch: { suitabilityRequired: true } },
      actor: "admin:ops",
    });
    const { lines, close } = await reasons(of({ token: await userToken() }));
    expect(lines).toEqual([expect.stringMatching(/^info: cannot trade: SUITABILITY_REQUIRED: /)]);
    const { suitabilityRequired } = DEFAULT_POLICY;
    await stage.tenant.services.sequencer.submit({
      command: { type: "updatePolicy", patch: { suitabilityRequired } },
      actor: "admin:ops",
    });
    await close();
  });

  test("a frame without a script around it", async () => {
    const { lines, close } = await reasons(`${stage.tenant.url}/embed/market?marketId=mkt_a`);
    expect(lines).toEqual(["info: cannot trade: a bare frame gets no token; use the script or the element"]);
    await close();
  });

  test("an origin that is not listed, where no page is, and where others are", async () => {
    const open = await openStage({ embed: { allowedOrigins: [] } });
    await open.tenant.openMarket("mkt_a");
    const shown = await reasons(open.hostUrl({ view: "market", token: await userToken() }));
    expect(shown.lines).toEqual([`info: cannot trade: the service's embed.allowedOrigins lacks ${open.hostOrigin}`]);
    await shown.close();
    await open.close();
    const { lines, close } = await reasons(of({}).replace("localhost", "127.0.0.1"));
    expect(lines).toEqual([
      expect.stringMatching(
        /^warning: FRAME_REFUSED: no frame from .*: is http:\/\/127\.0\.0\.1:\d+ in its embed\.allowedOrigins\?$/,
      ),
    ]);
    await close();
  });

  test("a service without a public key in force", async () => {
    const open = await openStage({ embed: { publicKeys: [] } });
    await open.tenant.openMarket("mkt_a");
    const { lines, close } = await reasons(open.hostUrl({ view: "market", token: await userToken() }));
    expect(lines).toEqual(["info: cannot trade: the service has no public key in force"]);
    await close();
    await open.close();
  });
});
