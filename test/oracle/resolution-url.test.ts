import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../src/postgres/connect.ts";
import { openStage, RESOLUTION_SECRET, type Stage } from "./stage.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage(1);
});
afterAll(() => stage.close());

const setUrl = (resolution_url: string | null) => stage.scene.api().updatePolicy({ resolution_url });
const status = async (id: string) => (await stage.scene.api().getMarket({ id })).status;
const heldReasons = async (id: string) =>
  (await stage.audit("oracle.held")).filter(({ marketId }) => marketId === id).map(({ reason }) => reason);

describe("resolution_url", () => {
  test("is asked, signed, about every market past its close, and settles only what it says is resolved", async () => {
    const text = await stage.closedMarket("the press", { meta: { desk: 7 } });
    const open = await stage.scene.market({ resolutionRef: "the press" });
    await setUrl(`${stage.server.url}/resolve`);
    stage.server.say("/resolve", { status: "pending" });
    await stage.sweepAt(Date.now());
    expect(await status(text.id)).toBe("closed");
    expect(await stage.audit("oracle.held")).toEqual([]);
    const asked = stage.server.heard.filter(({ path }) => path === "/resolve");
    expect(asked).toHaveLength(1);
    const [{ body, headers } = { body: "", headers: {} }] = asked;
    const verified = new Webhook(Buffer.from(RESOLUTION_SECRET), { format: "raw" }).verify(
      body,
      headers as Record<string, string>,
    );
    expect(verified).toEqual({
      marketId: text.id,
      question: "Will it rain?",
      resolutionRef: "the press",
      closeAt: new Date(text.closeAt).toISOString(),
      meta: { desk: 7 },
    });
    stage.server.say("/resolve", { status: "resolved", outcome: "yes", price: 12.5 });
    await stage.sweepAt(Date.now());
    expect(await status(text.id)).toBe("settled");
    expect(await status(open)).toBe("open");
    expect((await stage.audit("oracle.resolved"))[0]).toMatchObject({
      marketId: text.id,
      outcome: "yes",
      price: "12.5",
    });
    expect((await stage.scene.api().getOracleStatus({})).recentResolutions).toEqual([]);
  });

  test.each([
    ["another form", { status: "resolved", outcome: "maybe" }, 200],
    ["an outcome in capitals", { status: "resolved", outcome: "YES" }, 200],
    ["no JSON", "resolved: yes", 200],
    ["a time that no database holds", { status: "resolved", outcome: "yes", observedAt: "\u0000" }, 200],
    ["a price that no number holds", `{"status":"resolved","outcome":"yes","price":1e400,"strike":5}`, 200],
    ["30,000 brackets", `{"status":"resolved","outcome":"yes","x":${"[".repeat(30_000)}${"]".repeat(30_000)}}`, 200],
    ["10,000 objects in each other", `${'{"x":'.repeat(10_000)}1${"}".repeat(10_000)}`, 200],
    ["brackets that are never closed", "[".repeat(60_000), 200],
    ["bytes that are no UTF-8", Buffer.from('{"status":"resolved","outcome":"yes","x":"\xff"}', "latin1"), 200],
    ["a number of 60,000 digits", `{"status":"resolved","outcome":"yes","price":${"9".repeat(60_000)}}`, 200],
    ["an outcome said twice", `{"status":"resolved","outcome":"no","outcome":"yes"}`, 200],
    ["an outcome said twice, once escaped", String.raw`{"status":"resolved","\u006futcome":"no","outcome":"yes"}`, 200],
    ["a key said twice further down", `{"status":"resolved","outcome":"yes","x":[{"a":1,"b":{"a":2},"a":3}]}`, 200],
    [
      "a time more than five minutes ahead",
      { status: "resolved", outcome: "yes", observedAt: new Date(Date.now() + 360_000).toISOString() },
      200,
    ],
    ["an error status", { status: "resolved", outcome: "yes" }, 500],
    ["a redirect", "", 302],
    ["a flood", `{"status":"resolved","outcome":"yes","x":"${"x".repeat(70_000)}"}`, 200],
  ])("an answer with %s settles nothing, and is on record once", async (_, body, code) => {
    const { id } = await stage.closedMarket("the press");
    await setUrl(`${stage.server.url}/resolve`);
    stage.server.say("/resolve", body, code);
    for (let round = 0; round < 2; round++) await stage.sweepAt(Date.now());
    expect(await status(id)).toBe("closed");
    expect(await heldReasons(id)).toEqual(["resolution_url failed"]);
    await stage.scene.api().settleMarket({ marketId: id, outcome: "no" });
  });

  test("a hostile answer about one market holds that one, and the others of the sweep are settled", async () => {
    const markets = [];
    for (let index = 0; index < 5; index++) markets.push(await stage.closedMarket("the press"));
    const hostile = markets[2]?.id ?? "";
    await setUrl(`${stage.server.url}/resolve`);
    stage.server.say("/resolve", (asked: string) =>
      asked.includes(hostile) ? "[".repeat(30_000) + "]".repeat(30_000) : { status: "resolved", outcome: "yes" },
    );
    const report = await stage.sweepAt(Date.now());
    expect(report.held).toEqual([{ marketId: hostile, reason: "resolution_url failed" }]);
    expect(report.settled).toHaveLength(4);
    expect(await status(hostile)).toBe("closed");
    const [{ detail } = { detail: "" }] = await stage.scene.api().listHeldMarkets({ marketId: hostile });
    expect(detail).toBe("resolution_url gave an answer that is not JSON");
    await stage.scene.api().settleMarket({ marketId: hostile, outcome: "no" });
  });

  test("a market whose stored terms cannot be read stops no other", async () => {
    const broken = await stage.closedMarket("acme:s1 > 5");
    const sound = await stage.closedMarket("acme:s2 > 5");
    const sql = connect(stage.scene.database.connection, { name: "breaker", max: 1 });
    await sql`update market set terms = '{' where id = ${broken.id}`;
    await setUrl(`${stage.server.url}/resolve`);
    stage.server.say("/resolve", { status: "resolved", outcome: "yes" });
    const report = await stage.sweepAt(Date.now());
    expect(report.settled).toContain(sound.id);
    expect(report.failures).toHaveLength(1);
    await setUrl(null);
    await sql`update market set terms = null where id = ${broken.id}`;
    await sql.end({ timeout: 5 });
    await stage.scene.api().settleMarket({ marketId: broken.id, outcome: "no" });
  });

  test("set, it replaces the feeds; cleared, the feeds decide again, by the price of the close", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s0 > 5");
    stage.show("a", "s0", "6", closeAt - 1000);
    await stage.sweepAt(closeAt - 500).catch(() => {});
    await setUrl(null);
    await stage.sweepAt(closeAt - 500);
    await setUrl(`${stage.server.url}/resolve`);
    stage.server.say("/resolve", { status: "pending" });
    await stage.sweepAt(closeAt + 10_000);
    expect(await status(id)).toBe("closed");
    await setUrl("");
    await stage.sweepAt(closeAt + 10_000);
    expect(await status(id)).toBe("settled");
  });

  test("changed between the decision and the settlement, it settles nothing any more", async () => {
    const { id } = await stage.closedMarket("the press");
    await setUrl(null);
    const oracle = { resolutionUrl: "https://old.example", evidence: {} };
    const command = { type: "settleMarket", marketId: id, outcome: "yes", oracle } as const;
    await expect(stage.scene.processes[0]?.sequencer.submit({ command, actor: "oracle" })).rejects.toMatchObject({
      code: "REFUSED",
    });
    expect(await status(id)).toBe("closed");
  });

  test("a private address cannot be stated", async () => {
    await expect(setUrl("https://169.254.169.254/latest")).rejects.toThrow("is neither a public address");
  });

  test("a name that leads to a private address is never reached", async () => {
    const { id } = await stage.closedMarket("the press");
    await setUrl("https://localhost/latest");
    await stage.sweepAt(Date.now());
    expect(await heldReasons(id)).toEqual(["resolution_url failed"]);
    expect(await stage.scene.api().listHeldMarkets({ marketId: id })).toHaveLength(1);
    await setUrl(null);
    expect(await stage.scene.api().listHeldMarkets({ marketId: id })).toEqual([]);
  });
});
