import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditKey, sealCheck } from "../../src/domain/audit/seal.ts";
import { isInForce } from "../../src/engine/access/keys.ts";
import type { Command } from "../../src/engine/commands.ts";
import type { Trader } from "../../src/engine/rows.ts";
import { loadRows } from "../../src/ledger/load.ts";
import { listApiKeys } from "../../src/ledger/standing.ts";
import type { Sql } from "../../src/postgres/connect.ts";
import { reconcileLedger, reconcileStanding } from "../../src/queries/reconcile/reconcile.ts";
import { foundIn } from "./ledger.ts";
import { config, DOLLAR, KEY, type Live, openLive } from "./sequencer/live.ts";
import { Random } from "./sequencer/random.ts";

const isSealed = sealCheck([KEY]);
const HOUR = 3_600_000;
const hashOf = (digit: string) => digit.repeat(64);
const createKey = (name: string, digit: string, expiresAt: number | null = null): Command => ({
  type: "createKey",
  name,
  keyType: "public",
  hash: hashOf(digit),
  expiresAt,
});
const kyc = (traderId: string, status: string, verifiedAt: number, jurisdiction?: string): Command => ({
  type: "recordKyc",
  traderId,
  status,
  provider: "idv",
  verifiedAt,
  jurisdiction,
});

/** A user whose identifier needs every care that JSON and SQL ask for. */
const ODD = `o"dd\\ 'é�{"userId":"ann"}`;

let live: Live;
beforeAll(async () => {
  live = await openLive();
  await live.run(config({ suitabilityRequired: true }));
  const later = Date.now() + HOUR;
  await live.run(createKey("web", "b"));
  await live.run(createKey("app", "c", later));
  await live.run({ type: "rotateKey", name: "web", hash: hashOf("d"), overlapMs: HOUR });
  await live.run({ type: "rotateKey", name: "web", hash: hashOf("e"), overlapMs: 0 });
  await live.run(createKey("gone", "f"));
  await live.run({ type: "revokeKey", name: "gone" });
  for (const id of ["ann", ODD]) {
    await live.run(kyc(id, "passed", Date.parse("2026-01-01T00:00:00.123Z"), "DE"));
    await live.run({ type: "submitSuitability", id: `s1 ${id}`, traderId: id, answers: { a: 4, b: 3 } });
  }
  await live.run(kyc("ann", "passed", Date.parse("2026-02-01T00:00:00.000Z")));
  await live.run({ type: "submitSuitability", id: "s2", traderId: "ann", answers: { userId: 2 } });
  await live.run(kyc("bob", "failed", 1000, "US-NY"));
  await live.run({ type: "restrictUser", traderId: "ann", restricted: true });
  await live.run({ type: "restrictUser", traderId: "bob", restricted: true });
  await live.run({ type: "restrictUser", traderId: "bob", restricted: false });
  await live.run({ type: "updatePolicy", patch: { feeBps: 120 } });
  await live.run({ type: "updatePolicy", patch: { maxTradeUsd: 50 }, ttlMs: HOUR });
  await live.run({ type: "updatePolicy", patch: { resolution_url: "https://o.example/x" } });
});
afterAll(() => live.close());

const found = (tamper: (sql: Sql) => PromiseLike<unknown>) => foundIn(live, tamper);

async function within<T>(tamper: (sql: Sql) => PromiseLike<unknown>, look: (sql: Sql) => Promise<T>): Promise<T> {
  const undone = new Error("undone");
  let seen: T | undefined;
  const attempt = live.owner.begin(async (transaction) => {
    await tamper(transaction as unknown as Sql);
    seen = await look(transaction as unknown as Sql);
    throw undone;
  });
  await expect(attempt).rejects.toBe(undone);
  return seen as T;
}

const traderAfter = (id: string, tamper: (sql: Sql) => PromiseLike<unknown>) =>
  within(tamper, async (sql) => (await loadRows(sql, [{ table: "trader", key: id }], isSealed))[0]?.row);
const keysAfter = (tamper: (sql: Sql) => PromiseLike<unknown>) => within(tamper, (sql) => listApiKeys(sql, isSealed));

test("every change made through the services has its audit entry", async () => {
  const checks = await reconcileLedger(live.owner, [KEY]);
  expect(checks.filter(({ differenceMicro }) => differenceMicro !== 0n)).toEqual([]);
  expect((await listApiKeys(live.owner, isSealed)).every(({ onRecord }) => onRecord)).toBe(true);
});

describe("reconciliation finds and names what was written to a table without an audit entry", () => {
  test.each<[string, string, Record<string, bigint>]>([
    ["a key", `insert into api_key values ('${hashOf("9")}', 'thief', 'admin', 0, null, 1, '*', '')`, { keys: DOLLAR }],
    ["a key's type", "update api_key set type = 'admin' where name = 'app'", { keys: DOLLAR }],
    ["a key's end", "update api_key set expires_at = expires_at + 1 where name = 'app'", { keys: DOLLAR }],
    ["a key that was revoked", "update api_key set expires_at = null where name = 'gone'", { keys: DOLLAR }],
    ["a key that is gone", "delete from api_key where name = 'app'", { keys: DOLLAR }],
    [
      "a verified user",
      "insert into trader values ('eve','verified',false,null,1,null,null,1,1)",
      { kyc: DOLLAR, users: DOLLAR },
    ],
    ["an identity state", "update trader set kyc = 'verified' where id = 'bob'", { kyc: DOLLAR }],
    ["a jurisdiction", "update trader set jurisdiction = 'FR' where id = 'ann'", { kyc: DOLLAR }],
    ["the time of a check", "update trader set kyc_at = 9223372036854775807 where id = 'bob'", { kyc: DOLLAR }],
    ["a restriction's end", "update trader set restricted = false where id = 'ann'", { restrictions: DOLLAR }],
    ["a score", "update trader set suitability_score = 20 where id = 'ann'", { suitability: DOLLAR }],
    ["the time of an assessment", "update trader set suitability_at = 5 where id = 'ann'", { suitability: DOLLAR }],
    [
      "a user that is gone",
      "delete from trader where id = 'ann'",
      { kyc: DOLLAR, restrictions: DOLLAR, suitability: DOLLAR, users: DOLLAR },
    ],
    ["a limit", "update tenant set policy = jsonb_set(policy::jsonb, '{feeBps}', '0')::text", { policy: DOLLAR }],
    ["an override", "update tenant set overrides = '[]'", { policy: DOLLAR }],
    ["whether identity checks are required", "update tenant set kyc_required = true", { configuration: DOLLAR }],
    ["the document", "update tenant set document = document || ' '", { configuration: DOLLAR }],
    ["markets' liquidity", "update tenant set liquidity_micro = 1", { configuration: DOLLAR }],
  ])("%s", async (_, statement, expected) => {
    expect(await found((sql) => sql.unsafe(statement))).toEqual(expected);
  });

  test("a policy that is no JSON is a difference in every field, and no error", async () => {
    const { policy = 0n, ...rest } = await found((sql) => sql`update tenant set policy = 'gone'`);
    expect(rest).toEqual({ configuration: 4n * DOLLAR });
    expect(policy).toBeGreaterThanOrEqual(7n * DOLLAR);
  });

  test("an unreadable entry is a difference, and no error", async () => {
    for (const text of ["gone", "", "{", "null", "[1]", '"x"', '{"keys":[1]}', '{"keys":{"a":1}}', '{"userId":{}}'])
      for (const type of ["key.created", "kyc.updated", "policy.updated"]) {
        const tamper = (sql: Sql) => sql`update audit set payload = ${text} where type = ${type}`;
        expect(await found(tamper), `${type} ${text}`).toEqual({ record: DOLLAR });
        await within(tamper, (sql) => reconcileStanding(sql));
      }
  });

  test("entries beyond the head count for nothing", async () => {
    const forge = (sql: Sql) => sql`
      insert into audit (seq, type, actor, payload, ts, key_id, hash)
      select max(seq) + 1, 'kyc.updated', 'provider:idv',
             '{"provider":"idv","status":"passed","userId":"bob","verifiedAt":"2026-01-01T00:00:00.000Z"}',
             max(ts), 'k', 'h' from audit`;
    expect(await traderAfter("bob", forge)).toMatchObject({ kyc: "rejected" });
    expect(await found(forge)).toEqual({ head: DOLLAR, record: DOLLAR });
  });

  test("a difference shows in words what the table holds and what the log says", async () => {
    const tamper = (sql: Sql) =>
      sql.unsafe(`update api_key set type = 'admin' where name = 'app';
                  insert into api_key values ('${hashOf("9")}', 'thief', 'admin', 0, null, 1, '*', '');
                  update trader set kyc = 'verified', restricted = true where id = 'bob';
                  update tenant set kyc_required = true;
                  update tenant set policy = jsonb_set(policy::jsonb, '{feeBps}', '0')::text`);
    const checks = await within(tamper, (sql) => reconcileLedger(sql, [KEY]));
    const places = checks.flatMap(({ name, places }) =>
      places.map(({ place, held, said }) => [name, place, held?.slice(0, 16), said?.slice(0, 16)]),
    );
    expect(places).toEqual([
      ["configuration", "kyc.required", "true", "false"],
      ["keys", "app", "type admin", "type public"],
      ["keys", "thief", "name thief, type", undefined],
      ["kyc", "bob", "kyc verified", "kyc rejected"],
      ["policy", "policy.feeBps", "0", "120"],
      ["restrictions", "bob", "restricted true", "restricted false"],
    ]);
  });
});

describe("what no entry says counts for nothing", () => {
  test("a key that was put into the table is not on record, whatever else it copies", async () => {
    const keys = await keysAfter((sql) =>
      sql.unsafe(`insert into api_key select '${hashOf("9")}', name, 'admin', created_at, null, version, scopes, networks from api_key
                   where name = 'app'`),
    );
    expect(keys.filter(({ onRecord }) => !onRecord).map(({ hash }) => hash)).toEqual([hashOf("9")]);
  });

  test("a key's name, type and end are those in the log, whatever its row says", async () => {
    const [before, after] = [
      await listApiKeys(live.owner, isSealed),
      await keysAfter((sql) => sql`update api_key set type = 'admin', name = 'x', expires_at = null, created_at = 0`),
    ];
    const sorted = (keys: typeof before) => keys.toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
    expect(sorted(after)).toEqual(sorted(before));
  });

  test("a key whose row was deleted stays as the log has it, in force or not, and an end forged in the table ends no key", async () => {
    const sorted = (keys: Awaited<ReturnType<typeof keysAfter>>) => keys.map((key) => ({ ...key, version: 0 }));
    const all = await listApiKeys(live.owner, isSealed);
    const inForce = await listApiKeys(live.owner, isSealed, { inForce: true });
    const gone = (sql: Sql) => sql`delete from api_key where name <> 'ops'`;
    expect(sorted(await keysAfter(gone))).toEqual(sorted(all));
    expect(sorted(await within(gone, (sql) => listApiKeys(sql, isSealed, { inForce: true })))).toEqual(sorted(inForce));
    const ended = (sql: Sql) => sql`update api_key set expires_at = 1`;
    expect(await within(ended, (sql) => listApiKeys(sql, isSealed, { inForce: true }))).toEqual(inForce);
  });

  test("a user's standing is the one in the log, whatever the row says", async () => {
    const all = (sql: Sql) => sql`
      update trader set kyc = 'verified', restricted = false, jurisdiction = 'FR', kyc_at = 1, suitability_score = 20`;
    expect(await traderAfter("bob", all)).toMatchObject({
      kyc: "rejected",
      restricted: false,
      jurisdiction: "US-NY",
      kycAt: 1000,
      suitabilityScore: null,
    });
    expect(await traderAfter("ann", all)).toMatchObject({
      kyc: "verified",
      restricted: true,
      jurisdiction: "DE",
      kycAt: Date.parse("2026-02-01T00:00:00.000Z"),
      suitabilityScore: 2,
    });
    expect(await traderAfter(ODD, all)).toMatchObject({ kyc: "verified", jurisdiction: "DE", suitabilityScore: 7 });
    const eve = (sql: Sql) => sql`insert into trader values ('eve','verified',false,'DE',1,20,1,1,1)`;
    expect(await traderAfter("eve", eve)).toMatchObject({
      kyc: "unverified",
      jurisdiction: null,
      suitabilityScore: null,
    });
  });

  test("a restriction outlives the row that held it", async () => {
    const gone = (sql: Sql) => sql`delete from trader where id = 'ann'`;
    expect(await traderAfter("ann", gone)).toMatchObject({ restricted: true, version: 0 });
  });

  test("an entry whose time is no time does not break the load", async () => {
    const broken = (sql: Sql) => sql`
      update audit set payload = replace(payload, '2026-02-01', '2026-99-99'), ts = 'never' where type = 'kyc.updated'`;
    expect(await traderAfter("ann", broken)).toMatchObject({ kycAt: null });
  });
});

describe("a key whose row is gone", () => {
  const differences = async () =>
    (await reconcileLedger(live.owner, [KEY]))
      .filter(({ differenceMicro }) => differenceMicro !== 0n)
      .map(({ name }) => name);

  test.each<[string, Command]>([
    ["revoking", { type: "revokeKey", name: "web" }],
    ["rotating", { type: "rotateKey", name: "app", hash: hashOf("5"), overlapMs: HOUR }],
  ])("is missed by reconciliation until %s it writes the row again", async (_, command) => {
    const { name } = command as { name: string };
    await live.owner`delete from api_key where name = ${name} and (expires_at is null or expires_at > ${Date.now()})`;
    expect(await differences()).toEqual(["keys"]);
    await expect(live.run({ ...createKey(name, "6") })).rejects.toMatchObject({ code: "KEY_EXISTS" });
    await live.run(command);
    expect(await differences()).toEqual([]);
  });
});

describe("a tenant's row that was forged while the server runs", () => {
  const differences = async () =>
    (await reconcileLedger(live.owner, [KEY]))
      .filter(({ differenceMicro }) => differenceMicro !== 0n)
      .map(({ name }) => name);
  const feeBps = async () => (await live.owner`select policy::jsonb ->> 'feeBps' as bps from tenant`)[0]?.bps;
  const last = async () =>
    (
      await live.owner`select type, payload::jsonb -> 'state' -> 'policy' ->> 'feeBps' as bps from audit order by seq desc limit 1`
    )[0];
  const tamper = () => live.owner`update tenant set policy = jsonb_set(policy::jsonb, '{feeBps}', '7')::text`;

  test.each<[string, Command]>([
    ["setting the value that the log says", { type: "updatePolicy", patch: { feeBps: 120 } }],
    ["setting another field", { type: "updatePolicy", patch: { dailyTradeLimit: 77 } as never }],
    ["setting it for a time", { type: "updatePolicy", patch: { maxTradeUsd: 40 }, ttlMs: HOUR }],
  ])("%s writes it as the log says, with an entry", async (_, command) => {
    for (const isRestarted of [false, true]) {
      await tamper();
      // Another process's commit makes this one forget what it holds in memory, as a restart does.
      if (isRestarted) await live.owner`update head set epoch = epoch + 1`;
      expect(await differences()).toEqual(["policy"]);
      await live.run(command);
      expect([await feeBps(), await last(), await differences()]).toEqual([
        "120",
        { type: "policy.updated", bps: "120" },
        [],
      ]);
    }
  });

  test("an apply of the same document restores it, once", async () => {
    const same = config({ suitabilityRequired: true });
    await live.run({ ...same, policy: {} } as Command);
    for (const statement of ["update tenant set document = '{}', kyc_required = true", "delete from tenant"]) {
      await live.owner.unsafe(statement);
      await live.owner`update head set epoch = epoch + 1`;
      expect(await live.run({ ...same, policy: {} } as Command)).toMatchObject({ result: { changed: true } });
      expect(await differences()).toEqual([]);
      expect(await live.run({ ...same, policy: {} } as Command)).toMatchObject({ result: { changed: false } });
    }
  });

  test("a change that changes nothing leaves no entry where no row was forged", async () => {
    await live.run({ type: "updatePolicy", patch: { feeBps: 120 } });
    const [before] = await live.owner`select seq from head`;
    await live.run({ type: "updatePolicy", patch: { feeBps: 120 } });
    expect((await live.owner`select seq from head`)[0]).toEqual(before);
  });

  test("an entry whose seal was broken restores nothing: the row stays as it is", async () => {
    await live.owner`
      update audit set payload = jsonb_set(payload::jsonb, '{state,capital}', '"much"')::text
       where seq = (select max(seq) from audit where type in ('config.applied', 'policy.updated'))`;
    await live.run({ type: "updatePolicy", patch: { feeBps: 130 } });
    expect([await feeBps(), await differences()]).toEqual(["130", ["record"]]);
  });
});

describe("an entry counts only while its seal holds", () => {
  const edit = (type: string, from: string, to: string) => (sql: Sql) =>
    sql`
    update audit set payload = replace(payload, ${from}, ${to}) where type = ${type}`;

  test("an edited entry counts as the stricter case: unverified, restricted, no key", async () => {
    expect(await traderAfter("bob", edit("kyc.updated", "failed", "passed"))).toMatchObject({
      kyc: "unverified",
      kycAt: null,
      jurisdiction: null,
      restricted: true,
    });
    expect(await traderAfter("ann", edit("user.restricted", "true", "false"))).toMatchObject({ restricted: true });
    expect(await traderAfter("ann", edit("suitability.submitted", "score", "sCore"))).toMatchObject({
      suitabilityScore: null,
      suitabilityAt: null,
    });
    const keys = await keysAfter(edit("key.created", "public", "admin"));
    const open = keys.filter((key) => isInForce(key, Date.now()));
    expect(open.map(({ name }) => name)).toEqual(["ops"]);
  });

  test("a genuine entry counts at its own place only", async () => {
    const moved = (sql: Sql) => sql`
      update audit set payload = (select payload from audit where type = 'user.restricted' and payload like '%ann%')
       where type = 'user.restricted' and payload like '%bob%'`;
    expect(await traderAfter("ann", moved)).toMatchObject({ restricted: true });
    const copied = (sql: Sql) => sql`
      insert into audit (seq, type, actor, payload, ts, key_id, hash)
      select 0, type, actor, payload, ts, key_id, hash from audit where type = 'config.applied' limit 1`;
    expect(await keysAfter(copied)).toEqual(await listApiKeys(live.owner, isSealed));
  });

  test("an entry after an edited link does not hold; without a head row reads go on by those that do", async () => {
    const unlinked = (sql: Sql) => sql`
      update audit set hash = repeat('0', 64)
       where seq = (select max(seq) - 1 from audit where type = 'kyc.updated' and payload like '%"ann"%')`;
    expect(await traderAfter("ann", unlinked)).toMatchObject({ kyc: "unverified" });
    const headless = (sql: Sql) => sql`delete from head`;
    expect(await keysAfter(headless)).toEqual(await listApiKeys(live.owner, isSealed));
  });

  test("keys that sealed earlier entries still verify them, and others verify none", async () => {
    const [rotated, other] = [sealCheck([auditKey("next"), KEY]), sealCheck([auditKey("next")])];
    expect(await listApiKeys(live.owner, rotated)).toEqual(await listApiKeys(live.owner, isSealed));
    expect((await listApiKeys(live.owner, other)).some(({ onRecord }) => onRecord)).toBe(false);
    const needs = ["ann", "bob", ODD].map((key) => ({ table: "trader" as const, key }));
    expect(await loadRows(live.owner, needs, rotated)).toEqual(await loadRows(live.owner, needs, isSealed));
    for (const { row } of await loadRows(live.owner, needs, other)) expect(row).toMatchObject({ kyc: "unverified" });
  });

  test("a genuine log gives all that its entries say, after any sequence of commands", async () => {
    const random = new Random(20_261_122);
    const users = Array.from({ length: 6 }, (_, index) => `u${index} "é\\\u2028`);
    for (const id of users) await live.run({ type: "restrictUser", traderId: id, restricted: true });
    for (let turn = 0; turn < 60; turn++) {
      const id = random.pick(users);
      await live.run(
        random.pick<() => Command>([
          () =>
            kyc(
              id,
              random.pick(["passed", "failed"]),
              random.int(1, 1e12),
              random.pick(["", "DE", "US-NY"]) || undefined,
            ),
          () => ({ type: "restrictUser", traderId: id, restricted: random.chance(0.5) }),
          () => ({ type: "submitSuitability", id: `r${turn}`, traderId: id, answers: { a: random.pick([1, 2, 3]) } }),
          () => ({
            type: "createKey",
            name: `k${turn}`,
            keyType: "admin",
            hash: String(turn).padStart(64, "0"),
            expiresAt: null,
          }),
        ])(),
      );
    }
    const needs = users.map((key) => ({ table: "trader" as const, key }));
    const believed = () => true;
    expect(await loadRows(live.owner, needs, isSealed)).toEqual(await loadRows(live.owner, needs, believed));
    expect(await listApiKeys(live.owner, isSealed)).toEqual(await listApiKeys(live.owner, believed));
    expect((await listApiKeys(live.owner, isSealed)).every(({ onRecord }) => onRecord)).toBe(true);
    const held = await live.owner`select id, kyc, restricted, jurisdiction, suitability_score from trader`;
    for (const { row } of await loadRows(live.owner, needs, isSealed)) {
      const trader = row as Trader | null;
      const same = held.find(({ id }) => id === trader?.id);
      expect([trader?.kyc, trader?.restricted, trader?.jurisdiction, trader?.suitabilityScore]).toEqual([
        same?.kyc,
        same?.restricted,
        same?.jurisdiction,
        same?.suitability_score,
      ]);
    }
  });
});
