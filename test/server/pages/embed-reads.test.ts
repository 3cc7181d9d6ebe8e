import { beforeAll, describe, expect, test } from "vitest";
import type { FrameData, FrameList } from "../../../src/contract/resources/embed.ts";
import { readAssets } from "../../../src/server/pages/assets.ts";
import { tenantOfTests } from "../support/during-tests.ts";
import { PUBLIC_KEY, userToken } from "../support/harness.ts";
import { serveTenant } from "../support/tenant.ts";

const VIEWS = ["market?marketId=mkt_a", "markets", "card?marketId=mkt_a", "compare?marketId=mkt_a,mkt_b"];
const embed = { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: [] };

const tenant = tenantOfTests({ embed });
beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  for (const id of ["mkt_a", "mkt_b"]) await tenant.openMarket(id, { question: `Will <${id}> come true?` });
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(tenant.url + path, { headers });
const read = async (path: string): Promise<FrameData & FrameList> =>
  (await (await get(path)).json()) as FrameData & FrameList;
const dataOf = (html: string) => JSON.parse(/id="data">(.*)<\/script>/.exec(html)?.[1] ?? "{}");
let trades = 0;
const trade = (marketId: string) => {
  trades += 1;
  const terms = { marketId, traderId: "usr_1", side: "yes", amountMicro: 5_000_000n } as const;
  const command = { type: "placeTrade", id: `trd_${trades}`, ...terms, claimedJurisdiction: undefined } as const;
  return tenant.services.sequencer.submit({ command, actor: "user:usr_1" });
};

describe.each(VIEWS)("the document of %s", (view) => {
  test("tells question, chance and closing time without a script, and has its script under an immutable name", async () => {
    const html = await (await get(`/embed/${view}`)).text();
    const [before = "", after = ""] = html.split('id="data"');
    expect(before).toContain("Will &lt;mkt_a&gt; come true?");
    expect(before).toMatch(/data-pm="chance">\d+%</);
    expect(before).toMatch(/<time data-pm="closes" datetime="20\d\d-[^"]+Z">[^<]+UTC/);
    expect(after).toContain(`<script type="module" src="${readAssets().framePath}"></script>`);
  });

  test("may be kept for a second, and then is not sent again unless what it says has changed", async () => {
    const first = await get(`/embed/${view}`);
    const tag = first.headers.get("etag") ?? "";
    expect(first.headers.get("cache-control")).toBe("public, max-age=1");
    const again = await get(`/embed/${view}`, { "if-none-match": `"other", ${tag}` });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", tag]);
    // The browser puts these in place of what it has kept.
    for (const name of ["content-security-policy", "content-type", "cross-origin-embedder-policy", "cache-control"])
      expect(again.headers.get(name)).toBe(first.headers.get(name));
    await trade("mkt_a");
    const changed = await get(`/embed/${view}`, { "if-none-match": tag });
    expect([changed.status, changed.headers.get("etag") === tag]).toEqual([200, false]);
  });

  test("says as JSON what it says as a document", async () => {
    const { now: _, ...data } = dataOf(await (await get(`/embed/${view}`)).text());
    const answer = await get(`/embed/data/${view}`);
    expect(await answer.json()).toEqual({ ...data, now: expect.any(Number) });
    expect(answer.headers.get("cache-control")).toBe("public, max-age=1");
    const tag = answer.headers.get("etag") ?? "";
    expect((await get(`/embed/data/${view}`, { "if-none-match": tag })).status).toBe(304);
  });
});

test("every frame may be shown by pages that are isolated from other origins, refusals too", async () => {
  for (const path of ["/embed/market", "/embed/portfolio", "/embed/market?marketId=mkt_none"]) {
    const { headers } = await get(path);
    expect(headers.get("cross-origin-embedder-policy")).toBe("require-corp");
    expect(headers.get("cross-origin-resource-policy")).toBe("cross-origin");
  }
});

test("a comparison takes two markets", async () => {
  const { compared } = await read("/embed/data/compare?marketId=mkt_b,mkt_a");
  expect(compared?.map(({ detail }) => detail.id)).toEqual(["mkt_b", "mkt_a"]);
  for (const query of ["", "?marketId=mkt_a", "?marketId=mkt_a,mkt_b,mkt_a"])
    expect((await get(`/embed/data/compare${query}`)).status).toBe(400);
});

test("the list goes on where a page of it ends, and is narrowed down by words and category", async () => {
  const { items, nextCursor, sparks } = await read("/embed/data/list");
  expect(items.map(({ id }) => id).sort()).toEqual(["mkt_a", "mkt_b"]);
  expect([nextCursor, Object.keys(sparks)]).toEqual([null, ["mkt_a"]]);
  expect((await read("/embed/data/list?category=none")).items).toEqual([]);
  expect((await read("/embed/data/list?q=true")).items).toHaveLength(2);
  expect((await get("/embed/data/list?cursor=forged")).status).toBe(400);
});

test("the portfolio is its user's: the body of GET /v1/portfolio, which no cache keeps", async () => {
  const headers = { "x-api-key": PUBLIC_KEY, authorization: `Bearer ${await userToken()}` };
  const answer = await get("/embed/data/portfolio", headers);
  expect(await answer.json()).toEqual(await (await get("/v1/portfolio", headers)).json());
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect((await get("/embed/data/portfolio", { "x-api-key": PUBLIC_KEY })).status).toBe(401);
  expect((await get("/embed/data/portfolio")).status).toBe(401);
});

test("the frame's stream is the stream of events, with the same credentials", async () => {
  const { body, headers } = await get("/embed/stream?markets=mkt_a", { "x-api-key": PUBLIC_KEY });
  expect(headers.get("content-type")).toBe("text/event-stream");
  const { value } = (await body?.getReader().read()) ?? {};
  expect(new TextDecoder().decode(value)).not.toBe("");
  expect((await get("/embed/stream")).status).toBe(401);
});

test("twenty equal widgets at once cost one read of the database, and the ones after them none", async () => {
  const counting = await serveTenant({ embed });
  await counting.openMarket("mkt_a");
  const { pool } = counting.backend;
  const snapshot = pool.snapshot.bind(pool);
  let reads = 0;
  pool.snapshot = (statements) => {
    reads += 1;
    return snapshot(statements);
  };
  const widgets = () =>
    Promise.all(
      Array.from({ length: 20 }, (_, id) => fetch(`${counting.url}/embed/market?marketId=mkt_a&frame=pm${id}`)),
    );
  for (const { status } of await widgets()) expect(status).toBe(200);
  const first = reads;
  expect(first).toBeLessThanOrEqual(3);
  await widgets();
  expect(reads).toBe(first);
  await counting.close();
});

describe("the widget's own bucket", () => {
  test("holds its reads apart from other requests, by 600 a minute or what the general one allows", async () => {
    const standing = async (path: string) => {
      const { headers } = await fetch(few.url + path);
      return [headers.get("ratelimit-limit"), headers.get("ratelimit-remaining")];
    };
    const few = await serveTenant({ embed, rateLimit: { perMinute: 20 } });
    const paths = [
      "/assets/embed.js",
      "/assets/v1/embed.js",
      "/docs",
      "/docs/embed",
      "/assets/none.js",
      "/embed/markets",
      "/embed/data/list",
      "/embed/stream",
      "/",
    ];
    for (const [index, path] of paths.entries()) expect(await standing(path)).toEqual(["600", String(599 - index)]);
    for (const path of ["/robots.txt", "/favicon.ico", "/oembed", "/m/mkt_none", "/embed/data/portfolio"])
      expect((await standing(path))[0]).toBe("600");
    expect(await standing("/health")).toEqual(["20", "19"]);
    await few.close();
    expect((await get("/embed/markets")).headers.get("ratelimit-limit")).toBe("1000000");
  });

  test("ends with 429, a time to wait, and the page's right to read it; other requests go on", async () => {
    const one = await serveTenant({ embed, rateLimit: { perMinute: 20, embedPerMinute: 1 } });
    await fetch(`${one.url}/embed/markets`);
    for (const path of ["/embed/markets", "/embed/data/markets", "/assets/v1/embed.js"]) {
      const { status, headers } = await fetch(one.url + path);
      expect([path, status, headers.get("error-code")]).toEqual([path, 429, "RATE_LIMITED"]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      expect(headers.get("access-control-allow-origin")).toBe(path.startsWith("/assets/") ? "*" : null);
    }
    expect((await fetch(`${one.url}/health`)).status).toBe(200);
    await one.close();
  });
});
