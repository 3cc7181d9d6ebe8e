import { beforeAll, describe, expect, test } from "vitest";
import { endMarkets } from "../../embed/support/ends.ts";
import { tenantOfTests } from "../support/during-tests.ts";
import { PUBLIC_KEY } from "../support/harness.ts";

const BASE = "https://predict.acme.example";
const HOSTILE = `<script>alert(1)</script> "quoted" & 'more' </title>`;

const embed = { name: "Acme & Sons", baseUrl: BASE, publicKeys: [PUBLIC_KEY], allowedOrigins: [] };
const tenant = tenantOfTests({ embed, baseUrl: BASE, resolution: { correctionHours: 24 } });
beforeAll(async () => {
  const closeAt = Date.parse("2031-05-17T12:00:00Z");
  const meta = JSON.stringify({ description: "Yes if it rains.\nNo otherwise." });
  await tenant.openMarket("mkt_rain", {
    closeAt,
    question: "Will it rain in Bern?",
    resolutionRef: "The table at https://weather.example/bern?a=1&b=2.",
    meta,
  });
  await tenant.openMarket("mkt_btc", { closeAt, question: "Bitcoin?", resolutionRef: "pm:btc > 200000 @ close" });
  await tenant.openMarket("mkt_bad", { closeAt: closeAt + 1, question: HOSTILE, resolutionRef: HOSTILE });
  for (const [marketId, id, text] of [
    ["mkt_rain", "c1", "Drizzle counts.\nHail does not."],
    ["mkt_rain", "c2", "Snow does."],
    ["mkt_bad", "c3", HOSTILE],
  ] as const)
    await tenant.services.sequencer.submit({
      command: { type: "clarifyMarket", marketId, id, text },
      actor: "admin:ops",
    });
  await tenant.openMarket("mkt_over", { closeAt, question: "Is it over?" });
  await tenant.services.sequencer.submit({
    command: { type: "settleMarket", marketId: "mkt_over", outcome: "no" },
    actor: "admin:ops",
  });
  await endMarkets(tenant, "usr_1");
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(tenant.url + path, { headers });
const read = async (path: string, headers?: Record<string, string>) => (await get(path, headers)).text();
const contentOf = (html: string, name: string) =>
  new RegExp(`<meta (?:name|property)="${name}" content="([^"]*)">`).exec(html)?.[1];
const structuredDataOf = (html: string) =>
  JSON.parse(/<script type="application\/ld\+json">(.*?)<\/script>/s.exec(html)?.[1] ?? "null");

describe("the page of a market", () => {
  test("tells question, chance, closing time with its zone, rules and source without a script", async () => {
    const html = await read("/m/mkt_rain");
    expect(html).toMatch(/<h1[^>]*>Will it rain in Bern\?<\/h1>/);
    expect(html).toMatch(/data-pm="chance">50%<\/b> chance of Yes/);
    expect(html).toMatch(
      /<time data-pm="closes" datetime="2031-05-17T12:00:00.000Z">May 17, 2031, 12:00.PM UTC<\/time>/,
    );
    expect(html).toContain("Yes if it rains.\nNo otherwise.");
    expect(html).toContain(
      '<a href="https://weather.example/bern?a=1&amp;b=2" target="_blank" rel="noopener nofollow">https://weather.example/bern?a=1&amp;b=2</a>.',
    );
    expect(await read("/m/mkt_btc")).toContain(
      "Settled by the price of Bitcoin when the market closes: Yes if it is above 200,000.",
    );
  });

  test("tells what was added to the rules below them, oldest first, each with its time", async () => {
    const html = await read("/m/mkt_rain");
    const found = [...html.matchAll(/data-pm="clarification"><h2>(.*?)<\/h2><p[^>]*>(.*?)<\/p>/gs)];
    const answer = await get("/v1/markets/mkt_rain", { "x-api-key": PUBLIC_KEY });
    const { clarifications } = (await answer.json()) as { clarifications: { at: string }[] };
    expect(found.map(([, , text]) => text)).toEqual(["Drizzle counts.\nHail does not.", "Snow does."]);
    expect(found[0]?.[1]).toMatch(
      new RegExp(`^Clarified <time datetime="${clarifications[0]?.at}">\\w+ \\d+, \\d{4}, .*UTC</time>$`),
    );
    expect(html.indexOf("Yes if it rains")).toBeLessThan(html.indexOf("Drizzle"));
    expect(await read("/m/mkt_rain?locale=de")).toContain("<h2>Klarstellung vom <time");
    expect(await read("/m/mkt_btc")).not.toContain("clarification");
  });

  test("tells the result of a settled market, and the last chance", async () => {
    const html = await read("/m/mkt_over");
    expect(html).toMatch(/Result: <b class="no" data-pm="result">No<\/b>/);
    expect(html).toMatch(/data-state="settled">settled/);
    expect(html).toMatch(/Last chance of Yes: <b data-pm="chance">50%<\/b>/);
    expect(structuredDataOf(html).acceptedAnswer.text).toBe("No");
  });

  test("tells why a market was voided, what a fraction pays, and each correction with its time and reason", async () => {
    const time = String.raw`<time datetime="[^"]+">\w+ \d+, 20\d\d, \d+:\d\d.[AP]M UTC</time>`;
    const told = async (id: string) => {
      const html = await read(`/m/${id}?locale=en`);
      return [...html.matchAll(/<p data-pm="ended">(.*?)<\/p>/gs)].map(([, text]) => text);
    };
    const matching = (...patterns: string[]) => patterns.map((each) => expect.stringMatching(new RegExp(`^${each}$`)));
    expect(await told("mkt_void")).toEqual(
      matching(`Refunded: the market was voided on ${time}: <bdi>The tower was never begun</bdi>`),
    );
    expect(await told("mkt_split")).toEqual(matching(`Settled ${time}: Yes pays 40%, No 60%\\.`));
    expect(await told("mkt_fixed")).toEqual(
      matching(
        `Settled ${time}: each share of Yes was paid one dollar\\.`,
        `Corrected on ${time} from “Yes” to “No”: <bdi>The station measured dew</bdi>`,
      ),
    );
    const [, corrected = ""] = await told("mkt_unvoid");
    expect(corrected).toContain("<bdi>&lt;img src=x onerror=&quot;");
    expect(contentOf(await read("/m/mkt_split"), "og:description")).toMatch(/^Result: Yes pays 40%, No 60% · /);
    expect(structuredDataOf(await read("/m/mkt_void"))).not.toHaveProperty("acceptedAnswer");
  });

  test("tells search engines and messengers what it is, in absolute addresses of the tenant", async () => {
    const html = await read("/m/mkt_rain");
    const address = `${BASE}/m/mkt_rain`;
    expect(structuredDataOf(html)).toMatchObject({ "@type": "Question", name: "Will it rain in Bern?", url: address });
    expect(html).toContain(`<link rel="canonical" href="${address}">`);
    const oembed = `${BASE}/oembed?url=${encodeURIComponent(address)}&amp;format=json`;
    expect(html).toContain(`<link rel="alternate" type="application/json+oembed" href="${oembed}"`);
    expect(contentOf(html, "og:title")).toBe("Will it rain in Bern?");
    expect(contentOf(html, "og:description")).toMatch(/^50% chance of Yes · Closes May 17, 2031/);
    expect(contentOf(html, "og:url")).toBe(address);
    expect(contentOf(html, "og:type")).toBe("website");
    expect(contentOf(html, "og:image")).toBe(`${address}/image.png`);
    expect([contentOf(html, "og:image:width"), contentOf(html, "og:image:height")]).toEqual(["1200", "630"]);
    expect(contentOf(html, "og:image:alt")).toContain("Will it rain in Bern?");
    expect(contentOf(html, "twitter:card")).toBe("summary_large_image");
    expect(contentOf(html, "robots")).toBe("index");
  });

  test("makes markup of no text of a market, and runs nothing that its policy does not name", async () => {
    const response = await get("/m/mkt_bad");
    const html = await response.text();
    expect(html).not.toContain("<script>alert");
    expect(structuredDataOf(html).name).toBe(HOSTILE);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/default-src 'none'; script-src 'self' 'sha256-[^']+';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
  });

  test("speaks the language of the query, else the browser's, and says so to caches", async () => {
    expect(await read("/m/mkt_rain?locale=ja", { "accept-language": "de" })).toContain('<html lang="ja" dir="ltr"');
    expect(await read("/m/mkt_rain?locale=ar")).toContain('<html lang="ar" dir="rtl"');
    const response = await get("/m/mkt_rain", { "accept-language": "xx, fr;q=0.5, de-AT;q=0.8, *;q=0.1" });
    expect(await response.text()).toMatch(/<html lang="de".*Schließt: <time/s);
    expect(response.headers.get("vary")).toContain("Accept-Language");
    expect(await read("/m/mkt_rain?locale=%00", { "accept-language": "%%, ;;q=x" })).toContain('<html lang="en"');
  });

  test("is sent again only when it has changed", async () => {
    const first = await get("/m/mkt_btc");
    const etag = first.headers.get("etag") ?? "";
    expect(first.headers.get("cache-control")).toBe("public, max-age=5");
    const again = await get("/m/mkt_btc", { "if-none-match": `"other", ${etag}` });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    expect(again.headers.get("etag")).toBe(etag);
    await tenant.deposit("usr_1", 100);
    await tenant.services.sequencer.submit({
      command: {
        type: "placeTrade",
        id: "trd_1",
        marketId: "mkt_btc",
        traderId: "usr_1",
        side: "yes",
        amountMicro: 90_000_000n,
        claimedJurisdiction: undefined,
      },
      actor: "user:usr_1",
    });
    const changed = await get("/m/mkt_btc", { "if-none-match": etag });
    expect(changed.status).toBe(200);
    expect(await changed.text()).not.toMatch(/data-pm="chance">50%/);
  });

  test.each(["/m/mkt_none", "/m/%E0%A4%A", "/m/%00", `/m/${"x".repeat(300)}`, "/m/..%2f..%2fetc"])(
    "%s is no market: a page says so, and no search engine lists it",
    async (path) => {
      const response = await get(path);
      const html = await response.text();
      expect([response.status, response.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
      expect(response.headers.get("error-code")).toBe("MARKET_NOT_FOUND");
      expect(html).toContain("<h1>There is no such market</h1>");
      expect(contentOf(html, "robots")).toBe("noindex");
      expect(response.headers.get("cache-control")).toBe("no-store");
    },
  );
});

describe("the page of all markets", () => {
  test("lists the open ones as links, and finds them by words", async () => {
    const html = await read("/");
    expect([...html.matchAll(/<h2[^>]*><a href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
      "/m/mkt_btc",
      "/m/mkt_rain",
      "/m/mkt_bad",
    ]);
    const found = await read("/?q=rain&locale=fr");
    expect([...found.matchAll(/<h2[^>]*><a href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
      "/m/mkt_rain?locale=fr",
    ]);
    expect(contentOf(found, "robots")).toBe("noindex");
    expect(await read("/?q=%22%3E%3Cb%3E")).toContain('name="q" value="&quot;&gt;&lt;b&gt;"');
    expect(await read("/?q=nothingofthekind")).toContain("No open market fits these words.");
  });

  test("leads to the next ones by a link, and refuses a cursor that was changed", async () => {
    const closeAt = Date.parse("2032-01-01T00:00:00Z");
    for (let index = 0; index < 60; index += 1)
      await tenant.openMarket(`mkt_p${index}`, { closeAt, question: `Paged ${index}?` });
    const seen = new Set<string>();
    let path: string | undefined = "/?locale=de";
    for (let pages = 0; path && pages < 3; pages += 1) {
      const html: string = await read(path);
      for (const [, href = ""] of html.matchAll(/<h2[^>]*><a href="([^"]+)"/g)) seen.add(href);
      path = /<a rel="next" href="([^"]+)"/.exec(html)?.[1]?.replaceAll("&amp;", "&");
    }
    expect([seen.size, path]).toEqual([63, undefined]);
    const refused = await get("/?cursor=oops");
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("This address is not valid")]);
  });
});
