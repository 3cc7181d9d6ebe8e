import { afterEach, beforeEach, expect, test } from "vitest";
import type { AnchorLine } from "../../../src/domain/audit/anchor.ts";
import { auditKey } from "../../../src/domain/audit/seal.ts";
import { readerOf } from "../../../src/postgres/pool.ts";
import { readLog } from "../../../src/queries/evidence.ts";
import { AnchorWriter } from "../../../src/services/anchors/anchor-writer.ts";
import { ChainCheck } from "../../../src/services/audit/chain-check.ts";
import { openTestTenant, type TestTenant } from "../../support/tenant.ts";

const KEY = auditKey("an audit secret of the tests, long enough");

let tenant: TestTenant;
let watch: ChainCheck;
let lines: AnchorLine[];
let writer: AnchorWriter;
beforeEach(async () => {
  tenant = await openTestTenant();
  for (let index = 0; index < 5; index++) await tenant.api().reconcile({});
  watch = new ChainCheck({ reader: readerOf(tenant.sql), keys: [KEY], sleep: async () => {} });
  lines = [];
  writer = new AnchorWriter({
    tenant: "acme",
    key: KEY,
    every: { entries: 1, minutes: 60 },
    newest: undefined,
    targets: [{ kind: "file", place: "kept", write: async (line) => void lines.push(line) }],
    maySign: (head) => watch.verifiedHead.verify(head),
    onFailure: () => {},
  });
});
afterEach(() => tenant.close());

const headNow = async () => {
  const { head } = await readerOf(tenant.sql).read((sql) => readLog(sql));
  if (!head) throw new Error("there is no head");
  return head;
};

/** A row that the audit key did not seal, with the head moved to it. */
async function forge(): Promise<() => Promise<void>> {
  const { sql } = tenant;
  const { seq, hash } = await headNow();
  const forged = "f".repeat(64);
  await sql`
    insert into audit (seq, type, actor, payload, ts, key_id, hash)
    select seq + 1, type, actor, payload, ts, key_id, ${forged} from audit where seq = ${String(seq)}`;
  await sql`update head set seq = ${String(seq + 1n)}, hash = ${forged}`;
  return async () => {
    await sql`delete from audit where hash = ${forged}`;
    await sql`update head set seq = ${String(seq)}, hash = ${hash}`;
  };
}

async function anchorNow(): Promise<void> {
  const head = await headNow();
  writer.consider({ ...head, ts: Date.parse(head.ts) }, true);
  await writer.idle();
}

test("a forged last row is never signed for, and the log is sound again once it is gone", async () => {
  const good = await headNow();
  const undo = await forge();
  await anchorNow();
  expect(lines).toEqual([]);
  expect(watch.verifiedHead.problem).toMatchObject({ kind: "broken", seq: good.seq + 1n });
  expect(watch.problem).toMatchObject({ kind: "broken", seq: good.seq + 1n });
  await undo();
  await anchorNow();
  expect(lines).toMatchObject([{ seq: Number(good.seq), hash: good.hash }]);
  expect(watch.problem).toBeUndefined();
  expect(await watch.round()).toBeUndefined();
});

test("a row that was forged after the last anchor is not signed for either, nor what was built on it", async () => {
  await anchorNow();
  expect(lines).toHaveLength(1);
  const undo = await forge();
  await anchorNow();
  const second = await tenant.anotherProcess();
  const seen: boolean[] = [];
  try {
    await second.sequencer.submit({
      command: {
        type: "recordDeposit",
        provider: "payments",
        traderId: "usr_1",
        amountMicro: 1_000_000n,
        reference: "late",
      },
      actor: "provider:payments",
    });
    const built = await headNow();
    seen.push(
      second.recordWatch.chain.verifiedHead.isAt(built),
      await second.recordWatch.chain.verifiedHead.holds(built),
    );
  } finally {
    await second.close();
  }
  await anchorNow();
  expect(seen).toEqual([false, false]);
  expect(lines).toHaveLength(1);
  await undo().catch(() => {});
});

test("entries that this process sealed itself are not verified again, and older entries of the log hold", async () => {
  const { verifiedHead } = tenant.services.recordWatch.chain;
  const before = await headNow();
  expect(await verifiedHead.verify(before)).toBe(true);
  await tenant.api().reconcile({});
  const after = await headNow();
  expect(verifiedHead.isAt(after)).toBe(true);
  expect(await verifiedHead.holds(before)).toBe(true);
  expect(await verifiedHead.holds({ ...before, hash: "0".repeat(64) })).toBe(false);
});

test("a row behind the head is found in every table that an entry's number is a key of", async () => {
  const { sql } = tenant;
  const tables = await sql<{ name: string }[]>`
    select c.relname as name
      from pg_index i
      join pg_class c on c.oid = i.indrelid and c.relnamespace = 'public'::regnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
     where i.indisprimary and a.attname = 'seq'
     order by 1`;
  expect(tables.map(({ name }) => name)).toEqual(["audit", "hedge", "trade", "transfer"]);
  const { seq } = await headNow();
  await sql`insert into hedge values (${String(seq + 3n)}, 'm', 'BTC', 'long', 1, 'ref')`;
  expect(await watch.status()).toMatchObject({ verified: false, problem: { kind: "beyond-head", seq: seq + 3n } });
  await sql`delete from hedge`;
  expect(await watch.status()).toMatchObject({ verified: true });
});
