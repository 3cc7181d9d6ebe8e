import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chainVerifier, type Verify } from "../../src/app/audit/verify-log.ts";
import { verifyOverApi } from "../../src/app/audit/walk-log.ts";
import { auditStatus } from "../../src/cli/audit/audit.ts";
import { runAuditVerify } from "../../src/cli/audit/audit-verify.ts";
import { runReconcile } from "../../src/cli/commands/reconcile.ts";
import { localApi } from "../../src/client/local-api.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { AUDIT_SECRET, doors, type TestDoor } from "./support/doors.ts";
import { end, testIo } from "./support/io.ts";

const ENTRIES = 450;

/** How each door verifies: straight from the database, or page by page over the API. */
const verifiers: Record<string, (door: TestDoor, secret: string) => Verify> = {
  db: ({ services }) => chainVerifier(services, []),
  http: (_, secret) => chainVerifier(undefined, [auditKey(secret)]),
};

describe.each(doors)("a damaged tenant through the %s door", (name, open) => {
  let door: TestDoor;
  let owner: Sql;
  beforeAll(async () => {
    door = await open();
    owner = connect(door.database.connection, { name: "test", max: 1 });
    await Promise.all(
      Array.from({ length: ENTRIES }, (_, index) =>
        door.services.sequencer.submit({
          command: { type: "recordReconciliation", ok: true, discrepancyMicro: 0n },
          actor: `cli:${index}`,
        }),
      ),
    );
  });
  afterAll(async () => {
    await owner.end({ timeout: 5 });
    await door.close();
  });

  async function verify(secret = AUDIT_SECRET, api = door.api()) {
    const io = testIo({ format: "json" });
    const verifier = verifiers[name]?.(door, secret);
    if (!verifier) throw new Error(`no verifier for the ${name} door`);
    const { exit, stdout, stderr } = await end(io, () => runAuditVerify({ verify: verifier }, api, io));
    return { exit, report: JSON.parse(stdout), error: stderr === "" ? undefined : JSON.parse(stderr) };
  }

  test("a sound chain of several pages verifies", async () => {
    const { exit, report, error } = await verify();
    expect(error).toBeUndefined();
    expect(exit).toBe(0);
    expect(report).toMatchObject({ verified: true, head: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(report.count).toBeGreaterThanOrEqual(ENTRIES);
  });

  test("an altered entry is named, and the exit code is 8", async () => {
    const [before] = await owner`select payload from audit where seq = 212`;
    await owner`update audit set payload = '{"ok":false}' where seq = 212`;
    const { exit, report, error } = await verify();
    expect(exit).toBe(8);
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(report).toMatchObject({ verified: false, broken: { seq: 212, stored: hash, computed: hash } });
    expect(report.broken.stored).not.toBe(report.broken.computed);
    expect(error).toMatchObject({ code: "INTEGRITY", error: expect.stringContaining("212") });

    const io = testIo({ format: "json" });
    const status = await end(io, () => auditStatus.run({}, door.api(), io));
    expect(status.exit).toBe(8);
    expect(JSON.parse(status.stdout)).toMatchObject({ verified: false });
    await owner`update audit set payload = ${before?.payload} where seq = 212`;
  });

  test("of two damages the first one counts; a hole is named too", async () => {
    const [row] = await owner`delete from audit where seq = 100 returning *`;
    const [late] = await owner`select actor from audit where seq = 400`;
    await owner`update audit set actor = 'cli:mallory' where seq = 400`;
    const { exit, report } = await verify();
    expect(exit).toBe(8);
    expect(report.broken).toEqual({ kind: "gap", seq: 100, problem: "entry 100 is missing" });
    await owner`insert into audit ${owner(row as never)}`;
    await owner`update audit set actor = ${late?.actor} where seq = 400`;
    expect((await verify()).exit).toBe(0);
  });

  // Through this door the command walks the chain by itself, with the keys that it has.
  if (name === "http") {
    test("another key verifies nothing, and the report says that it is the key, with both fingerprints and 6", async () => {
      const other = "the audit secret of another owner";
      const { exit, report } = await verify(other);
      expect(exit).toBe(6);
      expect(report.broken).toEqual({
        kind: "broken",
        seq: 1,
        problem: `entry 1 is sealed with the key ${auditKey(AUDIT_SECRET).id}, which is not among the given keys: ${auditKey(other).id}`,
        sealedWith: auditKey(AUDIT_SECRET).id,
      });
    });

    test("one entry that names an unknown key was altered, whatever the key that it names", async () => {
      const entries = await owner<
        { seq: string; key_id: string }[]
      >`select seq, key_id from audit order by seq limit 2`;
      // These entries created the keys, which a server would refuse meanwhile: the pages come from the services themselves.
      const api = localApi(door.services.handlers, { actor: "cli:tester" });
      for (const { seq, key_id: keyId } of entries) {
        await owner`update audit set key_id = 'ak_000000000000' where seq = ${seq}`;
        const found = await verify(AUDIT_SECRET, api);
        expect(found).toMatchObject({ exit: 8, report: { broken: { seq: Number(seq), kind: "broken" } } });
        await owner`update audit set key_id = ${keyId} where seq = ${seq}`;
      }
    });

    test("an entry that is written during the walk does not disturb it", async () => {
      const api = door.api();
      let written = false;
      const report = await verifyOverApi(
        {
          ...api,
          listAudit: async (input) => {
            if (!written) await api.reconcile({});
            written = true;
            return api.listAudit(input);
          },
        },
        [auditKey(AUDIT_SECRET)],
      );
      expect(report).toMatchObject({ verified: true });
    });
  }

  test("what is not on record is counted and not told in dollars", async () => {
    await owner`insert into api_key values (${"9".repeat(64)}, 'thief', 'admin', 0, null, 1, '*', '')`;
    await owner`insert into trader values ('eve', 'verified', false, null, 1, null, null, 1, 1)`;
    const io = testIo({ format: "json" });
    const { exit, stderr } = await end(io, () => runReconcile({}, door.api(), io));
    expect(exit).toBe(8);
    expect(stderr).toContain("3 places off (keys, kyc, users); --explain shows where");
    await owner`delete from api_key where name = 'thief'`;
    await owner`delete from trader where id = 'eve'`;
  });

  test("a ledger that does not add up ends with 8, and explain names the check", async () => {
    await owner`update account set balance_micro = balance_micro + 1500000 where id = 'treasury'`;
    const io = testIo({ format: "json" });
    const { exit, stdout, stderr } = await end(io, () => runReconcile({ explain: true }, door.api(), io));
    expect(exit).toBe(8);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, discrepancy: 1.5 });
    expect(JSON.parse(stdout).checks).toContainEqual({
      name: "accounts",
      unit: "usd",
      ok: false,
      discrepancy: 1.5,
      rows: 1,
      stated: 1.5,
      expected: 0,
      places: [{ place: "treasury", stated: 100001.5, expected: 100000, discrepancy: 1.5 }],
    });
    expect(JSON.parse(stderr)).toMatchObject({ code: "INTEGRITY" });
    expect(stderr).toContain("The ledger is off by 1.50 USD (accounts); --explain shows where");
    await owner`update account set balance_micro = balance_micro - 1500000 where id = 'treasury'`;
  });
});
