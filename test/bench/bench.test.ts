import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { AIMS, type Aim, type AimId, aimText, verdictOn } from "./aims.ts";
import { bucketCounts, median, percentile } from "./figures.ts";
import { readOptions } from "./options.ts";
import { parseStat } from "./processes.ts";
import { recordFigures } from "./record.ts";

describe("figures of the bench", () => {
  test("a percentile is the value below which that share of the measurements lies", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index);
    expect([0, 0.5, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([0, 50, 99, 99]);
    expect(percentile([], 0.5)).toBe(0);
  });

  test("the median of rounds leaves a disturbed one out", () => {
    expect(median([0.5, 0.1, 0.6])).toBe(0.5);
    expect(median([2, 1])).toBe(1.5);
  });

  test("buckets of a histogram are counted apart although Prometheus adds them up", () => {
    const text = ["1", "2", "4", "+Inf"].map((le, at) => `x_bucket{le="${le}"} ${[3, 3, 7, 8][at]}`).join("\n");
    expect([...bucketCounts(`${text}\nother_bucket{le="1"} 9`, "x")]).toEqual([
      ["1", 3],
      ["4", 4],
      ["+Inf", 1],
    ]);
  });

  test("CPU times are read behind the name of a process, which may hold spaces and brackets", () => {
    const text = "42 (postgres: a) b (c) S 7 42 42 0 -1 4194560 10 20 0 0 30 4 500 60 20 0 1 0 99 1000 5";
    expect(parseStat(text)).toEqual({ parent: 7, own: 34, reaped: 560 });
  });

  test("a figure fails a run when it misses its aim by more than a tenth", () => {
    expect([2.7, 2.43, 2.4].map((ratio) => verdictOn(AIMS.trades, ratio))).toEqual(["met", "within a tenth", "MISSED"]);
    expect([45, 50, 51].map((us) => verdictOn(AIMS.server64, us))).toEqual(["met", "within a tenth", "MISSED"]);
    expect(verdictOn(AIMS.detail, Number.NaN)).toBe("MISSED");
  });

  test("the document of the figures states every aim as the bench judges by it", () => {
    const page = readFileSync(new URL("../../docs/design/performance.md", import.meta.url), "utf8");
    const rows = new Set(page.split("\n"));
    const aims: Aim[] = Object.values(AIMS);
    const missing = aims.filter(({ what }) => ![...rows].some((row) => row.startsWith(`| ${what} |`)));
    const other = aims.filter((aim) => ![...rows].some((row) => row.startsWith(`| ${aim.what} | ${aimText(aim)} |`)));
    expect({ missing, other }).toEqual({ missing: [], other: [] });
  });

  test("figures are recorded in the rows of their aims, and other rows stay", () => {
    const row = (what: AimId, now: string) => `| ${AIMS[what].what} | ${aimText(AIMS[what])} | ${now} | 7 |`;
    const page = ["| what | aim | now | before |", row("single", "-"), row("detail", "0.10"), ""].join("\n");
    const recorded = recordFigures(page, new Map([["single", 0.8123]] as const));
    expect(recorded).toBe(
      ["| what | aim | now | before |", row("single", "0.81 ms"), row("detail", "0.10"), ""].join("\n"),
    );
    expect(() => recordFigures(page, new Map([["list", 1]] as const))).toThrow("no row for list of 20");
  });

  test("parts that do not exist are refused by name", () => {
    expect([...readOptions(["--only", "reads,two"]).parts]).toEqual(["reads", "two"]);
    expect(() => readOptions(["--only", "reed"])).toThrow("and not reed");
    expect(() => readOptions(["--seconds", "0"])).toThrow("--seconds");
  });
});
