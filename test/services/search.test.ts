import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { followMarketSearch, knowsTextSearch } from "../../src/ledger/market-search.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { searchQuery } from "../../src/queries/markets.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { runs } from "../domain/random.ts";
import { openMarkets } from "../oracle/open-markets.ts";
import { AUDIT_SECRET, openTestTenant, type TestTenant } from "../support/tenant.ts";

let scene: TestTenant;
let owner: Sql;
const named = new Map<string, string>();
beforeAll(async () => {
  scene = await openTestTenant({ processes: 2 });
  owner = connect(scene.database.connection, { name: "owner", max: 1 });
  for (const [name, question, description] of [
    ["senate", "Who wins the elections to the senate?", undefined],
    ["mayor", "A new mayor by March?", "Counted is what the electing district states"],
    ["will", "Will it rain?", undefined],
    ["band", "Does The Who tour again?", undefined],
    ["wahlen", "Gewinnen die Grünen die Wahlen in Häusern?", undefined],
    ["quoted", "O'Brien's \\ back-slash: e-mail to a@b.example, http://x.example/y?z=1", undefined],
  ] as const)
    named.set(await scene.market({ question, meta: description ? { description } : {} }), name);
});
afterAll(async () => {
  await owner.end({ timeout: 5 });
  await scene.close();
});

const find = async (q: string) =>
  (await scene.api().listMarkets({ q, limit: 200 })).items.map(({ id }) => named.get(id) ?? "?").toSorted();

/** What an apply leaves: the document, and the search that follows it. */
async function applySearch(search: string | undefined): Promise<void> {
  const document = JSON.stringify({ markets: { liquidityUsd: 1000, ...(search ? { search } : {}) } });
  await owner`update tenant set document = ${document}`;
  await scene.processes[1]?.pool.write(followMarketSearch);
}

describe("the search of markets, in English unless told otherwise,", () => {
  test.each([
    ["election", ["mayor", "senate"]],
    ["Elections", ["mayor", "senate"]],
    ["elected", ["mayor", "senate"]],
    ["winning senate", ["senate"]],
    ["election -senate", ["mayor"]],
    ["rained or mayors", ["mayor", "will"]],
    ["raining -mayor", ["will"]],
    ['"new mayor"', ["mayor"]],
    ['"new mayors"', ["mayor"]],
    ['"mayor new"', []],
    ['"the who"', ["band"]],
    ['"the who tours"', ["band"]],
    ["who", ["band", "senate"]],
    ["who tours", ["band"]],
    // A word that the configuration drops excludes nothing.
    ["tour -who", ["band"]],
    ["will", ["will"]],
    ["it", ["will"]],
    ["O'Brien", ["quoted"]],
    ["back-slash", ["quoted"]],
    ["a@b.example", ["quoted"]],
    ["x.example/y?z=1", ["quoted"]],
    ["emu", []],
  ])("finds by %s", async (q, expected) => {
    expect(await find(q)).toEqual(expected);
  });

  test("is never an error, whatever is typed", async () => {
    const marks = [
      "'",
      '"',
      "\\",
      "-",
      "!",
      "&",
      "|",
      "(",
      ")",
      ":",
      "*",
      "<->",
      "or",
      "the",
      "é",
      "a",
      " ",
      "%",
      "🙂",
    ];
    let seed = 7;
    const next = (limit: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % limit;
    };
    for (let round = 0; round < 300; round++) {
      const q = Array.from({ length: 1 + next(12) }, () => marks[next(marks.length)]).join(next(2) ? "" : " ");
      if (q.trim() !== "") await expect(find(q), q).resolves.toBeDefined();
    }
    for (const q of ["x".repeat(200), `"${"the ".repeat(15)}"`, "-the", '""', "\\'"])
      await expect(find(q)).resolves.toBeDefined();
  });

  test("is never an error for any text of 16 words at most", async () => {
    for (const q of [
      "-".repeat(200),
      `${"-".repeat(199)}a`,
      `a ${'-"'.repeat(99)}`,
      "a-".repeat(100),
      "-a".repeat(100),
    ])
      await expect(find(q), q).resolves.toBeDefined();
    const part = fc.oneof(
      fc.constantFrom(
        "-",
        "--------",
        '"',
        " ",
        "or",
        "a",
        "1",
        "\\",
        "'",
        "<->",
        "!",
        "://",
        ".",
        "/",
        "@",
        "\u0301",
        "\u00ad",
      ),
      fc.string({ unit: "binary", minLength: 1, maxLength: 3 }).filter((text) => !text.includes("\0")),
    );
    const typed = fc
      .array(part, { minLength: 1, maxLength: 200 })
      .map((parts) => parts.join("").slice(0, 200).toWellFormed())
      .filter((text) => text.trim() !== "" && text.trim().split(/\s+/).length <= 16);
    await fc.assert(
      fc.asyncProperty(typed, async (q) => {
        await find(q);
      }),
      runs(300),
    );
  });

  test("takes 200 characters and 16 words, and no more", async () => {
    const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(" ");
    await expect(find(words(16))).resolves.toEqual([]);
    await expect(find(words(17))).rejects.toMatchObject({ code: "BAD_REQUEST" });
    await expect(find("x".repeat(201))).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  test("uses its index", async () => {
    await owner`set enable_seqscan = off`;
    const plan = await owner`explain select id from market m where m.words @@ ${searchQuery(owner, "election")}`;
    await owner`reset enable_seqscan`;
    expect(plan.map((row) => row["QUERY PLAN"]).join("\n")).toContain("market_search");
  });
});

describe("a tenant that names another configuration", () => {
  test("is searched in it by every process, by the index, and again in English when the file says nothing", async () => {
    expect(await find("Wahl Haus")).toEqual([]);
    await applySearch("german");
    for (let round = 0; round < 2; round++) {
      expect(await find("Wahl Haus")).toEqual(["wahlen"]);
      expect(await find("grüne")).toEqual(["wahlen"]);
      expect(await find("die")).toEqual(["wahlen"]);
      await owner`set enable_seqscan = off`;
      const rows = await owner`select id from market m where m.words @@ ${searchQuery(owner, "Wahl")}`;
      await owner`reset enable_seqscan`;
      expect(rows).toHaveLength(1);
    }
    await applySearch("simple");
    expect([await find("election"), await find("elections")]).toEqual([[], ["senate"]]);
    await applySearch(undefined);
    expect([await find("election"), await find("Wahl Haus")]).toEqual([["mayor", "senate"], []]);
  });

  test("is searched in it after an apply that was cut off, once a process opens it", async () => {
    await owner`update tenant set document = ${JSON.stringify({ markets: { search: "german" } })}`;
    const again = await openTenant({
      tenantId: "acme",
      connection: scene.database.server,
      auditSecret: AUDIT_SECRET,
      connections: 8,
    });
    expect(await find("Wahl Haus")).toEqual(["wahlen"]);
    await again.close();
    await applySearch(undefined);
  });

  test("stays searchable where the database lacks it", async () => {
    await applySearch("klingon");
    expect(await find("election")).toEqual(["mayor", "senate"]);
    expect(
      await Promise.all(
        ["klingon", "nowhere.german", "german", "pg_catalog.german"].map((name) => knowsTextSearch(owner, name)),
      ),
    ).toEqual([false, false, true, true]);
    await applySearch(undefined);
  });
});

test("words of thousands of markets are found page after page, in order, beside words that exclude and phrases that are nowhere", async () => {
  await openMarkets(owner, 6000, ["acme:s1"]);
  const search = (q: string, cursor?: string) => scene.api().listMarkets({ q, limit: 200, cursor });
  const first = await search("many");
  const second = await search("many", first.nextCursor ?? undefined);
  expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(
    Array.from({ length: 400 }, (_, index) => `many_${index + 1}`),
  );
  expect((await search("-mayor -many")).items.map(({ id }) => named.get(id))).not.toContain("mayor");
  for (const nowhere of ['"many many"', "many -many", "many emu"]) expect((await search(nowhere)).items).toEqual([]);
});
