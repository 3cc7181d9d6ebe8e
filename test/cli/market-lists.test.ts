import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keepLastMarket } from "../../src/app/tenant/last-market.ts";
import { risk } from "../../src/cli/commands/exposure.ts";
import { resolveId } from "../../src/cli/input/names.ts";
import { chooseMarket } from "../../src/cli/market/market-choice.ts";
import { marketList } from "../../src/cli/market/market-list.ts";
import { localApi } from "../../src/client/local-api.ts";
import type { Api } from "../../src/contract/operations.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { anyMarket } from "../support/market.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { end, testIo } from "./support/io.ts";

const LONG = "Will the number of sunny days in Bern be above 200 this year?";

describe.each(doors)("markets in every state through the %s door", (_name, open) => {
  let door: TestDoor;
  let api: Api;
  let owner: Sql;
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    door = await open();
    api = door.api();
    owner = connect(door.database.connection, { name: "owner", max: 1 });
    const create = async (name: string, question = `Will ${name} win?`) => {
      ids[name] = (await api.createMarket(anyMarket({ question }))).id;
    };
    for (const name of ["halted", "over", "haltedOver", "paid", "held"]) await create(name);
    await create("open", LONG);
    await door.deposit("usr_1", 100);
    const buy = { marketId: ids.over ?? "", selection: { side: "yes" }, amount: 25 } as const;
    await door.api("usr_1").placeTrade(buy);
    for (const name of ["halted", "haltedOver"]) await api.suspendMarket({ id: ids[name] ?? "" });
    await api.settleMarket({ marketId: ids.paid ?? "", outcome: "no" });
    await door.services.sequencer.submit({
      command: { type: "holdMarket", marketId: ids.held ?? "", reason: "stale", detail: "no price" },
      actor: "oracle",
    });
    // Their closing time passes.
    for (const [name, closeAt] of [
      ["over", 1_900],
      ["held", 2_000],
      ["haltedOver", 2_100],
    ] as const)
      await owner`update market set close_at = ${closeAt} where id = ${ids[name] ?? ""}`;
  });
  afterAll(async () => {
    await owner?.end({ timeout: 5 });
    await door?.close();
  });

  const named = (found: readonly { id: string }[]) =>
    found.map(({ id }) => Object.keys(ids).find((name) => ids[name] === id));
  const listed = async (status?: string) => named((await api.listMarkets({ status })).items);

  test("a list holds the markets of the states that it is asked for, the longest closed first", async () => {
    expect(await listed()).toEqual(["open"]);
    expect(await listed("open")).toEqual(["open"]);
    expect(await listed("suspended")).toEqual(["halted"]);
    expect(await listed("closed")).toEqual(["over", "held", "haltedOver"]);
    expect(await listed("settled")).toEqual(["paid"]);
    const unsettled = await listed("unsettled");
    expect(unsettled.slice(0, 3)).toEqual(["over", "held", "haltedOver"]);
    expect(unsettled.toSorted()).toEqual(["halted", "haltedOver", "held", "open", "over"]);
    expect(await listed("settled,suspended")).toHaveLength(2);
    expect(await listed("all")).toHaveLength(6);
    expect(await listed("suspended,waiting")).toHaveLength(4);
  });

  test("items tell their state, and what they wait for; an ordinary list has the specified fields alone", async () => {
    const { items } = await api.listMarkets({ status: "all,waiting" });
    const states = Object.fromEntries(
      items.map((item) => [named([item])[0], [item.status, item.outcome, item.waitingFor]]),
    );
    expect(states).toEqual({
      open: ["open", null, undefined],
      halted: ["suspended", null, undefined],
      over: ["closed", null, "settlement"],
      haltedOver: ["closed", null, "settlement"],
      held: ["closed", null, "oracle"],
      paid: ["settled", "no", undefined],
    });
    expect(items[0]).toHaveProperty("key", null);
    const [plain] = (await api.listMarkets({})).items;
    expect(Object.keys(plain ?? {})).toEqual([
      "id",
      "question",
      "category",
      "kind",
      "yesPrice",
      "volume24h",
      "closeAt",
    ]);
  });

  test("pages of a state go on where the last one ended", async () => {
    const first = await api.listMarkets({ status: "all", limit: 4 });
    const rest = await api.listMarkets({ status: "all", limit: 4, cursor: first.nextCursor ?? "" });
    expect(new Set(named([...first.items, ...rest.items])).size).toBe(6);
    expect(rest.nextCursor).toBeNull();
  });

  test("risk counts all money that is not paid out yet, and settled markets hold none", async () => {
    const held = (await api.listRisk({ status: "unsettled" })).find(({ marketId }) => marketId === ids.over);
    expect(held).toMatchObject({ status: "closed", outcome: null, maxLiability: expect.any(Number) });
    expect(held?.yesPayout).toBeGreaterThan(25);
    const { yesPayout = 0, noPayout = 0, stakes = 0 } = held ?? {};
    expect(held?.maxLiability).toBeCloseTo(Math.max(yesPayout, noPayout) - stakes, 6);
    expect(held).toMatchObject({ category: expect.any(String), closeAt: expect.any(String), terms: null });
    expect(await api.listRisk({ status: "settled" })).toEqual([
      expect.objectContaining({ marketId: ids.paid, outcome: "no", maxLiability: 0, yesPayout: 0, noPayout: 0 }),
    ]);
    const [plain] = await api.listRisk({});
    expect(Object.keys(plain ?? {})).toEqual(["marketId", "question", "maxLiability", "yesPayout", "noPayout"]);
    const io = testIo({ format: "json" });
    await risk.run({ status: "unsettled" }, api, io);
    expect(JSON.parse(io.stdout.text)).toHaveLength(5);
  });

  test("traders see open markets only, whatever they ask for, and unknown words are refused", async () => {
    const trader = localApi(door.services.handlers, { actor: "public:web" });
    expect((await trader.listMarkets({ status: "open" })).items).toHaveLength(1);
    for (const status of ["closed", "open,settled", "waiting", "all"])
      await expect(trader.listMarkets({ status })).rejects.toMatchObject({ code: "FORBIDDEN" });
    const narrow = localApi(door.services.handlers, { actor: "admin:settler", scopes: ["settle"] });
    await expect(narrow.listMarkets({ status: "all" })).rejects.toMatchObject({ code: "SCOPE_REQUIRED" });
    for (const status of ["opened", "", "open,", "OPEN"]) {
      await expect(api.listMarkets({ status })).rejects.toMatchObject({ code: "BAD_REQUEST" });
      await expect(api.listRisk({ status })).rejects.toMatchObject({ code: "BAD_REQUEST" });
    }
  });

  test("what may be settled is offered with the closed markets first", async () => {
    expect(await chooseMarket(api, testIo({ answers: [""] }))).toBe(ids.over);
  });

  test("a table says held of what the inbox calls held, also where all unsettled markets are listed", async () => {
    const io = testIo({ format: "table" });
    await marketList.run({ status: "unsettled" }, api, io);
    expect(io.stdout.text.match(/ {2}(open|suspended|closed|held) /g)?.toSorted()).toEqual([
      "  closed ",
      "  closed ",
      "  held ",
      "  open ",
      "  suspended ",
    ]);
  });

  test("a table begins with 35 characters of the question at 80 columns, and with more where there is room", async () => {
    const table = async (terminal: number) => {
      const io = testIo({ format: "table", terminal });
      await end(io, () => marketList.run({ status: "unsettled" }, api, io));
      return io.stdout.text.trimEnd().split("\n");
    };
    const narrow = await table(80);
    expect(narrow[0]).toMatch(/QUESTION.*STATUS.*CLOSES.*ID/);
    const line = narrow.find((each) => each.startsWith("Will the number")) ?? "";
    expect(line.slice(0, 33)).toBe(LONG.slice(0, 33));
    expect(line).toMatch(/open +in \d+ days +[0-9a-f]{8,}/);
    expect(Math.max(...narrow.map((each) => stripVTControlCharacters(each).length))).toBeLessThanOrEqual(80);
    expect(narrow.find((each) => each.startsWith("Will over win?"))).toMatch(/closed +\d+ days ago/);
    expect((await table(90))[0]).toMatch(/QUESTION.*STATUS.*CLOSES.*ID.*YES/);
    expect((await table(160)).find((each) => each.startsWith(LONG))).toBeDefined();
  });

  test("a market is named by the beginning of its id, and one that several share is refused with their names", async () => {
    const directory = await mkdtemp(join(tmpdir(), "pmctl-last-"));
    const tenant = { directory, id: "acme" } as Parameters<typeof resolveId>[3]["tenant"];
    const resolve = (text: string) => resolveId("market", text, api, { tenant });
    try {
      const io = testIo({ format: "table", terminal: 80 });
      await marketList.run({ status: "closed" }, api, io);
      const [, short = ""] = /Will over win\?.* ([0-9a-f]{8,})/.exec(io.stdout.text) ?? [];
      expect(await resolve(short)).toBe(ids.over);
      expect(await resolve(`mkt_${short}`)).toBe(ids.over);
      expect(await resolve("mkt_unknown")).toBe("mkt_unknown");
      expect(await resolve("aaaaaaaa")).toBe("aaaaaaaa");
      const ambiguous = resolve(ids.over?.slice(4, 10) ?? "");
      await expect(ambiguous).rejects.toMatchObject({ code: "AMBIGUOUS" });
      await expect(ambiguous).rejects.toThrow(/Will over win\?.*Will paid win\?/);
      await expect(resolve("@last")).rejects.toMatchObject({ code: "NOT_FOUND" });
      await keepLastMarket(tenant, ids.halted ?? "");
      expect(await resolve("@last")).toBe(ids.halted);

      // A key that is the printed id of another market decides nothing, and the list prints what no key can be.
      const shadow = (await api.createMarket(anyMarket({ question: "Shadow?", key: short }))).id;
      await expect(resolve(short)).rejects.toThrow(
        new RegExp(`is the key of ${shadow} \\(Shadow.*beginning of ${ids.over} `),
      );
      const again = testIo({ format: "table", terminal: 80 });
      await marketList.run({ status: "closed" }, api, again);
      const [, printed = ""] = /Will over win\?.* (mkt_[0-9a-f]{8,})/.exec(again.stdout.text) ?? [];
      expect(await resolve(printed)).toBe(ids.over);
      expect(await resolve(shadow)).toBe(shadow);
      const reads = api.createMarket(anyMarket({ question: "Reads as an id?", key: "mkt_01a205" }));
      await expect(reads).rejects.toMatchObject({ code: "BAD_REQUEST", message: expect.stringContaining("mkt_") });
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
