import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createGzip, gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { signAnchor } from "../../src/domain/audit/anchor.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { backupMac } from "../../src/ledger/backup/backup-format.ts";
import { connect } from "../../src/postgres/connect.ts";
import { administer, atDatabase } from "../../src/postgres/database.ts";
import { quoted } from "../../src/postgres/embedded/connection.ts";
import { databaseName } from "../../src/postgres/swap-database.ts";
import { appendToDirectory } from "../../src/services/anchors/anchor-file.ts";
import { readVerifiedPoint, writeVerifiedPoint } from "../../src/services/anchors/known-anchors.ts";
import { AUDIT_SECRET, BackupScene, forge, pack, strip, unpacked } from "./support/backups.ts";

let scene: BackupScene;
beforeEach(async () => {
  scene = await BackupScene.open();
});
afterEach(() => scene.close());

const NOT_EXPLAINED = /does not explain|does not end with|does not reconcile|chain of the backup fails verification/;
const unauthenticated = { allowUnauthenticated: true };

/** A restore that ends with `exit` and leaves the tenant's database, and no other, as it was. */
async function expectRefused(file: string, exit: number, words: string | RegExp, change = {}) {
  const before = await scene.everything();
  const ending = await scene.restore(file, change);
  expect(ending).toMatchObject({ exit, stdout: "" });
  expect(ending.stderr).toMatch(words);
  // The tenant's database is not the one that failed its checks.
  expect(ending.stderr).not.toContain("reconcile --explain");
  expect(await scene.everything()).toEqual(before);
  expect(await scene.leftovers()).toEqual([]);
}

test("what a restore that was killed left behind goes with the next restore or backup, except while it is in use", async () => {
  const name = databaseName(scene.connection);
  const left = ["20260101010101", "20260202020202"].map((stamp) => `${name.slice(0, 40)}_restore_${stamp}`);
  const [first = "", second = ""] = left;
  for (const each of left) await administer(scene.connection, (sql) => sql.unsafe(`create database ${quoted(each)}`));
  const used = connect(atDatabase(scene.connection, second), { name: "test", max: 1 });
  await used`select 1`;
  const { file, stderr } = await scene.backup();
  expect(stderr).toContain(`Dropped ${first}`);
  expect(stderr).not.toContain(`Dropped ${second}`);
  await used.end({ timeout: 5 });
  const restored = await scene.restore(file);
  expect(restored).toMatchObject({ exit: 0 });
  expect(restored.stderr).toContain(`Dropped ${second}`);
  expect(await scene.leftovers()).toEqual([]);
});

describe("a backup is authenticated", () => {
  test("its last line is rows, sha256, keyId and mac, an HMAC-SHA256 by the audit key", async () => {
    const { file, data } = await scene.backup();
    const { text, trailer } = unpacked(file);
    const key = auditKey(AUDIT_SECRET);
    const sha256 = createHash("sha256").update(text).digest("hex");
    expect(trailer).toEqual({ rows: expect.any(Number), sha256, keyId: key.id, mac: backupMac(key, sha256) });
    expect(Object.keys(trailer)).toEqual(["rows", "sha256", "keyId", "mac"]);
    expect(data).toMatchObject({ sha256, keyId: key.id, encrypted: false });
  });

  test("by the key that it names, after that key was replaced too", async () => {
    const { file } = await scene.backup();
    const auditSecrets = ["the audit secret that came after it", AUDIT_SECRET] as const;
    expect(await scene.restore(file, { auditSecrets })).toMatchObject({ exit: 0 });
  });

  test("without a mac it is restored only when the operator says so, and then what only a mac speaks for is left out", async () => {
    await scene.withSql(
      (sql) => sql`insert into stored_answer values ('user:usr_1', 'k', 'h', 200, '{"tradeId":"forged"}', 0, '')`,
    );
    const { file } = await scene.backup();
    strip(file);
    await expectRefused(file, 8, "--allow-unauthenticated");
    const restored = await scene.restore(file, unauthenticated);
    expect(restored).toMatchObject({ exit: 0, data: { keyId: null } });
    expect(restored.stderr).toContain("stored_answer");
    expect((await scene.everything()).stored_answer).toEqual([]);
  });

  test("a mac that does not hold is never accepted", async () => {
    const [first, second] = [await scene.backup(), await scene.backup()];
    const { text, trailer } = unpacked(first.file);
    const { mac } = unpacked(second.file).trailer;
    const { rows, sha256, keyId } = trailer;
    const another = { keyId: "ak_0" };
    for (const wrong of [
      { mac },
      { mac: "" },
      { mac: null },
      { mac: `${trailer.mac}00` },
      another,
      { mac: undefined },
      { keyId: undefined },
    ]) {
      pack(first.file, text, { rows, sha256, keyId, mac: trailer.mac, ...wrong });
      await expectRefused(first.file, wrong === another ? 6 : 8, "key", unauthenticated);
    }
  });
});

describe("a file that is not what was written replaces nothing", () => {
  test("with a bit flipped in any line of it", async () => {
    const { file } = await scene.backup();
    const content = gunzipSync(readFileSync(file));
    const lines = [...content.keys()].filter((at) => content[at] === 10);
    expect(lines.length).toBeGreaterThan(30);
    const before = await scene.everything();
    for (const [index, at] of lines.entries()) {
      const changed = Buffer.from(content);
      const middle = (at + (index === 0 ? 0 : (lines[index - 1] ?? 0) + 1)) >> 1;
      changed[middle] = (changed[middle] ?? 0) ^ 1;
      writeFileSync(file, gzipSync(changed));
      // The first line names the backup's tenant and format.
      expect([8, index === 0 ? 6 : 8], `line ${index + 1}`).toContain((await scene.restore(file)).exit);
    }
    expect(await scene.everything()).toEqual(before);
    expect(await scene.leftovers()).toEqual([]);
  });

  test.each<[string, RegExp, (packed: Buffer) => Buffer]>([
    ["cut off", /damaged/, (packed) => packed.subarray(0, packed.length >> 1)],
    ["cut off within its last bytes", /damaged/, (packed) => packed.subarray(0, -3)],
    ["followed by more", /damaged/, (packed) => Buffer.concat([packed, Buffer.from("garbage")])],
    ["followed by zeros", /damaged/, (packed) => Buffer.concat([packed, Buffer.alloc(64)])],
    ["followed by itself", /damaged/, (packed) => Buffer.concat([packed, packed])],
    ["followed by an empty member", /damaged/, (packed) => Buffer.concat([packed, gzipSync("")])],
    ["continued within", /damaged/, (packed) => gzipSync(Buffer.concat([gunzipSync(packed), Buffer.from("\n")]))],
    ["empty", /not a pmctl backup/, () => Buffer.alloc(0)],
    ["one byte", /not a pmctl backup/, () => Buffer.from([0x1f])],
  ])("%s", async (_what, words, change) => {
    const { file } = await scene.backup();
    writeFileSync(file, change(readFileSync(file)));
    await expectRefused(file, words.source.includes("damaged") ? 8 : 6, words, unauthenticated);
  });

  test("a file that unpacks to a line without end fills no memory", async () => {
    const { file } = await scene.backup();
    const bomb = createGzip();
    const parts: Buffer[] = [];
    bomb.on("data", (part: Buffer) => parts.push(part));
    const ended = new Promise((resolve) => bomb.on("end", resolve));
    for (let written = 0; written < 256; written += 1)
      if (!bomb.write(Buffer.alloc(1_000_000, "x"))) await new Promise((resolve) => bomb.once("drain", resolve));
    bomb.end();
    await ended;
    writeFileSync(file, Buffer.concat(parts));
    const before = process.memoryUsage().rss;
    await expectRefused(file, 8, "it has a line that is too long", unauthenticated);
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
  });

  test.each<[string, string, (text: string) => string]>([
    [
      "a head that is not the last entry's",
      "does not end with",
      (text) => text.replace(/"hash":"[0-9a-f]{64}"/, `"hash":"${"0".repeat(64)}"`),
    ],
    ["a count that is not the head's", "does not end with", (text) => text.replace(/"count":\d+/, '"count":2')],
    [
      "a time that is none",
      "not a pmctl backup",
      (text) => text.replace(/"created":"[^"]*"/, '"created":"\\u001b[2J"'),
    ],
    [
      "two tables whose rows were swapped",
      "damaged",
      (text) => text.replace(/(copy account [^\n]*\n)([^\\]*)(\\\.\ncopy [^\n]*\n)/, "$1$3$2"),
    ],
  ])("that states %s, key and all", async (_what, words, change) => {
    const { file } = await scene.backup();
    forge(file, change);
    await expectRefused(file, words === "not a pmctl backup" ? 6 : 8, words);
  });

  test("a backup of another tenant, key and all", async () => {
    const { file } = await scene.backup();
    forge(file, (text) => text.replace('"tenant":"acme"', '"tenant":"globex"'));
    await expectRefused(file, 6, /backup is of .*globex/);
  });
});

describe("what the chain does not explain ends a restore", () => {
  const rows: [string, string][] = [
    [
      "a transfer",
      "with t as (insert into transfer values (1, 9, 'external:operator', 'wallet:usr_1', 1000000)), d as (insert into funding_day values ((select extract(epoch from date_trunc('day', ts::timestamptz at time zone 'UTC') at time zone 'UTC')::bigint * 1000 from audit where seq = 1), 'operator', 1000000, 0)), e as (insert into account values ('external:operator', -1000000, 1)) update account set balance_micro = balance_micro + 1000000 where id = 'wallet:usr_1'",
    ],
    [
      "a row behind the head",
      "insert into audit select seq + 100, type, actor, payload, ts, key_id, hash from audit where seq = 1",
    ],
  ];
  test.each(rows)("%s, of the database that was backed up", async (_what, statement) => {
    await scene.withSql((sql) => sql.unsafe(statement));
    const { file } = await scene.backup();
    await expectRefused(file, 8, NOT_EXPLAINED);
    strip(file);
    await expectRefused(file, 8, NOT_EXPLAINED, unauthenticated);
  });
});

describe("a restore is on record", () => {
  test("with the backup's last entry, what it replaced, who did it and why", async () => {
    const { file, data } = await scene.backup();
    await scene.deposit("after", 7);
    const restored = await scene.restore(file, { reason: "drill" });
    const { head, created, sha256 } = data;
    expect(await scene.entriesAfter(head.seq)).toEqual([
      {
        type: "database.restored",
        actor: expect.stringMatching(/^cli:/),
        payload: { ...head, created, sha256, keptAs: restored.data.keptAs, reason: "drill" },
      },
    ]);
  });

  test("of a database that was gone, with null for what it replaced; a second restore works as well", async () => {
    const { file, data } = await scene.backup();
    await scene.restore(file);
    expect(await scene.restore(file, { now: Date.now() + 60_000 })).toMatchObject({ exit: 0 });
    expect(await scene.entriesAfter(data.head.seq)).toHaveLength(1);
  });
});

describe("behind the newest known anchor", () => {
  const key = auditKey(AUDIT_SECRET);
  const headOf = async () => {
    const [row] = await scene.withSql((sql) => sql`select seq::int, hash, ts from audit order by seq desc limit 1`);
    return row as unknown as { seq: number; hash: string; ts: string };
  };

  test.each<[string, () => Promise<void>]>([
    [
      "of the directory's file",
      async () => {
        const { seq, hash, ts } = await headOf();
        await appendToDirectory(scene.directory, signAnchor("acme", { seq: BigInt(seq), hash, ts }, key), [key]);
      },
    ],
    [
      "that is the verified point",
      async () => {
        const { seq, hash, ts } = await headOf();
        await writeVerifiedPoint(scene.directory, "acme", { seq: BigInt(seq), hash, ts });
      },
    ],
  ])("%s a backup is refused with 8, and accepted with a reason, on record", async (_source, anchor) => {
    const { file, data } = await scene.backup();
    await scene.deposit("after", 7);
    await anchor();
    const known = await headOf();
    await expectRefused(file, 8, "--accept-rollback");
    await expectRefused(file, 6, "--reason", { acceptRollback: true });
    // A terminal is asked for the reason, and then for the tenant's name.
    const onTerminal = { acceptRollback: true, yes: undefined };
    expect(await scene.restore(file, onTerminal, ["the disk was lost", "acme"])).toMatchObject({ exit: 0 });
    const payload = { anchorSeq: known.seq, anchorHash: known.hash, headSeq: data.head.seq, headHash: data.head.hash };
    expect(await scene.entriesAfter(data.head.seq)).toMatchObject([
      { type: "database.restored" },
      { type: "rollback.accepted", payload: { ...payload, lost: 1, reason: "the disk was lost" } },
    ]);
    // The directory remembers the log that is in place now, so its own next backup is not behind.
    expect((await readVerifiedPoint(scene.directory, "acme"))?.hash).toBe((await headOf()).hash);
    const next = await scene.backup();
    expect(await scene.restore(next.file, { now: Date.now() + 60_000 })).toMatchObject({ exit: 0 });
  });

  test("a line that no key of the tenant signed counts for nothing", async () => {
    const { file } = await scene.backup();
    const { seq, hash, ts } = await headOf();
    const forged = signAnchor("acme", { seq: BigInt(seq + 5), hash, ts }, auditKey("another secret"));
    await appendToDirectory(scene.directory, forged, [auditKey(AUDIT_SECRET)]);
    expect(await scene.restore(file)).toMatchObject({ exit: 0 });
  });
});
