import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkMarketFile, checkMarketFiles } from "../../src/config/tenant-files/market-files.ts";
import { directoryWith } from "./support.ts";

const MARKET = "question: Q?\ncategory: crypto\nkind: lmsr\np0: 0.5\ncloseAt: 2030-01-01T00:00:00Z\nresolutionRef: r\n";

function check(text: string) {
  return checkMarketFile(text, "markets/a.yaml", new Map());
}

function complaintsOf(text: string): string[] {
  return check(text).problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`);
}

describe("a market file", () => {
  test("holds one market, with the API's meaning and defaults, and where it stands", () => {
    expect(check(`key: a\n${MARKET}liquidityUsd: 2500.5\n`)).toEqual({
      markets: [
        {
          key: "a",
          question: "Q?",
          category: "crypto",
          kind: "lmsr",
          p0: 0.5,
          closeAt: Date.UTC(2030, 0, 1),
          resolutionRef: "r",
          meta: {},
          liquidityUsd: 2_500_500_000n,
          state: "open",
          source: { file: "markets/a.yaml", line: 1, column: 6 },
        },
      ],
      problems: [],
    });
  });

  test("or a list of them", () => {
    const entry = (key: string) => `- key: ${key}\n  ${MARKET.trimEnd().replaceAll("\n", "\n  ")}\n`;
    expect(check(entry("a") + entry("b")).markets.map(({ key }) => key)).toEqual(["a", "b"]);
    expect(check(entry("a") + entry("a")).problems).toMatchObject([
      { line: 8, column: 8, path: "[1].key", message: "must be unique: it is already used at markets/a.yaml:1" },
    ]);
  });

  test.each<[string, string, string]>([
    ["no key", MARKET, "1:1 key: is required"],
    ["a probability of 1", `key: a\n${MARKET.replace("0.5", "1")}`, "5:5 p0: must be at most 0.999 (got 1)"],
    [
      "a closing time without a zone",
      `key: a\n${MARKET.replace("00Z", "00")}`,
      '6:10 closeAt: must be an ISO 8601 timestamp with a zone, such as 2027-01-31T18:00:00Z (got "2030-01-01T00:00:00")',
    ],
    [
      "a state that only a person can bring about",
      `key: a\n${MARKET}state: settled\n`,
      '8:8 state: must be one of open, suspended (got "settled")',
    ],
    [
      "a misspelt field",
      `key: a\n${MARKET}liquidtyUsd: 5\n`,
      '8:1 liquidtyUsd: unknown key; did you mean "liquidityUsd"?',
    ],
    ["no market", "just text\n", "1:1 : must be a mapping (key: value)"],
    ["nothing", "\n", "1:1 : is empty"],
  ])("with %s is refused with its place", (_what, text, complaint) => {
    expect(complaintsOf(text)).toEqual([complaint]);
  });
});

describe("a reference to the price of a feed", () => {
  const problemsOf = (resolutionRef: string, feeds?: string[]) =>
    checkMarketFile(
      `key: a\n${MARKET.replace("resolutionRef: r", `resolutionRef: ${resolutionRef}`)}`,
      "markets/a.yaml",
      new Map(),
      feeds,
    ).problems;

  test("that is not there is refused, with the feed that was meant and the text to put there", () => {
    expect(problemsOf('"pm:bct > 5"', ["pm:btc", "pm:eth"])).toMatchObject([
      {
        line: 7,
        column: 16,
        endLine: 7,
        endColumn: 28,
        code: "UNKNOWN_FEED",
        message: "there is no feed pm:bct; did you mean pm:btc?",
        fix: '"pm:btc > 5"',
      },
    ]);
    expect(problemsOf("pm:nothing < 1", ["pm:btc"])).toMatchObject([
      { message: "there is no feed pm:nothing; `pmctl oracle feeds` lists them", fix: null },
    ]);
  });

  test("passes where the feed is there, where nothing is compared, and where something else settles", () => {
    expect(problemsOf("PM:BTC > 5", ["pm:btc"])).toEqual([]);
    expect(problemsOf("judge:jury", ["pm:btc"])).toEqual([]);
    expect(problemsOf("pm:bct > 5")).toEqual([]);
  });
});

describe("markets.files", () => {
  test("matches in the order of the patterns and names, each file once", () => {
    const directory = directoryWith({
      "markets/b.yaml": `key: b\n${MARKET}`,
      "markets/a.yaml": `key: a\n${MARKET}`,
      "markets/notes.md": "no market",
      "extra.yaml": `key: extra\n${MARKET}`,
    });
    const { markets, problems } = checkMarketFiles(directory, ["extra.yaml", "markets/*.yaml", "markets/a.yaml"]);
    expect(problems).toEqual([]);
    expect(markets.map(({ key }) => key)).toEqual(["extra", "a", "b"]);
  });

  test("a pattern may match nothing, a plain name must exist", () => {
    const directory = directoryWith();
    expect(checkMarketFiles(directory, ["markets/*.yaml"])).toEqual({ markets: [], problems: [] });
    expect(checkMarketFiles(directory, ["one.yaml"]).problems).toMatchObject([{ message: "does not exist" }]);
  });

  test("one key in two files is a problem of the second", () => {
    const directory = directoryWith({ "a.yaml": `key: same\n${MARKET}`, "b.yaml": `key: same\n${MARKET}` });
    expect(checkMarketFiles(directory, ["*.yaml"]).problems).toMatchObject([
      {
        file: join(directory, "b.yaml"),
        path: "key",
        message: `must be unique: it is already used at ${join(directory, "a.yaml")}:1`,
      },
    ]);
  });

  test("a broken file does not hide another's problems", () => {
    const directory = directoryWith({ "a.yaml": "{", "b.yaml": "x: 1\n", "c.yaml": `key: c\n${MARKET}` });
    const { markets, problems } = checkMarketFiles(directory, ["*.yaml"]);
    expect(markets.map(({ key }) => key)).toEqual(["c"]);
    expect(new Set(problems.map(({ file }) => file))).toEqual(
      new Set([join(directory, "a.yaml"), join(directory, "b.yaml")]),
    );
  });
});
