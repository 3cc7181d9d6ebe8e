import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { completeTheme } from "../../../src/domain/theme/stated-theme.ts";
import { PUBLIC_KEY } from "../support/harness.ts";
import { type ServedTenant, serveTenant } from "../support/tenant.ts";

const BASE = "https://predict.acme.example";
const THEME = { colors: { accent: "#123456" } };

let tenant: ServedTenant;
let hidden: ServedTenant;
beforeAll(async () => {
  const embed = { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: [] };
  [tenant, hidden] = await Promise.all([
    serveTenant({ embed: { ...embed, baseUrl: BASE, theme: THEME } }),
    serveTenant({ embed: { ...embed, robots: "noindex" } }),
  ]);
  await tenant.openMarket("mkt_a", { question: `Will "A" <come> true?` });
  await hidden.openMarket("mkt_h");
});
afterAll(() => Promise.all([tenant?.close(), hidden?.close()]));

const ask = (query: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${tenant.url}/oembed?${new URLSearchParams(query)}`, { headers });
const url = `${BASE}/m/mkt_a`;

describe("oEmbed", () => {
  test("answers the address of a market's page with a frame, a picture and the tenant's name", async () => {
    const response = await ask({ url: `${url}?locale=de`, format: "json" });
    const { html, ...data } = (await response.json()) as Record<string, unknown>;
    expect(data).toEqual({
      version: "1.0",
      type: "rich",
      title: `Will "A" <come> true?`,
      provider_name: "Acme",
      provider_url: `${BASE}/`,
      width: 640,
      height: 960,
      thumbnail_url: `${BASE}/m/mkt_a/image.png`,
      thumbnail_width: 1200,
      thumbnail_height: 630,
      cache_age: 300,
    });
    expect(html).toContain(
      `<iframe src="${BASE}/embed/market?marketId=mkt_a&amp;theme=auto&amp;locale=de" width="640"`,
    );
    expect(html).toContain('title="Will &quot;A&quot; &lt;come&gt; true?" sandbox="allow-scripts');
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("content-type")).toBe("application/json");
    const again = await ask(
      { url: `${url}?locale=de`, format: "json" },
      { "if-none-match": response.headers.get("etag") ?? "" },
    );
    expect(again.status).toBe(304);
  });

  test("keeps to the room that the consumer has", async () => {
    const small = (await (await ask({ url, maxwidth: "600", maxheight: "400" })).json()) as Record<string, unknown>;
    expect(small).toMatchObject({ width: 600, height: 400, thumbnail_width: 600, thumbnail_height: 400 });
    expect(small.html).toContain('width="600" height="400"');
    expect(small.thumbnail_url).toBe(`${url}/tile.png`);
    const flat = (await (await ask({ url, maxheight: "250" })).json()) as Record<string, unknown>;
    expect(flat.height).toBe(250);
    expect(flat.html).toContain("/embed/card?marketId=mkt_a&amp;");
    const odd = (await (await ask({ url, maxwidth: "-1", maxheight: "wide" })).json()) as Record<string, unknown>;
    expect(odd).toMatchObject({ width: 640, height: 960 });
  });

  test.each([
    ["no address", {}, 400],
    ["another format", { url, format: "xml" }, 400],
    ["another site", { url: "https://other.example/m/mkt_a" }, 404],
    ["another scheme", { url: url.replace("https", "http") }, 404],
    ["another page", { url: `${BASE}/docs` }, 404],
    ["an unknown market", { url: `${BASE}/m/mkt_none` }, 404],
    ["a broken address", { url: `${BASE}/m/%E0%A4%A` }, 404],
    ["no address at all", { url: "mkt_a" }, 404],
  ])("refuses %s so that any page can read why", async (_what, query, status) => {
    const response = await ask(query as Record<string, string>);
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([status, "*"]);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  });

  test("without an address of its own, the tenant is the host that was asked", async () => {
    const own = `${hidden.url}/m/mkt_h`;
    const response = await fetch(`${hidden.url}/oembed?${new URLSearchParams({ url: own })}`);
    expect(await response.json()).toMatchObject({ provider_url: `${hidden.url}/`, thumbnail_url: `${own}/image.png` });
  });
});

test("robots may list the pages, or nothing, as the tenant says", async () => {
  const text = async ({ url: origin }: ServedTenant) => (await fetch(`${origin}/robots.txt`)).text();
  expect(await text(tenant)).toBe("User-agent: *\nDisallow: /v1/\nAllow: /\n");
  expect(await text(hidden)).toBe("User-agent: *\nDisallow: /\n");
  const page = await (await fetch(`${hidden.url}/m/mkt_h`)).text();
  expect(page).toContain('<meta name="robots" content="noindex">');
});

test("the icon is a picture in the theme's accent", async () => {
  const icon = await fetch(`${tenant.url}/favicon.ico`);
  expect([icon.status, icon.headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
  expect(await icon.text()).toContain(`rect{fill:${completeTheme(THEME).colors.accent.light}}`);
});
