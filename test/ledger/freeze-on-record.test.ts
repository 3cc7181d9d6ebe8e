import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sealCheck } from "../../src/domain/audit/seal.ts";
import { readFreeze } from "../../src/ledger/standing.ts";
import { configOf } from "../engine/world.ts";
import { config, KEY, type Live, openLive } from "./sequencer/live.ts";

const HOUR = 3_600_000;
const isSealed = sealCheck([KEY]);
let live: Live;
const apply = (document: string, process: number) =>
  live.run({ ...configOf({ document }), policy: {}, capitalMicro: 0n }, process);
const freeze = (until: number, process: number) => live.run({ type: "freezeConfig", until }, process);
const frozen = () => readFreeze(live.owner, isSealed);

beforeAll(async () => {
  live = await openLive({ processes: 2 });
  await live.run(config());
});
afterAll(() => live?.close());

describe("a freeze of one process", () => {
  test("meets the apply of another one in its commit, also where that one has just applied", async () => {
    await apply('{"a":1}', 0);
    await freeze(Date.now() + HOUR, 1);
    await expect(apply('{"a":2}', 0)).rejects.toMatchObject({ code: "FROZEN" });
    await live.run({ type: "unfreezeConfig" }, 0);
    await expect(apply('{"a":3}', 1)).resolves.toMatchObject({ result: { changed: true } });
  });

  test("ends by the database's clock, without an entry", async () => {
    const until = Date.now() + 300;
    await freeze(until, 0);
    await expect(apply('{"b":1}', 1)).rejects.toMatchObject({ code: "FROZEN" });
    await live.owner`select pg_sleep_until(to_timestamp(${until / 1000}::float8))`;
    expect(await frozen()).toBe(null);
    await expect(apply('{"b":2}', 1)).resolves.toMatchObject({ result: { changed: true } });
  });

  test("whose entry was tampered with stands, and an entry beyond the head is none", async () => {
    const until = Date.now() + HOUR;
    await freeze(until, 0);
    expect(await frozen()).toMatchObject({ until, by: "test" });
    await live.owner`
      update audit set payload = ${JSON.stringify({ until: "2020-01-01T00:00:00.000Z" })}
       where seq = (select seq from head)`;
    expect((await frozen())?.until).toBeGreaterThan(until);
    await live.owner`update head set epoch = epoch + 1`;
    await expect(apply('{"c":1}', 0)).rejects.toMatchObject({ code: "FROZEN" });
    await live.owner`
      insert into audit (seq, type, actor, payload, ts, key_id, hash)
      select seq + 7, 'config.unfrozen', actor, payload, ts, key_id, hash || '0' from audit where seq = (select seq from head)`;
    expect(await frozen()).not.toBe(null);
  });
});
