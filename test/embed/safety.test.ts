import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { openPage } from "../support/browser.ts";
import { openStage, STREAM_WAITS, type Stage } from "./support/stage.ts";

const HOSTILE = `</script><img src=x onerror="top.postMessage('owned','*')"><!-- "' {{x}}`;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.tenant.openMarket("mkt_a", { question: HOSTILE, resolutionRef: HOSTILE, meta: '{"x":"</script>"}' });
  await clarify("c1");
});
afterAll(() => stage?.close());

const clarify = (id: string) =>
  stage.tenant.services.sequencer.submit({
    command: { type: "clarifyMarket", marketId: "mkt_a", id, text: `${id} ${HOSTILE}` },
    actor: "admin:ops",
  });

const policyOf = async (query: string, url = stage.tenant.url): Promise<string> =>
  (await fetch(`${url}/embed/market${query}`)).headers.get("content-security-policy") ?? "";
const ancestorsOf = (policy: string): string => policy.split("frame-ancestors ")[1] ?? "";

describe("texts", () => {
  test.each(["market", "markets"] as const)("of a market are only ever text in the %s view", async (view) => {
    const { frame, complaints, close } = await stage.open({ view });
    const text = await frame
      .locator(view === "market" ? "h1" : ".card .question")
      .first()
      .innerText();
    expect(text.replaceAll(/\s+/g, " ")).toBe(HOSTILE.replaceAll(/\s+/g, " "));
    expect(await frame.locator("img").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test("that are added to the rules are shown as text, also those that are added while a reader looks", async () => {
    const { frame, complaints, close } = await stage.open({ view: "market" });
    const texts = frame.locator("[data-pm=clarification] p");
    await frame.locator("[data-state=live]").waitFor();
    expect(await texts.allInnerTexts()).toEqual([`c1 ${HOSTILE}`]);
    await clarify("c2");
    await expect.poll(() => texts.allInnerTexts()).toEqual([`c1 ${HOSTILE}`, `c2 ${HOSTILE}`]);
    expect(await frame.locator("[data-pm=clarification] h2").first().innerText()).toMatch(/^Clarified .*20\d\d/i);
    expect(await frame.locator("img").count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test("that are added to the rules before the stream of events opens are shown as soon as it does", async () => {
    const { frame, complaints, close } = await stage.open({ view: "market" }, {}, [STREAM_WAITS]);
    const texts = frame.locator("[data-pm=clarification] p");
    expect(await texts.allInnerTexts()).not.toContain(`c3 ${HOSTILE}`);
    await clarify("c3");
    await frame.evaluate("openStream()");
    await expect.poll(() => texts.allInnerTexts()).toContain(`c3 ${HOSTILE}`);
    expect(complaints).toEqual([]);
    await close();
  });

  test("no part of the address is ever written into the document", async () => {
    const query = new URLSearchParams({
      theme: HOSTILE,
      frame: HOSTILE,
      host: HOSTILE,
      from: HOSTILE,
      marketId: HOSTILE,
    });
    const response = await fetch(`${stage.tenant.url}/embed/market?${query}`);
    expect(response.status).toBe(400);
    expect(await response.text()).not.toContain("onerror");
    expect(response.headers.get("content-security-policy")).not.toContain("onerror");
  });
});

describe("the document's policy", () => {
  test("allows scripts of its own origin and its one inline style, and nothing from other origins", async () => {
    const response = await fetch(`${stage.tenant.url}/embed/market`);
    const html = await response.text();
    const policy = response.headers.get("content-security-policy") ?? "";
    const directives = new Map(policy.split("; ").map((each) => [each.split(" ")[0], each.split(" ").slice(1)]));
    expect(directives.get("default-src")).toEqual(["'none'"]);
    for (const name of ["connect-src", "script-src"]) expect(directives.get(name)).toEqual(["'self'"]);
    const style = /<style>([\s\S]*)<\/style>/.exec(html)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(directives.get("style-src")).toEqual([`'sha256-${hash}'`]);
    expect(policy).not.toContain("unsafe");
    expect(policy).not.toContain("nonce");
  });

  test("lets listed origins and the tenant's own frame it, whatever host its address names", async () => {
    const listed = `'self' ${stage.hostOrigin}`;
    for (const host of ["", stage.hostOrigin, stage.tenant.url, "https://evil.example"])
      expect(ancestorsOf(await policyOf(`?host=${encodeURIComponent(host)}`))).toBe(listed);
  });

  test("a refusal can be shown by the same pages, says what happened, and keeps its status and code", async () => {
    const response = await fetch(`${stage.tenant.url}/embed/market?marketId=mkt_none`);
    expect(response.status).toBe(404);
    expect(response.headers.get("error-code")).toBe("MARKET_NOT_FOUND");
    expect(response.headers.get("content-type")).toContain("text/html");
    expect(ancestorsOf(response.headers.get("content-security-policy") ?? "")).toBe(`'self' ${stage.hostOrigin}`);
    const { frame, events, complaints, close } = await stage.open({ view: "market", marketId: "mkt_none" });
    await frame.getByText(/There is no such market|Market not found/).waitFor();
    await expect
      .poll(events)
      .toEqual([{ name: "error", detail: expect.objectContaining({ code: "MARKET_NOT_FOUND" }) }]);
    const warned = expect.stringMatching(/^warning: .*MARKET_NOT_FOUND/);
    expect(complaints.filter((line) => !line.includes("404"))).toEqual([warned]);
    await close();
  });
});

test("a server that is no demo has no page to play with", async () => {
  expect((await fetch(`${stage.tenant.url}/playground`)).status).toBe(404);
});

test("a page whose origin is not listed cannot show the frame, and its script is told so", async () => {
  const { page, close } = await openPage(stage.browser);
  const address = stage.hostUrl({ view: "market" }).replace("localhost", "127.0.0.1");
  await page.goto(address);
  await expect
    .poll(() => page.evaluate("events.map(({ name, detail }) => name + ' ' + detail.code)"))
    .toEqual(["error FRAME_REFUSED"]);
  expect(await page.frames()[1]?.locator("main").count()).toBe(0);
  expect(await page.evaluate("asked")).toBe(0);
  await close();
});

test("messages of other windows and other origins change nothing on either side", async () => {
  const token = await userToken();
  const { page, frame, events, close } = await stage.open({ view: "portfolio" });
  await frame.getByRole("button", { name: "Sign in" }).waitFor();
  const before = await events();
  // From a window that is not around the frame, though of the very origin that is.
  await page.evaluate("document.body.append(document.createElement('iframe'))");
  const stranger = page.frames().at(-1);
  const envelope = { channel: "pmctl-embed/1", id: "pm1" };
  for (const message of [
    { ...envelope, type: "token", token },
    { ...envelope, type: "theme", theme: "light" },
  ])
    await stranger?.evaluate(
      `top.frames[0].postMessage(${JSON.stringify(message)}, ${JSON.stringify(stage.tenant.url)})`,
    );
  // To the host, as if the frame had traded and grown.
  for (const message of [
    { ...envelope, type: "event", name: "trade", detail: {} },
    { ...envelope, type: "height", height: 3000 },
  ])
    await stranger?.evaluate(`top.postMessage(${JSON.stringify(message)}, "*")`);
  // Nonsense from the right window is ignored too.
  await page.evaluate(`(() => {
    const own = document.querySelector("iframe").contentWindow;
    for (const message of [null, 1, "x", {}, { channel: "pmctl-embed/1" }, { channel: "pmctl-embed/1", id: "pm1", type: "theme", theme: "<b>" },
      { channel: "pmctl-embed/1", id: "pm2", type: "theme", theme: "light" }])
      own.postMessage(message, ${JSON.stringify(stage.tenant.url)});
  })()`);
  // Messages arrive in order, so what came before the last one has had its effect.
  await page.evaluate("embeds[0].setTheme('auto')");
  await expect.poll(() => frame.evaluate("document.documentElement.dataset.theme")).toBe("auto");
  expect(await frame.locator(".tiles").count()).toBe(0);
  expect(
    await page
      .locator("iframe")
      .first()
      .evaluate((one) => one.clientHeight),
  ).toBe(600);
  expect(await events()).toEqual(before);
  await close();
});

describe("a tenant that lists no origins", () => {
  let open: Stage;
  beforeAll(async () => {
    open = await openStage({ embed: { allowedOrigins: [] } });
    await open.tenant.openMarket("mkt_a");
  });
  afterAll(() => open?.close());

  test("is shown by any page, to look at only: no token is asked for, and one that comes is not taken", async () => {
    const token = await userToken();
    const { page, frame, requests, asked, complaints, close } = await open.open({ view: "market", token });
    await frame.getByText("Here you can only look").waitFor();
    expect(await frame.locator('[data-pm="submit"]').count()).toBe(0);
    await page.evaluate("embeds[0].refreshToken()");
    await frame.getByText("live", { exact: true }).waitFor();
    expect(await asked()).toBe(1);
    expect(requests).not.toContain("/embed/data/portfolio");
    expect(complaints).toEqual([]);
    await close();
  });

  test("may be shown by anybody where it does not trade, and by its own pages alone where it does", async () => {
    const of = async (host: string) =>
      ancestorsOf(await policyOf(`?host=${encodeURIComponent(host)}`, open.tenant.url));
    expect(await of("")).toBe("*");
    expect(await of("https://any.example")).toBe("*");
    expect(await of(open.tenant.url)).toBe("'self'");
  });
});
