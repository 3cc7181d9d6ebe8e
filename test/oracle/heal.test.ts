import { afterAll, beforeAll, expect, test } from "vitest";
import { evaluatePromises } from "../../src/app/checks/oracle.ts";
import { type FeedDefinition, feedFingerprintText } from "../../src/domain/feeds/feed.ts";
import type { CandleList, HttpSource } from "../../src/domain/feeds/source.ts";
import type { OracleContext } from "../../src/oracle/context.ts";
import { sweep } from "../../src/oracle/worker.ts";
import { listPromises } from "../../src/queries/oracle.ts";
import { openStage, type Stage } from "./stage.ts";

const SEC = 1000;

let stage: Stage;
let context: OracleContext;
beforeAll(async () => {
  stage = await openStage();
  context = stage.contexts[0] as OracleContext;
});
afterAll(() => stage.close());

const fate = async (id: string) => (await stage.scene.api().getMarket({ id })).status;
const holdOf = async (id: string) => (await stage.scene.api().listHeldMarkets({ marketId: id }))[0];

test("an outage of both sources of a quorum is healed by their candles, with the price of the close", async () => {
  const { id, closeAt } = await stage.closedMarket("acme:trio1 > 800");
  const candles = (name: string): CandleList => ({
    url: `${stage.server.url}/candles/${name}/{id}/{from}`,
    // So short that any closing time is the end of one.
    spanMs: 1,
    ...{ unit: "s", list: "", start: "/0", price: { pointer: "/1" }, volume: "/2" },
  });
  const sources = new Map(context.sources);
  for (const name of ["b", "c"]) {
    sources.set(name, { ...(sources.get(name) as HttpSource), candles: candles(name) });
    stage.show(name, "trio1", "1", closeAt + 600 * SEC);
  }
  const later = (afterSec: number) => {
    stage.clock.now = closeAt + afterSec * SEC;
    return sweep({ ...context, sources });
  };
  await later(601);
  expect(await holdOf(id)).toMatchObject({ reason: "no quorum", detail: expect.stringContaining("0 of 2") });
  const from = (closeAt - 1) / SEC;
  stage.server.say(`/candles/b/trio1/${from}`, `[[${from}, 801.25, 3]]`);
  await later(631);
  expect(await holdOf(id)).toMatchObject({ reason: "no quorum" });
  expect(await fate(id)).toBe("closed");
  stage.server.say(`/candles/c/trio1/${from}`, `[[${from}, 801.5, 3]]`);
  await later(661);
  expect(await fate(id)).toBe("settled");
  expect((await stage.audit("oracle.resolved"))[0]).toMatchObject({ marketId: id, price: "801.375" });
});

test("a market whose feed is read elsewhere than at its creation is held, and told of before and after with a way out", async () => {
  const { id, closeAt } = await stage.closedMarket("acme:s0 > 800");
  stage.show("a", "s0", "900", closeAt - SEC);
  await stage.sweepAt(closeAt - SEC);
  const { oracle } = context.services;
  const other = { ...oracle, hashes: new Map([...oracle.hashes, ["acme:s0", "another"]]) };
  const [before] = evaluatePromises(oracle, await context.services.pool.read(listPromises), "acme");
  expect(before).toMatchObject({ check: "oracle", status: "ok" });
  const [after] = evaluatePromises(other, await context.services.pool.read(listPromises), "acme");
  expect(after).toMatchObject({
    check: "oracle acme:s0",
    status: "warn",
    commands: expect.arrayContaining([`pmctl market settle ${id} --outcome yes -t acme`]),
  });
  await sweep({ ...context, services: { ...context.services, oracle: other } });
  stage.clock.now = closeAt + 5 * SEC;
  await sweep({ ...context, services: { ...context.services, oracle: other } });
  expect(await holdOf(id)).toMatchObject({
    reason: "feed changed",
    detail: expect.stringContaining("Restore the feed, or settle the market manually"),
  });
  await stage.sweepAt(closeAt + 6 * SEC);
  expect(await fate(id)).toBe("settled");
});

test("what a feed promises changes with what the file says of its own sources, and not with anything else", () => {
  const feed = { key: "acme:x", sources: [{ use: "a", id: "X" }] } as unknown as FeedDefinition;
  const told = (of: string) => feedFingerprintText(feed, new Map([[of, { price: { pointer: "/bid" } }]]));
  expect(told("a")).not.toBe(feedFingerprintText(feed, new Map()));
  expect(told("b")).toBe(feedFingerprintText(feed, new Map()));
});
