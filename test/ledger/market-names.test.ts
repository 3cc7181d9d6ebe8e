import { afterAll, beforeAll, expect, test } from "vitest";
import { findMarket } from "../../src/queries/markets.ts";
import { configOf } from "../engine/world.ts";
import { config, type Live, market, openLive } from "./sequencer/live.ts";

let live: Live;
const names = (key: string, from?: string) =>
  live.run({
    ...configOf({ document: JSON.stringify([key]) }),
    policy: {},
    capitalMicro: 0n,
    names: [{ marketId: "m1", key, from }],
  });
const keyNow = async () => (await findMarket(live.owner, "m1"))?.key;

beforeAll(async () => {
  live = await openLive();
  await live.run(config());
  await live.run(market("m1"));
});
afterAll(() => live?.close());

test("a market's key is the last one that an entry up to the head gave it", async () => {
  expect(await keyNow()).toBe(null);
  await names("rain");
  expect(await keyNow()).toBe("rain");
  await names("storm", "rain");
  expect(await keyNow()).toBe("storm");
  await live.owner`
    insert into audit (seq, type, actor, payload, ts, key_id, hash)
    select seq + 5, type, actor, replace(payload, 'storm', 'forged'), ts, key_id, hash || '0'
      from audit where type = 'market.moved'`;
  expect(await keyNow()).toBe("storm");
});

test("keys are looked up by their indexes", async () => {
  await live.owner`set enable_seqscan = off`;
  const plan = await live.owner`
    explain select 1 from audit
     where type in ('market.imported', 'market.moved') and audit_json(payload) ->> 'key' = 'rain'`;
  expect(JSON.stringify(plan)).toContain("audit_of_market_key");
});
