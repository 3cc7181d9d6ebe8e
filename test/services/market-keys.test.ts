import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { marketInput } from "../../src/cli/market/market-input.ts";
import { localApi } from "../../src/client/local-api.ts";
import { anyMarket } from "../support/market.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

let scene: TestTenant;
beforeAll(async () => {
  scene = await openTestTenant({ processes: 2 });
});
afterAll(() => scene?.close());

const created = async () => Number((await scene.sql`select count(*)::int as n from market`)[0]?.n);

test("a key names one market: again with its terms it answers that market, with others it is refused", async () => {
  const terms = anyMarket({ key: "rain", meta: { b: 1, a: [2] }, liquidityUsd: 700 });
  const api = scene.api();
  const first = await api.createMarket(terms);
  expect(await api.createMarket({ ...terms, meta: { a: [2], b: 1 } })).toEqual(first);
  expect(await api.getMarket({ id: first.id })).toMatchObject({ key: "rain" });
  const changes = [
    { question: "Will it snow?" },
    { p0: 0.4 },
    { closeAt: "2095-01-01T00:00:00Z" },
    { meta: {} },
    { kind: "lmsr" as const },
    { category: "other" },
    { resolutionRef: "a judge" },
    { liquidityUsd: 701 },
  ];
  for (const change of changes)
    await expect(api.createMarket({ ...terms, ...change })).rejects.toMatchObject({ code: "MARKET_KEY_TAKEN" });
  await api.settleMarket({ marketId: first.id, outcome: "yes" });
  expect(await api.createMarket(terms)).toMatchObject({ id: first.id, status: "settled" });
  expect(await created()).toBe(1);
  await expect(api.createMarket({ ...terms, key: "Rain" })).rejects.toMatchObject({ code: "BAD_REQUEST" });
});

test("of many that create a market with one key at once, in two processes, all get the same market", async () => {
  const before = await created();
  const apis = scene.processes.map(({ handlers }) => localApi(handlers, { actor: "admin:ops" }));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, number) => apis[number % 2]?.createMarket(anyMarket({ key: "race" }))),
  );
  expect(new Set(answers.map((answer) => answer?.id)).size).toBe(1);
  expect(await created()).toBe(before + 1);
  expect(await scene.faults()).toEqual([]);
});

test("markets without a key stay as many as are created", async () => {
  const before = await created();
  await Promise.all([1, 2].map(() => scene.api().createMarket(anyMarket({}))));
  expect(await created()).toBe(before + 2);
});

test("a market file's key goes with it", async () => {
  const directory = await mkdtemp(join(tmpdir(), "pmctl-key-"));
  const file = join(directory, "rain.yaml");
  await writeFile(
    file,
    "key: dry\nquestion: Will it be dry?\ncategory: weather\nkind: cpmm\np0: 0.5\ncloseAt: 2096-01-01T00:00:00Z\nresolutionRef: judge\n",
  );
  expect(marketInput({ file })).toMatchObject({ key: "dry", question: "Will it be dry?" });
  expect(() => marketInput({ file, key: "wet" })).toThrow("leave out --key");
  await rm(directory, { recursive: true });
});
