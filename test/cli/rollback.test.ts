import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sharedOperator } from "../support/shared-operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";

const { operator, done: json } = sharedOperator(async ({ run, directory }) => {
  await run("init", "acme");
  const markets = join(directory, "tenants/acme/markets");
  await copyFile(join(markets, "example.yaml.sample"), join(markets, "example.yaml"));
});

const replace = (from: string | RegExp, to: string) => operator.edit("acme", (text) => text.replace(from, to));
const run = async (...args: string[]) => {
  const done = await operator.run(...args);
  expect(done.exitCode, done.stderr).toBe(0);
  return done;
};
const newest = async () => (await json("history", "acme"))[0].seq as number;
const back = async (to: number) =>
  (await json("rollback", "acme", "--to", String(to), "--accept-loosening", "--on-drift", "overwrite"))[0];

const LEFT = ["policy.feeBps", "treasury.capitalUsd", "rateLimit.perMinute", "keys.web"];

describe("a rollback", () => {
  test("brings back policy, settings and states, and leaves nothing when all of that came back", async () => {
    await run("apply", "acme");
    const first = await newest();
    await replace("maxTradeUsd: 500", "maxTradeUsd: 400");
    await run("apply", "acme");
    await replace("maxTradeUsd: 400", "maxTradeUsd: 500");
    const { hash, ...done } = await back(first);
    expect(done).toEqual({
      tenant: "acme",
      changed: true,
      seq: await newest(),
      gitCommit: null,
      fileSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      changes: [expect.objectContaining({ field: "policy.maxTradeUsd", live: 400, desired: 500, mark: "LOOSENS" })],
      recorded: ["policy.maxTradeUsd"],
      migrations: [],
      to: first,
      left: [],
    });
    expect(hash).toBe((await json("audit", "list", "--limit", "1")).entries[0].hash);
    expect((await json("policy", "show")).maxTradeUsd).toBe(500);
    expect((await json("plan", "acme"))[0]).toMatchObject({ empty: true });
  });

  test("brings back a value that the apply kept although the file said otherwise", async () => {
    await run("policy", "set", "maxTradeUsd=30", "--yes");
    const refused = await operator.run("rollback", "acme", "--to", String(await newest()));
    expect(refused).toMatchObject({ exitCode: 3, stderr: expect.stringContaining("the apply to go back to says 500") });
    expect(refused.stderr).not.toContain("drift --write");
    const [applied] = await json("apply", "acme", "--on-drift", "adopt");
    const [told] = await json("history", "acme");
    expect(applied).toMatchObject({ changes: [], recorded: ["policy.maxTradeUsd"] });
    expect(told.changes).toEqual({ policy: 1, markets: 0, keys: 0, settings: 0 });
    // The apply has decided, so drift shows the value and ends well.
    expect(await json("drift", "acme")).toMatchObject([{ field: "policy.maxTradeUsd", kind: "adopted" }]);
    const kept = await newest();
    await replace("maxTradeUsd: 500", "maxTradeUsd: 200");
    await run("apply", "acme", "--on-drift", "overwrite", "--accept-loosening");
    expect((await json("policy", "show")).maxTradeUsd).toBe(200);
    await replace("maxTradeUsd: 200", "maxTradeUsd: 500");
    expect((await back(kept)).left).toEqual([]);
    expect((await json("policy", "show")).maxTradeUsd).toBe(30);
    expect((await json("plan", "acme"))[0]).toMatchObject({ empty: true, items: [{ kind: "adopted" }] });
  });

  test("takes back what only later applies stated, also where the last of them states it no more", async () => {
    const before = await newest();
    const live = await json("policy", "show");
    const stated = "suitabilityThresholds: { blockBelow: 3 }\n  suitabilityRequired: true\n  feeBps: 100";
    await replace("feeBps: 100", stated);
    await run("apply", "acme", "--on-drift", "overwrite", "--accept-loosening");
    await replace("suitabilityRequired: true\n  ", "");
    await run("apply", "acme", "--on-drift", "overwrite", "--accept-loosening");
    expect(await json("policy", "show")).toMatchObject({
      suitabilityRequired: true,
      suitabilityThresholds: { blockBelow: 3 },
    });
    await replace("suitabilityThresholds: { blockBelow: 3 }\n  ", "");
    expect(await back(before)).toMatchObject({
      left: [],
      changes: [{ field: "policy.suitabilityRequired" }, { field: "policy.suitabilityThresholds" }],
    });
    expect(await json("policy", "show")).toEqual(live);
    expect((await json("plan", "acme"))[0]).toMatchObject({ empty: true });
  });

  test("says what it leaves: keys, capital, overrides, markets, and settings that the file states", async () => {
    const before = await newest();
    await operator.edit(
      "acme",
      (text) =>
        `${withRateLimit(text, 77).replace("feeBps: 100", "suitabilityRequired: true\n  feeBps: 100")}treasury: { capitalUsd: 150000 }\n`,
    );
    await run("key", "rotate", "web", "--overlap", "0", "--yes");
    await run("apply", "acme", "--on-drift", "adopt", "--accept-loosening");
    await run("policy", "set", "feeBps=90", "--ttl", "1h", "--yes");
    const { left } = await back(before);
    expect(left).toEqual(expect.arrayContaining(LEFT));
    const table = await run("rollback", "acme", "--to", String(before), "--accept-loosening", "-o", "table");
    expect(table.stdout).toContain("treasury.capitalUsd");
  });

  test("tells no market whose file is there that it is in none", async () => {
    const before = await newest();
    const markets = join(operator.directory, "tenants/acme/markets");
    const example = await readFile(join(markets, "example.yaml"), "utf8");
    await writeFile(join(markets, "later.yaml"), example.replace(/^key: .*/m, "key: later"));
    await run("apply", "acme", "--on-drift", "overwrite", "--accept-loosening");
    const done = await run("rollback", "acme", "--to", String(before), "--accept-loosening", "--on-drift", "adopt");
    expect(done.stderr).toContain("markets.later came after the apply to go back to; the market goes on");
    expect(done.stderr).not.toContain("in no file");
    await rm(join(markets, "later.yaml"));
  });

  test("a text search configuration comes back with it, and one that the database lacks is refused at its place", async () => {
    await operator.edit("acme", (text) => `${text.replace(/^markets:/m, "markets:\n  search: german")}`);
    const before = await newest();
    await run("apply", "acme", "--on-drift", "overwrite", "--accept-loosening");
    await run("market", "create", ...market("Gewinnen sie die Wahlen?"));
    expect(await json("market", "list", "--q", "Wahl")).toHaveLength(1);
    expect((await back(before)).left).not.toContain("markets.search");
    expect(await json("market", "list", "--q", "Wahl")).toHaveLength(0);
    await replace("search: german", "search: klingon");
    const refused = await operator.run("apply", "acme", "--on-drift", "overwrite", "--accept-loosening");
    expect(refused.exitCode).toBe(6);
    expect(refused.stderr).toMatch(
      /tenant\.yaml:\d+:\d+ {2}markets\.search {2}The database has no text search configuration "klingon"/,
    );
    await replace("search: klingon", 'search: "drop table"');
    expect((await operator.run("validate", "acme")).exitCode).toBe(6);
  });
});

const market = (question: string) => [
  ...["--question", question, "--category", "news", "--kind", "cpmm", "--p0", "0.5"],
  ...["--close-at", "2090-01-01T00:00:00Z", "--resolution-ref", "the press"],
];
