import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reportOverview } from "../../src/cli/commands/report.ts";
import { areaChart, bar, barChart, sparkline } from "../../src/cli/output/charts.ts";
import type { View } from "../../src/cli/output/output.ts";
import { displayWidth } from "../../src/cli/output/text-width.ts";
import type { Api } from "../../src/contract/operations.ts";
import { runs } from "../domain/random.ts";
import { testIo } from "./support/io.ts";

const prices = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 400 });

describe("a sparkline", () => {
  test("rises with the price, and a price that hardly moves looks calm", () => {
    expect(sparkline([0.1, 0.3, 0.5, 0.7, 0.9])).toBe("▁▃▅▆█");
    expect(new Set(sparkline([0.5, 0.501, 0.499])).size).toBeLessThanOrEqual(2);
    expect(sparkline([])).toBe("");
  });

  test("has the width that was asked for, whatever the prices are", () => {
    fc.assert(
      fc.property(prices, fc.integer({ min: 1, max: 80 }), (values, width) => {
        expect(displayWidth(sparkline(values, width))).toBe(width);
      }),
      runs(500),
    );
  });
});

describe("a bar", () => {
  test("is in proportion, shows whatever is above zero, and nothing else", () => {
    expect([bar(10, 10, 4), bar(5, 10, 4), bar(0.001, 10, 4)]).toEqual(["████", "██", "▏"]);
    expect([bar(0, 10), bar(-5, 10), bar(1, 0), bar(Number.NaN, 1)]).toEqual(["", "", "", ""]);
  });
});

describe("a chart", () => {
  test("fits its width and height, whatever the prices are", () => {
    fc.assert(
      fc.property(prices, fc.integer({ min: 1, max: 120 }), (values, width) => {
        const lines = areaChart(values, width).split("\n");
        if (lines.length > 1) expect(lines).toHaveLength(8);
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
      }),
      runs(500),
    );
  });

  test("names its scale, and is left out where there is no room or nothing to draw", () => {
    const lines = areaChart([0.2, 0.8], 60).split("\n");
    expect([lines[0], lines.at(-1)]).toEqual([
      expect.stringMatching(/^0\.800 ┤/),
      expect.stringMatching(/^0\.200 ┤▁+█+$/),
    ]);
    expect([areaChart([0.2, 0.8], 12), areaChart([0.5], 80), areaChart([], 80)]).toEqual(["", "", ""]);
  });
});

describe("bars below each other", () => {
  const line = (label: string, value: number) => ({ label, value, shown: value.toFixed(2) });
  const groups = [
    [line("volume", 100), line("before", 50)],
    [line("fees", 1), line("lost", -3)],
  ];

  test("have a scale for each group, names before and amounts behind", () => {
    expect(barChart(groups, 27).split("\n")).toEqual([
      "volume  ████████████ 100.00",
      "before  ██████ 50.00",
      "fees    ████████████ 1.00",
      "lost     -3.00",
    ]);
  });

  test("fit any width or are left out, and so are groups without anything to draw", () => {
    for (let width = 1; width < 120; width++)
      for (const drawn of barChart(groups, width).split("\n")) expect(displayWidth(drawn)).toBeLessThanOrEqual(width);
    expect(barChart(groups, 22)).toBe("");
    expect(barChart([[line("volume", 0)], [line("fees", 2)]], 80)).toMatch(/^fees/);
    expect(barChart([[line("volume", 0)]], 80)).toBe("");
  });
});

describe("report overview", () => {
  const totals = { settledMarkets: 1, activeTraders: 2 };
  const asked: (number | undefined)[] = [];
  const api = {
    getOverviewReport: async ({ periodDays = 30 }: { periodDays?: number }) => {
      asked.push(periodDays);
      return { periodDays, totalVolume: periodDays === 30 ? 300 : 400, houseRevenue: 3, ...totals };
    },
  } as unknown as Api;

  test("compares with the period before on a terminal, and asks once everywhere else", async () => {
    const shown = testIo({ terminal: 70, color: false });
    await reportOverview.run({}, api, shown);
    expect(asked.splice(0)).toEqual([30, 60]);
    expect(shown.stdout.text.split("\n").slice(0, 4)).toEqual([
      `volume, 30 days       ${"█".repeat(40)} 300.00`,
      `  the 30 days before  ${"█".repeat(13)}▍ 100.00`,
      `revenue, 30 days      ${"█".repeat(40)} 3.00`,
      "  the 30 days before   0.00",
    ]);
    for (const options of [{}, { format: "table" }, { terminal: 70, format: "json" }] as const) {
      const io = testIo(options);
      await reportOverview.run({}, api, io);
      expect(asked.splice(0)).toEqual([30]);
      expect(io.stdout.text).not.toContain("█");
    }
  });

  test("draws nothing where the interface does not look as far back, or there is no room", async () => {
    const long = testIo({ terminal: 70 });
    await reportOverview.run({ periodDays: 2000 }, api, long);
    expect(asked.splice(0)).toEqual([2000]);
    const narrow = testIo({ terminal: 30 });
    await reportOverview.run({}, api, narrow);
    expect(narrow.stdout.text).not.toContain("█");
  });
});

describe("pictures", () => {
  interface Item {
    id: string;
    amount: number;
  }
  const view: View<readonly Item[], Item> = {
    kind: "list",
    rows: (items) => items,
    columns: [
      { title: "ID", cell: ({ id }) => id, whole: true },
      {
        title: "SHARE",
        cell: ({ amount }, rows) => bar(amount, Math.max(...rows.map((row) => row.amount))),
        picture: true,
      },
    ],
    empty: "-",
    picture: () => "▁▂▃",
  };
  const items = [{ id: "a", amount: 1 }];

  test("are for a terminal's tables only", async () => {
    const shown = testIo({ terminal: 80, color: false });
    await shown.output.print(items, view);
    expect(shown.stdout.text).toBe("▁▂▃\n\nID  SHARE\na   ████████████\n");
    for (const options of [
      { format: "table" },
      { terminal: 80, format: "csv" },
      { terminal: 80, fields: ["id"] },
    ] as const) {
      const io = testIo({ ...options, fields: "fields" in options ? [...options.fields] : undefined } as object);
      await io.output.print(items, view);
      expect(io.stdout.text).not.toMatch(/[▁-█]/);
    }
  });

  test("go first where there is no room", async () => {
    const narrow = testIo({ terminal: 10, color: false });
    await narrow.output.print(items, { ...view, picture: () => "" } as typeof view);
    expect(narrow.stdout.text).toBe("ID\na\n");
  });
});

describe("narrow terminals", () => {
  const id = "mkt_01a1fdfe41976b76e01af1d978670a67";
  const view: View<readonly { id: string; text: string }[], { id: string; text: string }> = {
    kind: "list",
    rows: (items) => items,
    columns: [
      { title: "ID", cell: (row) => row.id, whole: true },
      { title: "QUESTION", cell: ({ text }) => text, least: 16 },
    ],
    empty: "-",
  };

  test("rows that fit no table are records, every line fits, and no word is broken", async () => {
    const io = testIo({ terminal: 40, color: false });
    await io.output.print([{ id, text: "Will Bitcoin trade above $200,000 at the start of 2030?" }], view);
    const lines = io.stdout.text.trimEnd().split("\n");
    expect(lines).toEqual([
      "id",
      `  ${id}`,
      "question  Will Bitcoin trade above",
      "          $200,000 at the start of 2030?",
    ]);
  });
});
