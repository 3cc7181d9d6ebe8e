import { afterAll, beforeAll, expect, test } from "vitest";
import { feedCatalogue } from "../../src/domain/feeds/feed.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { listWatchedMarkets } from "../../src/queries/oracle.ts";
import { openMarkets } from "./open-markets.ts";
import { openStage, type Stage } from "./stage.ts";

const MARKETS = 10_000;

let stage: Stage;
let owner: Sql;
beforeAll(async () => {
  stage = await openStage(1);
  owner = connect(stage.scene.database.connection, { name: "owner", max: 1 });
  await openMarkets(owner, MARKETS, [...feedCatalogue().keys()]);
});
afterAll(async () => {
  await owner.end({ timeout: 5 });
  await stage.close();
});

test("a sweep over 10,000 open markets with nothing due asks no source and reads no market", async () => {
  const now = Date.now();
  expect(await stage.sweepAt(now)).toMatchObject({ watched: 0, asked: 0, settled: [], held: [] });
  expect(stage.server.heard).toEqual([]);
  expect(await stage.scene.api().getOracleStatus({})).toMatchObject({ eligibleMarkets: MARKETS });
  expect(await listWatchedMarkets(owner, { until: now, after: undefined, limit: 10 })).toEqual([]);
  const plan = await owner`
    explain (analyze, format json, costs off, timing off, summary off)
    select w.market_id from oracle_watch w
     where w.parsed and not w.settled and w.instant_at <= ${String(now)}::bigint
     order by w.instant_at, w.market_id limit 1000`;
  const text = JSON.stringify(plan);
  expect(text).toContain("oracle_watch_due");
  expect(text).not.toContain("Seq Scan");
});
