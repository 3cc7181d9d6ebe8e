import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { auditKey } from "../../../src/domain/audit/seal.ts";
import { confirmLog } from "../../../src/ledger/confirm-log.ts";
import type { Sql } from "../../../src/postgres/connect.ts";
import { type Reader, readerOf } from "../../../src/postgres/pool.ts";
import { Evidence } from "../../../src/services/anchors/evidence.ts";
import { ChainCheck, ChainMemory } from "../../../src/services/audit/chain-check.ts";
import { RecordWatch } from "../../../src/services/audit/record-watch.ts";
import { invoke } from "../../../src/services/invoke.ts";
import { openTenant } from "../../../src/services/tenant/tenant.ts";
import { openTestTenant, type TestTenant } from "../../support/tenant.ts";

const SECRET = "an audit secret of the tests, long enough";
const KEYS = [auditKey(SECRET)];
/** Chains longer than this count as long. */
const LIMIT = 10n;

let tenant: TestTenant;
let sql: Sql;
let reader: Reader;

beforeAll(async () => {
  tenant = await openTestTenant();
  sql = tenant.sql;
  reader = readerOf(sql);
  for (let index = 0; index < 20; index++) await tenant.api().reconcile({});
});
afterAll(() => tenant.close());

async function tampered(seq: number, work: () => Promise<void>): Promise<void> {
  const [before] = await sql`select actor from audit where seq = ${seq}`;
  await sql`update audit set actor = 'cli:mallory' where seq = ${seq}`;
  try {
    await work();
  } finally {
    await sql`update audit set actor = ${before?.actor} where seq = ${seq}`;
  }
}

describe("a chain within the limit", () => {
  test("is verified whole for each caller, however often the background has walked it", async () => {
    const watch = new ChainCheck({ reader, keys: KEYS, wholeUpTo: 1000n, sleep: async () => {} });
    expect(await watch.round()).toBeUndefined();
    expect(await watch.status()).toMatchObject({ verified: true });
    await tampered(3, async () => expect(await watch.status()).toMatchObject({ verified: false }));
    expect(await watch.status()).toMatchObject({ verified: true });
  });
});

test("an entry that the database has not confirmed is neither remembered nor signed for", async () => {
  const evidence = new Evidence({ reader, keys: KEYS });
  let isConfirmed = false;
  const confirm = async () => {
    if (!isConfirmed) throw new Error("no standby has it");
  };
  const watch = new ChainCheck({ reader, keys: KEYS, evidence, confirm, sleep: async () => {} });
  const { head } = (await watch.look()).log;
  if (!head) throw new Error("the log has a head");
  await watch.round();
  expect(evidence.acknowledged).toBeUndefined();
  expect(await watch.maySign(head)).toBe(false);
  isConfirmed = true;
  await watch.round();
  expect(evidence.acknowledged).toMatchObject({ seq: head.seq, hash: head.hash });
  expect(await watch.maySign(head)).toBe(true);
});

test("an entry that the next primary lacks is neither remembered nor signed for, although that primary confirms", async () => {
  const evidence = new Evidence({ reader, keys: KEYS });
  const [lost] = await sql`select * from audit order by seq desc limit 1`;
  const watch = new ChainCheck({
    ...{ reader, keys: KEYS, evidence, sleep: async () => {} },
    // Between the read and its confirmation the standby was promoted.
    confirm: async (entry) => {
      await sql`delete from audit where seq = ${lost?.seq}`;
      await confirmLog({ write: async (statement) => statement(sql) }, entry);
    },
  });
  const { head } = (await watch.look()).log;
  if (!head) throw new Error("the log has a head");
  try {
    expect(await watch.maySign(head)).toBe(false);
    await sql`insert into audit ${sql(lost as never)}`;
    await watch.round();
    expect(evidence.acknowledged).toBeUndefined();
  } finally {
    await sql`insert into audit ${sql(lost as never)} on conflict do nothing`;
  }
});

describe("a chain beyond the limit", () => {
  let watch: ChainCheck;
  beforeEach(() => {
    watch = new ChainCheck({ reader, keys: KEYS, wholeUpTo: LIMIT, sleep: async () => {} });
  });

  test("is verified whole while no background walk has ended", async () => {
    await tampered(3, async () => expect(await watch.status()).toMatchObject({ verified: false }));
  });

  test("is walked once for all who ask before a walk has ended, and their answers count the entries since", async () => {
    let seals = 0;
    const [key] = KEYS;
    if (!key) throw new Error("there is a key");
    const hmac = (text: string) => {
      seals += 1;
      return key.hmac(text);
    };
    const counted = { ...key, hmac };
    const shared = new ChainCheck({ reader, keys: [counted], wholeUpTo: LIMIT, sleep: async () => {} });
    const answers = await Promise.all(Array.from({ length: 5 }, () => shared.status()));
    const { count } = await watch.status();
    expect(answers.map((each) => [each.verified, each.count])).toEqual(answers.map(() => [true, count]));
    expect(seals).toBe(Number(count));
  });

  test("rests on the last full walk and says when that was; the tail is verified for each caller", async () => {
    await watch.round();
    const { verifiedAt, count } = await watch.status();
    await tenant.api().reconcile({});
    const later = await watch.status();
    expect(later).toMatchObject({ verified: true, verifiedAt, count: count + 1n });
    await tampered(Number(later.count), async () => expect(await watch.status()).toMatchObject({ verified: false }));
    // What was walked before the damage is for the next full walk to find.
    await tampered(3, async () => expect(await watch.status()).toMatchObject({ verified: true, verifiedAt }));
  });

  test("a break that a walk has found stays until a full walk finds the chain whole", async () => {
    await tampered(3, async () => {
      expect(await watch.round()).toMatchObject({ seq: 3n });
      expect(await watch.status()).toMatchObject({ verified: false });
    });
    expect(await watch.status()).toMatchObject({ verified: false });
    const fresh = new ChainCheck({ reader, keys: KEYS, wholeUpTo: LIMIT, sleep: async () => {} });
    expect(await fresh.round()).toBeUndefined();
    expect(await fresh.status()).toMatchObject({ verified: true });
  });

  test("new entries are followed from where the last walk ended, without beginning again", async () => {
    await watch.round();
    await tenant.api().reconcile({});
    const { count } = await watch.status();
    await tampered(Number(count), async () => expect(await watch.round()).toMatchObject({ seq: count }));
    expect(await watch.status()).toMatchObject({ verified: false });
  });

  test("is not walked again by the next watch of a process before that is due, unless the keys have changed", async () => {
    const options = { reader, keys: KEYS, memory: new ChainMemory(), wholeUpTo: LIMIT, sleep: async () => {} };
    await new ChainCheck(options).round();
    await tampered(3, async () => {
      expect(await new ChainCheck(options).status()).toMatchObject({ verified: true });
      const keys = [...KEYS, auditKey("another audit secret of the tests, long enough")];
      expect(await new ChainCheck({ ...options, keys }).status()).toMatchObject({ verified: false });
    });
    expect(await new ChainCheck(options).round()).toBeUndefined();
  });

  test("a log set back to an earlier state is not taken for a shorter one", async () => {
    await watch.round();
    const [last] = await sql`delete from audit where seq = (select max(seq) from audit) returning *`;
    const [head] = await sql`select * from head`;
    await sql`update head set (seq, hash) = (select seq, hash from audit order by seq desc limit 1)`;
    expect(await watch.status()).toMatchObject({ verified: false });
    await sql`insert into audit ${sql(last as never)}`;
    await sql`update head set seq = ${head?.seq}, hash = ${head?.hash}`;
    expect(await watch.status()).toMatchObject({ verified: true });
  });

  test("the walk rests after each page for longer than it worked, and stops when told to", async () => {
    const rests: number[] = [];
    const abort = new AbortController();
    const paced = new ChainCheck({
      reader,
      keys: KEYS,
      wholeUpTo: LIMIT,
      sleep: async (ms) => {
        rests.push(ms);
        abort.abort();
      },
    });
    await expect(paced.round(abort.signal)).rejects.toThrow();
    expect(rests).toHaveLength(1);
    expect(rests[0]).toBeGreaterThan(0);
  });

  test("a break is reported once, and the watch ends with its tenant", async () => {
    const told: bigint[] = [];
    const rounds = Promise.withResolvers<void>();
    let sleeps = 0;
    const { checks, pool } = tenant.services;
    const looking = new RecordWatch({
      chain: { reader, keys: KEYS, wholeUpTo: LIMIT },
      ledger: { checks, pool, keys: KEYS },
      sleep: async (_, signal) => {
        sleeps += 1;
        if (sleeps > 8) rounds.resolve();
        if (sleeps > 6 && !signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    await tampered(5, async () => {
      looking.start({ onBroken: ({ seq }) => told.push(seq), onDifference: () => {}, onError: () => {} });
      await rounds.promise;
    });
    await looking.stop();
    expect(told).toEqual([5n]);
  });
});

test("the operation says when the background last walked a chain beyond the tenant's limit", async () => {
  const served = await openTenant({
    tenantId: "acme",
    connection: tenant.database.server,
    auditSecret: SECRET,
    wholeAuditUpTo: LIMIT,
    connections: 8,
  });
  try {
    await served.recordWatch.chain.round();
    const asked = () => invoke(served.handlers, "getAuditStatus", {}, { actor: "admin:ops" });
    const { verifiedAt, wire } = await asked();
    await tenant.api().reconcile({});
    expect(await asked()).toMatchObject({
      verifiedAt,
      wire: { value: { verified: true, count: wire.value.count + 1 } },
    });
  } finally {
    await served.close();
  }
});

test("entries of an earlier key verify with the new one; without the earlier key the verdict names it", async () => {
  const [earlier, later] = [auditKey(SECRET), auditKey("the next audit secret of the tests")];
  const next = await openTenant({
    tenantId: "acme",
    connection: tenant.database.server,
    auditSecret: "the next audit secret of the tests",
    previousAuditSecrets: [SECRET],
    connections: 8,
  });
  try {
    const { seal } = await invoke(next.handlers, "reconcile", {}, { actor: "admin:ops" });
    expect(seal?.keyId).toBe(later.id);
    expect(await next.recordWatch.chain.status()).toMatchObject({ verified: true, head: seal?.hash });
    const without = new ChainCheck({ reader, keys: [later] });
    expect(await without.status()).toMatchObject({ verified: false });
    expect(await without.round()).toMatchObject({ seq: 1n, problem: expect.stringContaining(earlier.id) });
  } finally {
    await next.close();
  }
});
