import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sharedOperator } from "../support/shared-operator.ts";

const {
  operator,
  asked: run,
  done,
} = sharedOperator(async ({ run: begin }) => {
  await begin("init", "acme");
  await declare("rain", "rain");
  await begin("apply", "acme");
});
const plan = async () => (await done("plan", "acme"))[0];
const newest = async () => (await done("history", "acme"))[0].seq as number;
const fileOf = (name: string) => join(operator.directory, "tenants/acme/markets", `${name}.yaml`);
const declare = (name: string, key: string, more = "") =>
  writeFile(
    fileOf(name),
    `key: ${key}\n${more}question: Will it rain?\ncategory: weather\nkind: lmsr\np0: 0.4\ncloseAt: 2096-01-01T00:00:00Z\nresolutionRef: the press\nliquidityUsd: 500\n`,
  );

describe("a market that moves to another key", () => {
  test("is the same market under both keys, and audit, story and lists tell it", async () => {
    const { id } = await done("market", "show", "rain");
    const { treasuryUsd } = await done("report", "house");
    await declare("rain", "storm", "moved: rain\n");
    expect((await plan()).items).toMatchObject([{ field: "markets.storm", kind: "move", live: "rain" }]);
    const [applied] = await done("apply", "acme", "--reason", "a better name");
    expect(applied.changes).toMatchObject([{ field: "markets.storm", kind: "move" }]);
    expect(await plan()).toMatchObject({ empty: true, warnings: [] });
    for (const key of ["storm", "rain", id])
      expect(await done("market", "show", key)).toMatchObject({ id, key: "storm" });
    expect(await done("market", "list")).toMatchObject([{ id, key: "storm" }]);
    expect((await done("report", "house")).treasuryUsd).toBe(treasuryUsd);
    const { entries } = await done("audit", "list", "--type", "market.moved");
    expect(entries).toMatchObject([{ payload: { marketId: id, from: "rain", key: "storm", reason: "a better name" } }]);
    const story = await done("story", "storm");
    expect(story.subject).toEqual({ kind: "market", id, key: "storm" });
    expect(story.lines.map(({ sentence }: { sentence: string }) => sentence).join("\n")).toMatch(
      /renamed the key of 'Will it rain\?' from rain to storm: "a better name"/,
    );
    const shown = await done("history", "show", String(applied.seq));
    expect(shown.changes.map(({ field }: { field: string }) => field)).toEqual(["markets.rain", "markets.storm"]);
    expect(await done("reconcile", "--explain")).not.toContainEqual(expect.objectContaining({ ok: false }));
  });

  test("keeps both keys from other markets, also where an older server would create one", async () => {
    const create = (key: string) =>
      run(
        "market",
        "create",
        "--key",
        key,
        "--question",
        "Another?",
        "--category",
        "x",
        "--kind",
        "lmsr",
        "--p0",
        "0.5",
        "--close-at",
        "2h",
        "--resolution-ref",
        "x",
      );
    for (const key of ["storm", "rain"])
      expect(await create(key)).toMatchObject({ exitCode: 7, stderr: expect.stringContaining("MARKET_KEY_TAKEN") });
  });

  test("a rollback takes the key back, and one forward again gives it once more", async () => {
    const storm = await newest();
    const [, first] = await done("history", "acme");
    const [back] = await done("rollback", "acme", "--to", String(first.seq));
    expect(back).toMatchObject({ changes: [{ field: "markets.rain", kind: "move", live: "storm" }], left: [] });
    expect(await done("market", "show", "storm")).toMatchObject({ key: "rain" });
    expect((await plan()).items).toMatchObject([{ field: "markets.storm", kind: "move" }]);
    await done("rollback", "acme", "--to", String(storm));
    expect(await done("market", "show", "rain")).toMatchObject({ key: "storm" });
    expect(await plan()).toMatchObject({ empty: true });
  });

  test("a file that names its own key as the earlier one does not validate", async () => {
    const text = await readFile(fileOf("rain"), "utf8");
    await declare("rain", "storm", "moved: storm\n");
    expect((await run("validate", "acme")).exitCode).toBe(6);
    await writeFile(fileOf("rain"), text);
  });
});
