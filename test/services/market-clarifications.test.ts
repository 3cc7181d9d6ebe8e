import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { Api } from "../../src/contract/operations.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

describe("clarifications", () => {
  let scene: TestTenant;
  let apis: Api[];
  beforeAll(async () => {
    scene = await openTestTenant({ processes: 2 });
    apis = scene.processes.map(({ handlers }) => localApi(handlers, { actor: "admin:ops" }));
  });
  afterAll(() => scene.close());

  const [one, other] = [() => apis[0] as Api, () => apis[1] as Api];

  test("every process shows each text from its commit on, oldest first, and the terms stay as they were", async () => {
    const id = await scene.market();
    const { clarifications, ...terms } = await other().getMarket({ id });
    expect(clarifications).toEqual([]);
    const first = await one().clarifyMarket({ id, text: "Drizzle counts.\n\tHail does not." });
    expect(first).toEqual({
      id: expect.stringMatching(/^clr_/),
      marketId: id,
      text: "Drizzle counts.\n\tHail does not.",
      at: expect.stringMatching(/Z$/),
    });
    const shown = ({ marketId: _, ...text }: typeof first) => text;
    for (const api of apis) expect((await api.getMarket({ id })).clarifications).toEqual([shown(first)]);
    const second = await other().clarifyMarket({ id, text: "<b>Snow</b> & sleet do." });
    for (const api of apis)
      expect(await api.getMarket({ id })).toEqual({ ...terms, clarifications: [shown(first), shown(second)] });
  });

  test("a market holds 20 texts, whichever process adds them", async () => {
    const id = await scene.market();
    const added = await Promise.allSettled(
      Array.from({ length: 23 }, (_, index) => apis[index % 2]?.clarifyMarket({ id, text: `Text ${index}` })),
    );
    const refused = added.flatMap((each) => (each.status === "rejected" ? [each.reason.code] : []));
    expect(refused).toEqual(["LIMIT_REACHED", "LIMIT_REACHED", "LIMIT_REACHED"]);
    const { clarifications } = await one().getMarket({ id });
    expect(new Set(clarifications.map(({ id }) => id)).size).toBe(20);
    await expect(one().clarifyMarket({ id, text: "One more" })).rejects.toMatchObject({ code: "LIMIT_REACHED" });
    expect(await scene.faults()).toEqual([]);
  });

  test("a settled market keeps its texts and takes no more", async () => {
    const id = await scene.market();
    await one().clarifyMarket({ id, text: "Drizzle counts." });
    await one().suspendMarket({ id });
    await one().clarifyMarket({ id, text: "Hail does not." });
    await one().settleMarket({ marketId: id, outcome: "yes" });
    await expect(other().clarifyMarket({ id, text: "Snow does." })).rejects.toMatchObject({ code: "MARKET_SETTLED" });
    expect((await other().getMarket({ id })).clarifications).toHaveLength(2);
    await expect(one().clarifyMarket({ id: "nope", text: "x" })).rejects.toMatchObject({ code: "MARKET_NOT_FOUND" });
  });

  test.each([
    ["no characters", ""],
    ["blanks alone", " \n\t "],
    ["1001 characters", "x".repeat(1001)],
    ["a control character", "a\u0007b"],
    ["a mark of direction", "a\u202eb"],
    ["half a surrogate pair", "a\ud800b"],
  ])("a text of %s is refused", async (_, text) => {
    const id = await scene.market();
    await expect(one().clarifyMarket({ id, text })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  test("a list of markets and the events of other markets know nothing of it; the story tells it in one sentence", async () => {
    const id = await scene.market();
    const { at } = await one().clarifyMarket({ id, text: "Drizzle counts." });
    expect(Date.parse(at)).toBeGreaterThan(0);
    const { entries } = await one().listAudit({ marketId: id, type: "market.clarified" });
    expect(entries.map(({ payload }) => payload)).toEqual([
      { id: expect.stringMatching(/^clr_/), marketId: id, text: "Drizzle counts." },
    ]);
    const { sentence } = await one().getAuditEntry({ seq: entries[0]?.seq ?? 0 });
    expect(sentence).toBe(`admin:ops clarified 'Will it rain?': "Drizzle counts."`);
  });
});
