import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FrameData } from "../../../src/contract/resources/embed.ts";
import { pointsOf } from "../../../src/domain/embed/curve-steps.ts";
import { CATALOGUES } from "../../../src/locales/catalogues.ts";
import { speakerFor } from "../../../src/locales/speaker.ts";
import { marketDrawing } from "../../../src/server/pages/market/market-drawing.ts";
import { Fonts } from "../../../src/server/pages/market/picture/fonts.ts";
import { layOut, shortened } from "../../../src/server/pages/market/picture/lines.ts";
import { Painter } from "../../../src/server/pages/market/picture/painter.ts";
import { type Drawing, directionOfText, drawable, svgOf } from "../../../src/server/pages/market/picture/svg.ts";
import { PUBLIC_KEY } from "../support/harness.ts";
import { type ServedTenant, serveTenant } from "../support/tenant.ts";

const DRAWING: Drawing = {
  size: "tile",
  direction: "ltr",
  question: "Will it rain?",
  odds: { text: "63%", color: "#151a21", label: "chance of Yes" },
  closing: "Closes Jan 1, 2030",
  name: "Acme",
  curve: [
    [0, 0.5],
    [0.4, 0.63],
  ],
  axis: { top: 0.7, bottom: 0.4, labels: ["70%", "40%"] },
  colors: {
    background: "#ffffff",
    text: "#151a21",
    muted: "#55606d",
    border: "#dbe1e8",
    line: "#08734a",
    accent: "#0b5cad",
  },
};

interface Pixels {
  width: number;
  height: number;
  /** How many different bytes its rows have: one colour has few. */
  variety: number;
}

/** What a PNG says of itself, and holds. */
function decoded(png: Buffer): Pixels {
  expect(png.subarray(1, 4).toString()).toBe("PNG");
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const rows = inflateSync(Buffer.concat(parts));
  expect(rows.length).toBe(height * (1 + 4 * width));
  return { width, height, variety: new Set(rows).size };
}

describe("over HTTP", () => {
  let tenant: ServedTenant;
  beforeAll(async () => {
    const embed = { name: "Acme", publicKeys: [PUBLIC_KEY], allowedOrigins: [] };
    tenant = await serveTenant({ embed });
    await tenant.openMarket("mkt_a", { question: "هل ستمطر غدًا؟ <b>&</b> \u{1f680}" });
    await tenant.deposit("usr_1", 100);
  });
  afterAll(() => tenant?.close());

  const get = (path: string, headers: Record<string, string> = {}) => fetch(tenant.url + path, { headers });
  const picture = async (path: string) => Buffer.from(await (await get(path)).arrayBuffer());

  test.each([
    ["image", 1200, 630],
    ["tile", 600, 400],
  ])("%s.png is a picture of %d × %d that any page may show", async (file, width, height) => {
    const response = await get(`/m/mkt_a/${file}.png`);
    const pixels = decoded(Buffer.from(await response.arrayBuffer()));
    expect(pixels).toEqual({ width, height, variety: expect.toSatisfy((count: number) => count > 100) });
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    expect(response.headers.get("cache-control")).toBe("public, max-age=30");
  });

  test("shows another theme, another language and another price, and is sent again only then", async () => {
    const dark = await get("/m/mkt_a/tile.png");
    const etag = dark.headers.get("etag") ?? "";
    const bytes = Buffer.from(await dark.arrayBuffer());
    expect((await get("/m/mkt_a/tile.png", { "if-none-match": etag })).status).toBe(304);
    const others = await Promise.all([
      picture("/m/mkt_a/tile.png?theme=light"),
      picture("/m/mkt_a/tile.png?locale=ja"),
    ]);
    expect(others.map((other) => other.equals(bytes))).toEqual([false, false]);
    expect(await picture("/m/mkt_a/tile.png?theme=nonsense")).toEqual(bytes);
    await tenant.services.sequencer.submit({
      command: {
        type: "placeTrade",
        id: "trd_1",
        marketId: "mkt_a",
        traderId: "usr_1",
        side: "yes",
        amountMicro: 90_000_000n,
        claimedJurisdiction: undefined,
      },
      actor: "user:usr_1",
    });
    const after = await get("/m/mkt_a/tile.png", { "if-none-match": etag });
    expect(after.status).toBe(200);
    expect(Buffer.from(await after.arrayBuffer()).equals(bytes)).toBe(false);
  });

  test("draws the single trades of a young market, as its widget does", async () => {
    for (const [side, dollars] of [
      ["no", 5n],
      ["yes", 3n],
    ] as const)
      await tenant.services.sequencer.submit({
        command: {
          type: "placeTrade",
          id: `trd_${side}`,
          marketId: "mkt_a",
          traderId: "usr_1",
          side,
          amountMicro: dollars * 1_000_000n,
          claimedJurisdiction: undefined,
        },
        actor: "user:usr_1",
      });
    const { market } = (await (await get("/embed/data/market?marketId=mkt_a")).json()) as FrameData;
    if (!market) throw new Error("The frame has its market");
    const choice = { size: "tile", scheme: "light", name: "Acme", theme: {} } as const;
    const points = pointsOf(market.history);
    const { curve } = marketDrawing(speakerFor("en", CATALOGUES.en), market.detail, points, choice);
    expect(curve[0]).toEqual([0, 0.5]);
    // Each trade has its place along the line, which goes on a twentieth beyond the time of the answer.
    const [[start], [end, latest]] = [points[0] ?? [0, 0], points.at(-1) ?? [0, 0]];
    const [lastTrade = 0] = points.find(([, yes]) => yes === latest) ?? [];
    expect(curve.at(-1)?.[0]).toBeCloseTo((lastTrade - start) / (1.05 * (end - start)), 2);
    expect(curve.at(-1)?.[1]).toBeCloseTo(market.detail.yesPrice);
    expect(curve.length).toBeGreaterThan(2);
  });

  test("of an unknown market there is none, and any page may read why", async () => {
    for (const path of ["/m/mkt_none/image.png", "/m/%E0%A4%A/tile.png"]) {
      const response = await get(path);
      expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([404, "*"]);
    }
  });
});

describe("the painter", () => {
  const painter = new Painter(4);
  afterAll(() => painter.close());

  test("draws equal drawings once, also for requests of one moment", async () => {
    const [first, second] = await Promise.all([painter.paint(DRAWING, "a"), painter.paint({ ...DRAWING }, "a")]);
    expect(second).toBe(first);
    expect(await painter.paint({ ...DRAWING }, "a")).toBe(first);
    expect(painter.drawn).toBe(1);
  });

  test("refuses more pictures than it has room for, and draws those that wait", async () => {
    const all = await Promise.allSettled(
      Array.from({ length: 6 }, (_, index) =>
        painter.paint({ ...DRAWING, question: `Number ${index}?`, curve: [] }, `client ${index}`),
      ),
    );
    const refused = all.filter((one) => one.status === "rejected");
    expect(refused.map(({ reason }) => reason.code)).toEqual(["OVERLOADED", "OVERLOADED"]);
  });

  test("leaves places to others: a client's fifth picture at a time is refused, and the next of another is drawn", async () => {
    const roomy = new Painter();
    const drawings = Array.from({ length: 5 }, (_, index) => ({ ...DRAWING, question: `${index}?`, curve: [] }));
    const all = Promise.allSettled(drawings.map((drawing) => roomy.paint(drawing, "greedy")));
    const other = roomy.paint({ ...DRAWING, question: "Other?", curve: [] }, "modest");
    expect((await all).map(({ status }) => status).join(" ")).toBe(`${"fulfilled ".repeat(4)}rejected`);
    expect(decoded(Buffer.from(await other)).width).toBe(600);
    await expect(roomy.paint(drawings[4] as Drawing, "greedy")).resolves.toBeDefined();
    await roomy.close();
  });

  test("draws whatever a question holds", async () => {
    const hostile = [
      "",
      "\ud800 \u0000 \u202e <script>&\"'</text> ]]> \ufffe",
      `${"a\u0301".repeat(5)}${"\u0301".repeat(900)}`,
      "x".repeat(5000),
      "\u{1f469}\u200d\u{1f680}\u{1f1e8}\u{1f1ed}",
      "한국어 עברית",
    ];
    for (const question of hostile) {
      const png = Buffer.from(await painter.paint({ ...DRAWING, question, name: question, closing: question }, "a"));
      expect(decoded(png)).toMatchObject({ width: 600, height: 400 });
    }
  });

  test("goes on with a new thread after one that failed", async () => {
    const broken = { ...DRAWING, size: "huge" } as unknown as Drawing;
    await expect(painter.paint(broken, "a")).rejects.toMatchObject({ code: "INTERNAL" });
    expect(decoded(Buffer.from(await painter.paint({ ...DRAWING, name: "Again" }, "a"))).width).toBe(600);
  });
});

describe("a text in a picture", () => {
  const fonts = new Fonts();
  const wide = fonts.measure(600);

  test("takes the largest size in which it fits, and ends with an ellipsis in the smallest", () => {
    const sizes = [
      [60, 1],
      [30, 2],
    ] as const;
    expect(layOut("Rain?", 500, sizes, wide)).toEqual({ lines: ["Rain?"], sizePx: 60 });
    expect(layOut("Will it rain in Bern tomorrow?", 500, sizes, wide).sizePx).toBe(30);
    const long = layOut("Will it rain in Bern tomorrow? ".repeat(9), 500, sizes, wide);
    expect([long.lines.length, long.lines[1]?.endsWith("…")]).toEqual([2, true]);
    expect(shortened("Acme Markets", 60, 20, wide)).toMatch(/^Acm?…$|^Ac…$/);
  });

  test("breaks no line wider than its place, whatever its script, and loses no character", () => {
    for (const text of [
      "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft?",
      "ビットコインは2030年末までに「20万ドル」を超えるでしょうか？",
      "هل سيتجاوز سعر البيتكوين 200,000 دولار قبل نهاية عام 2030؟",
    ]) {
      const { lines } = layOut(text, 300, [[30, 99]], wide);
      expect(lines.filter((line) => wide(line, 30) > 300)).toEqual([]);
      expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
      expect(lines.filter((line) => /^[」、。？]|「$/.test(line))).toEqual([]);
    }
  });

  test("keeps what is written and nothing that only changes how it looks", () => {
    expect(drawable(" a\tb\n\u202e\u200b c\ud800 \u{1f680}d ")).toBe("a b c d");
    expect(drawable("می\u200cخواهم © 5%")).toBe("می\u200cخواهم © 5%");
    expect(directionOfText("2030: هل Bitcoin?")).toBe("rtl");
    expect(directionOfText("Bitcoin هل")).toBe("ltr");
  });

  test("is escaped in the drawing, which loads nothing", () => {
    const svg = svgOf({ ...DRAWING, question: `<image/>&"'` }, fonts);
    expect(svg).toContain("&lt;image/&gt;&amp;&quot;&#39;");
    expect(svg).not.toMatch(/<(image|use|a|script|foreignObject|style)\b/);
  });

  test("needs the fonts of its script, and no others", () => {
    const sizes = [["Größe"], ["Größe", "東京"], ["مطر"]].map((texts) => fonts.dataFor(texts).length);
    expect(sizes).toEqual([2, 3, 4]);
  });
});
