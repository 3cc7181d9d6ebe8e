import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFinalValue } from "../../src/queries/markets/market-views.ts";
import { openStage, type Stage } from "./stage.ts";

const SEC = 1000;

let stage: Stage;
let strikes = 0;
beforeAll(async () => {
  stage = await openStage(2);
});
afterAll(() => stage.close());

/** The status of a market, with its outcome. */
async function fate(id: string): Promise<string> {
  const { status, outcome } = await stage.scene.api().getMarket({ id });
  return outcome === null ? status : `${status} ${outcome}`;
}

async function reasons(id: string): Promise<unknown[]> {
  return (await stage.audit("oracle.held"))
    .filter(({ marketId }) => marketId === id)
    .map(({ reason }) => reason)
    .reverse();
}

/** Samples a price shortly before the close, and one after it, so that the source is known to have nothing newer. */
async function closeAtPrice(symbol: string, price: string, closeAt: number) {
  stage.show("a", symbol, price, closeAt - 2 * SEC);
  await stage.sweepAt(closeAt - SEC);
  stage.show("a", symbol, "999999", closeAt + 5 * SEC);
}

describe("the sweep", () => {
  test("has no time before the first one", async () => {
    expect((await stage.scene.api().getOracleStatus({})).lastSweepAt).toBeNull();
  });

  test("settles a market by the price at its close, not by the price when it looks, with the evidence on record", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s0 > 800");
    await closeAtPrice("s0", "790.5", closeAt);
    const report = await stage.sweepAt(closeAt + 6 * SEC);
    expect(report).toMatchObject({ settled: [id], held: [], failures: [] });
    expect(await fate(id)).toBe("settled no");
    const [resolved] = await stage.audit("oracle.resolved");
    const iso = (ms: number) => new Date(ms).toISOString();
    expect(resolved).toMatchObject({
      marketId: id,
      outcome: "no",
      ref: "acme:s0",
      price: "790.5",
      strike: "800",
      terms: {
        comparator: ">",
        rule: { kind: "last" },
        instant: iso(closeAt),
        feedSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      sources: [{ source: "a", id: "s0", observations: [{ price: "790.5", observedAt: iso(closeAt - 2 * SEC) }] }],
    });
    const [settled] = await stage.audit("market.settled");
    expect(settled).toMatchObject({ marketId: id, outcome: "no" });
    expect(await findFinalValue(stage.scene.sql, id)).toBe("790.5");
    expect(await findFinalValue(stage.scene.sql, "mkt_other")).toBeUndefined();
    const status = await stage.scene.api().getOracleStatus({});
    expect(status.supportedFeeds).toBe(41 + 47);
    expect(status.lastSweepAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const [resolution] = status.recentResolutions;
    expect(await stage.scene.api().getAuditEntry({ seq: resolution?.sequence ?? 0 })).toMatchObject({
      type: "oracle.resolved",
      payload: { marketId: id },
    });
    expect(resolution).toEqual({
      sequence: expect.any(Number),
      ts: expect.any(String),
      marketId: id,
      ref: "acme:s0",
      price: 790.5,
      strike: 800,
      strikes: [800],
      outcome: 0,
      question: "Will it rain?",
    });
  });

  test.each([
    ["> 100000", "no"],
    [">= 100000", "yes"],
    ["< 100000", "no"],
    ["<= 100000.00", "yes"],
    ["above 100000", "no"],
    ["below 100000", "no"],
    ["between 100000..100001", "yes"],
    ["between 99999..100000", "yes"],
    ["between 100000.000001..100001", "no"],
    ["> 99999.999999999999999", "yes"],
  ])("a price exactly at the strike: 1e5 %s is %s", async (condition, outcome) => {
    const strikeFeed = `acme:s${20 + strikes++}`;
    const { id, closeAt } = await stage.closedMarket(`${strikeFeed} ${condition}`);
    await closeAtPrice(strikeFeed.slice(5), "1e5", closeAt);
    expect(await stage.sweepAt(closeAt + 6 * SEC)).toMatchObject({ settled: [id], held: [], failures: [] });
    expect(await fate(id)).toBe(`settled ${outcome}`);
  });

  test("between is told with both of its bounds", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s31 between 700..800");
    await closeAtPrice("s31", "750", closeAt);
    await stage.sweepAt(closeAt + 6 * SEC);
    const { recentResolutions } = await stage.scene.api().getOracleStatus({});
    expect(recentResolutions[0]).toMatchObject({ marketId: id, strike: 700, strikes: [700, 800], outcome: 1 });
  });

  test("a feed that answers 30,000 brackets, or bytes that are no text, holds its market and no other", async () => {
    for (const [symbol, body] of [
      ["s32", "[".repeat(30_000) + "]".repeat(30_000)],
      ["s33", Buffer.from([0x7b, 0xff, 0x7d])],
    ] as const) {
      const hostile = await stage.closedMarket(`acme:${symbol} > 800`);
      const sound = await stage.closedMarket("acme:s34 > 800");
      stage.server.say(`/a/${symbol}`, body);
      await closeAtPrice("s34", "900", sound.closeAt);
      const report = await stage.sweepAt(sound.closeAt + 6 * SEC);
      expect(report).toMatchObject({ settled: [sound.id], failures: [] });
      expect(report.held.map(({ marketId }) => marketId)).toEqual([hostile.id]);
      expect(await reasons(hostile.id)).toEqual(["feed down"]);
      await stage.scene.api().settleMarket({ marketId: hostile.id, outcome: "no" });
    }
  });

  test("negative oil is a price like any other", async () => {
    const { id, closeAt } = await stage.closedMarket("pm:wti < -37");
    await closeAtPrice("wti", "-37.63", closeAt);
    await stage.sweepAt(closeAt + 6 * SEC);
    expect(await fate(id)).toBe("settled yes");
  });

  test("a feed that is down at the close holds the market once; back later, the price recorded before the close decides", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s2 > 800");
    await closeAtPrice("s2", "801", closeAt);
    stage.server.fall("/a/s2");
    for (const sec of [4, 34, 64]) await stage.sweepAt(closeAt + sec * SEC);
    expect(await fate(id)).toBe("closed");
    expect(await reasons(id)).toEqual(["feed down"]);
    expect(await stage.scene.api().listHeldMarkets({ marketId: id })).toMatchObject([
      {
        marketId: id,
        reason: "feed down",
        resolutionRef: "acme:s2 > 800",
        detail: expect.stringContaining("no answer"),
      },
    ]);
    stage.show("a", "s2", "1", closeAt + 600 * SEC);
    await stage.sweepAt(closeAt + 601 * SEC);
    expect(await fate(id)).toBe("settled yes");
    expect(await stage.scene.api().listHeldMarkets({ marketId: id })).toEqual([]);
  });

  test("a feed that was down around the close and knows only later prices holds the market for a person", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s3 > 800");
    stage.server.fall("/a/s3");
    await stage.sweepAt(closeAt + 4 * SEC);
    stage.show("a", "s3", "900", closeAt + 60 * SEC);
    await stage.sweepAt(closeAt + 61 * SEC);
    await stage.sweepAt(closeAt + 91 * SEC);
    expect(await fate(id)).toBe("closed");
    expect(await reasons(id)).toEqual(["feed down", "stale"]);
    await stage.scene.api().settleMarket({ marketId: id, outcome: "yes" });
    expect(await stage.sweepAt(closeAt + 121 * SEC)).toMatchObject({ watched: 0 });
  });

  test("a source that remembers heals an outage with the price of then", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:memory <= 5");
    const sec = Math.floor(closeAt / SEC);
    stage.show("archive", "x", "9", closeAt + 600 * SEC);
    stage.server.say(`/archive/x/${sec - 1}`, `{"last": 5.0, "ts": ${closeAt - 400}}`);
    stage.server.say(`/archive/x/${sec}`, `{"last": 6, "ts": ${closeAt + 100}}`);
    await stage.sweepAt(closeAt + 601 * SEC);
    expect(await fate(id)).toBe("settled yes");
    expect((await stage.audit("oracle.resolved"))[0]).toMatchObject({ marketId: id, price: "5" });
  });

  test("a source that remembers is asked too where the last sample is good enough but not of the close", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:memory2 <= 5");
    stage.show("archive", "y", "5", closeAt - 50 * SEC);
    await stage.sweepAt(closeAt - 45 * SEC);
    stage.show("archive", "y", "1", closeAt + 600 * SEC);
    stage.server.say(`/archive/y/${Math.floor(closeAt / SEC)}`, `{"last": 6, "ts": ${closeAt}}`);
    await stage.sweepAt(closeAt + 601 * SEC);
    expect(await fate(id)).toBe("settled no");
  });

  test("a stale price served as fresh settles nothing", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s4 > 800");
    stage.show("a", "s4", "900", closeAt - 61 * SEC);
    await stage.sweepAt(closeAt - SEC);
    await stage.sweepAt(closeAt + 5 * SEC);
    expect(await fate(id)).toBe("closed");
    expect(await reasons(id)).toEqual(["stale"]);
  });

  test("milliseconds taken for the future, and prices that are no numbers, are no prices", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s5 > 800");
    for (const body of [
      `{"last": 900, "ts": ${closeAt}000}`,
      `{"last": "1,900.5", "ts": ${closeAt}}`,
      `{"last": "NaN", "ts": ${closeAt}}`,
      "<html>",
      `{"last": null, "ts": ${closeAt}}`,
    ]) {
      stage.server.say("/a/s5", body);
      await stage.sweepAt(closeAt + 5 * SEC);
    }
    stage.server.say("/a/s5", "", 302);
    await stage.sweepAt(closeAt + 5 * SEC);
    expect(await fate(id)).toBe("closed");
    expect(await reasons(id)).toEqual(["feed down"]);
  });

  test("a decimal slip in one of three sources holds the market", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:trio1 > 100");
    for (const [source, price] of [
      ["a", "101"],
      ["b", "101.1"],
      ["c", "10100"],
    ] as const)
      stage.show(source, "trio1", price, closeAt - SEC);
    await stage.sweepAt(closeAt + 5 * SEC);
    expect(await reasons(id)).toEqual(["spread"]);
    expect(await fate(id)).toBe("closed");
  });

  test("two of three sources are a quorum, and their middle decides; one alone is none", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:trio2 > 101.05");
    stage.show("a", "trio2", "101", closeAt - SEC);
    await stage.sweepAt(closeAt + 5 * SEC);
    expect(await reasons(id)).toEqual(["no quorum"]);
    stage.show("c", "trio2", "101.2", closeAt - SEC);
    await stage.sweepAt(closeAt + 35 * SEC);
    expect(await fate(id)).toBe("settled yes");
    expect((await stage.audit("oracle.resolved"))[0]).toMatchObject({
      price: "101.1",
      sources: [{ source: "a" }, { source: "c" }],
    });
  });

  test("sources that echo one upstream are one source", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:echo > 1");
    for (const source of ["a", "mirror"]) stage.show(source, "echo", "2", closeAt - SEC);
    await stage.sweepAt(closeAt + 5 * SEC);
    expect(await reasons(id)).toEqual(["no quorum"]);
  });

  test("a price outside the bounds, or one that jumped, holds the market", async () => {
    const slipped = await stage.closedMarket("pm:btc > 5");
    await closeAtPrice("btc", "10", slipped.closeAt);
    await stage.sweepAt(slipped.closeAt + 6 * SEC);
    expect(await reasons(slipped.id)).toEqual(["out of bounds"]);
    const jumped = await stage.closedMarket("acme:zinc > 5");
    stage.show("a", "zinc", "100", jumped.closeAt - 20 * SEC);
    await stage.sweepAt(jumped.closeAt - 19 * SEC);
    await closeAtPrice("zinc", "111", jumped.closeAt);
    await stage.sweepAt(jumped.closeAt + 6 * SEC);
    expect(await reasons(jumped.id)).toEqual(["jump"]);
  });

  test("a suspended market is left alone, also when it is suspended between the decision and the settlement", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s6 > 800", {}, "suspended");
    await closeAtPrice("s6", "900", closeAt);
    expect(await stage.sweepAt(closeAt + 10 * SEC)).toMatchObject({ settled: [] });
    const evidence = { resolutionUrl: null, evidence: {} };
    const command = { type: "settleMarket", marketId: id, outcome: "yes", oracle: evidence } as const;
    await expect(stage.scene.processes[0]?.sequencer.submit({ command, actor: "oracle" })).rejects.toMatchObject({
      code: "MARKET_SUSPENDED",
    });
    expect(await reasons(id)).toEqual([]);
    await stage.scene.api().settleMarket({ marketId: id, outcome: "no" });
    expect(await fate(id)).toBe("settled no");
  });

  test("a manual settlement that races the sweeps of two processes wins or loses, and pays once", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s7 > 800");
    await closeAtPrice("s7", "900", closeAt);
    stage.clock.now = closeAt + 10 * SEC;
    const manual = stage.scene
      .api()
      .settleMarket({ marketId: id, outcome: "no" })
      .then(
        () => "no",
        () => "refused",
      );
    const [won, ...reports] = await Promise.all([
      manual,
      ...[0, 1, 0, 1].map((process) => stage.sweepAt(closeAt + 10 * SEC, process)),
    ]);
    const machines = reports.flatMap(({ settled }) => settled);
    expect(machines.length + (won === "no" ? 1 : 0)).toBe(1);
    expect(await fate(id)).toBe(won === "no" ? "settled no" : "settled yes");
    expect((await stage.audit("market.settled")).filter(({ marketId }) => marketId === id)).toHaveLength(1);
    expect(await stage.scene.api().reconcile({})).toMatchObject({ ok: true, discrepancy: 0 });
    expect(await stage.scene.api().getAuditStatus({})).toMatchObject({ verified: true });
  });

  test("a restart between decision and settlement comes to the same end, from what is on record and without asking again", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:s8 > 800");
    await closeAtPrice("s8", "900", closeAt);
    const [a, b] = stage.contexts;
    if (!a || !b) throw new Error("two processes");
    stage.clock.now = closeAt + 10 * SEC;
    const gone = new Error("the process ended here");
    const { sweep } = await import("../../src/oracle/worker.ts");
    const sequencer = { submit: () => Promise.reject(gone) } as never;
    const report = await sweep({ ...a, services: { ...a.services, sequencer } });
    expect(report.failures).toEqual([gone]);
    expect(await fate(id)).toBe("closed");
    stage.show("a", "s8", "1", closeAt - SEC);
    const asked = () => stage.server.heard.filter(({ path }) => path === "/a/s8").length;
    const before = asked();
    await stage.sweepAt(closeAt + 40 * SEC, 1);
    expect(asked()).toBe(before);
    expect(await fate(id)).toBe("settled yes");
  });

  test("a price that the tenant pushed decides, and only for a source that is there for it", async () => {
    const { id, closeAt } = await stage.closedMarket("acme:desk >= 7.25");
    const push = stage.scene.processes[0]?.handlers.receivePrice;
    const event = { tenantId: "acme", source: "desk", id: "index", price: "7.250", observedAt: closeAt - SEC };
    await expect(push?.({ ...event, source: "a" }, { actor: "oracle" })).rejects.toMatchObject({ code: "BAD_REQUEST" });
    expect(await push?.(event, { actor: "oracle" })).toEqual({ received: true });
    await stage.sweepAt(closeAt + 5 * SEC);
    expect(await reasons(id)).toEqual(["feed down"]);
    await stage.databasePasses(closeAt + 2 * SEC);
    expect(await push?.({ ...event, price: 99, observedAt: closeAt + SEC }, { actor: "oracle" })).toEqual({
      received: true,
    });
    await stage.sweepAt(closeAt + 6 * SEC);
    expect(await fate(id)).toBe("settled yes");
  });
});
