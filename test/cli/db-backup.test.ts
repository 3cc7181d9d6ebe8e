import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newBackupFile } from "../../src/app/backup/backup-tenant.ts";
import { lastBackupAt } from "../../src/app/backup/last-backup.ts";
import { runDbBackup } from "../../src/cli/database/db-backup.ts";
import { canonicalJson } from "../../src/domain/audit/audit-link.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import type { Command } from "../../src/engine/commands.ts";
import { administer } from "../../src/postgres/database.ts";
import { quoted } from "../../src/postgres/embedded/connection.ts";
import { databaseName } from "../../src/postgres/swap-database.ts";
import { directoryWith } from "../config/support.ts";
import { configOf, tradeOf } from "../engine/world.ts";
import { AUDIT_SECRET, BackupScene, expectRestored, forge } from "./support/backups.ts";
import { end, testIo } from "./support/io.ts";

let scene: BackupScene;
beforeEach(async () => {
  scene = await BackupScene.open();
});
afterEach(() => scene.close());

describe("backup and restore", () => {
  test("a restore brings back every row as it was; what replaced it is kept under another name", async () => {
    const before = await scene.everything();
    const { file, exit, data } = await scene.backup();
    expect(exit).toBe(0);
    expect(data).toEqual({
      file,
      format: "pmctl-backup-v2",
      tenant: "acme",
      created: expect.any(String),
      schemaVersion: expect.any(Number),
      head: { seq: before.audit?.length, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      count: before.audit?.length,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      keyId: auditKey(AUDIT_SECRET).id,
      encrypted: false,
      bytes: statSync(file).size,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await scene.deposit("after", 7);
    expect(await scene.everything()).not.toEqual(before);

    const restored = await scene.restore(file);
    expect(restored).toMatchObject({
      stderr: expect.not.stringContaining("error"),
      exit: 0,
      data: { tenant: "acme", head: data.head, count: data.count },
    });
    expectRestored(await scene.everything(), before);
    expect(restored.data.keptAs).toMatch(new RegExp(`^${databaseName(scene.connection)}_before_\\d{14}$`));
    expect(await scene.leftovers()).toEqual([]);
    // And it goes on from there.
    await scene.deposit("again", 7);
    const status = await scene.withServices(
      ({ handlers }) => handlers.getAuditStatus?.({}, { actor: "cli:test" }) as never,
    );
    expect(status).toMatchObject({ verified: true });
  });

  test("the end of a voided market is restored to the letter, its reason included", async () => {
    const reason = 'A "tab\tand \\. newline\n\\.\nü東';
    await scene.withServices(({ sequencer }) =>
      sequencer.submit({ command: { type: "voidMarket", marketId: "m1", reason }, actor: "cli:test" }),
    );
    const before = await scene.everything();
    expect(before.market_end).toHaveLength(1);
    const { file } = await scene.backup();
    await scene.deposit("after", 7);
    expect(await scene.restore(file)).toMatchObject({ exit: 0 });
    expectRestored(await scene.everything(), before);
  });

  test("a proposal with its approvals, an objection and the approval of a plan are restored to the letter", async () => {
    const asked = { proposalId: "prp_1", by: "admin:ops", request: '{"operation":"settleMarket"}', evidence: '"Seen"' };
    const trade = tradeOf({ marketId: "m1", traderId: "usr_1", claimedJurisdiction: "GB" });
    const objection = { proposalId: "prp_1", marketId: "m1", traderId: "usr_1", reason: "It\trained ü" };
    const rules = { resolution: { approvals: 3 } };
    await scene.withServices(async ({ sequencer }) => {
      const submit = (command: Command, actor = "admin:ops") => sequencer.submit({ command, actor });
      await submit(configOf({ kycRequired: false, document: canonicalJson(rules) }));
      await submit(trade);
      await submit({ type: "settleMarket", marketId: "m1", outcome: "yes", asked });
      await submit({ type: "objectToProposal", ...objection }, "user:usr_1");
      await submit({ type: "approvePlan", sha256: "a".repeat(64), by: "admin:ops" });
    });
    const before = await scene.everything();
    for (const table of ["proposal", "objection", "plan_approval"]) expect(before[table]).toHaveLength(1);
    const { file } = await scene.backup();
    await scene.deposit("after", 7);
    expect(await scene.restore(file)).toMatchObject({ exit: 0 });
    expectRestored(await scene.everything(), before);
  });

  test("a database that is gone altogether is restored too", async () => {
    const before = await scene.everything();
    const { file } = await scene.backup();
    await administer(scene.connection, (sql) => sql.unsafe(`drop database ${quoted(databaseName(scene.connection))}`));
    expect(await scene.restore(file)).toMatchObject({ exit: 0, data: { keptAs: null } });
    expectRestored(await scene.everything(), before);
  });

  test("a backup is known to its directory by the moment that it shows, wherever its file is", async () => {
    const place = { directory: scene.directory, tenant: "acme" };
    const { data } = await scene.backup();
    expect(await lastBackupAt(place)).toBe(data.created);
    expect(await lastBackupAt({ ...place, tenant: "globex" })).toBeNull();
  });

  test("two backups of one second have files of their own, where the operator names none", async () => {
    const tenant = { id: "acme", directory: directoryWith() };
    const first = await newBackupFile(tenant, false);
    const at = Date.now();
    while (Date.now() === at);
    expect(first).toMatch(/acme-\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z\.backup\.gz$/);
    expect(await newBackupFile(tenant, false)).not.toBe(first);
  });

  test("a backup beside a file of the same name is refused, and the file is left alone", async () => {
    const { file } = await scene.backup();
    const content = readFileSync(file);
    const io = testIo({ format: "json" });
    expect((await end(io, () => runDbBackup({ ...scene.target, directory: scene.directory, file }, io))).exit).toBe(6);
    expect(readFileSync(file)).toEqual(content);
  });
});

describe("a restore replaces nothing, asks nothing and ends with 8", () => {
  test.each<[string, (file: string) => void]>([
    ["when the file is cut off", (file) => writeFileSync(file, readFileSync(file).subarray(0, -40))],
    [
      "when a byte of it changed",
      (file) => {
        const text = gunzipSync(readFileSync(file)).toString().replace("usr_1", "usr_2");
        writeFileSync(file, gzipSync(text));
      },
    ],
    [
      "when an audit entry was altered, checksum and all",
      (file) => forge(file, (text) => text.replace(/"amount":"100"/, '"amount":"900"')),
    ],
    [
      "when a balance was altered, checksum and all",
      (file) => forge(file, (text) => text.replace(/^(wallet:usr_1)\t\d+/m, "$1\t999000000")),
    ],
    [
      "when the last entry was cut off, checksum and all",
      (file) => forge(file, (text) => text.replace(/"seq":\d+/, '"seq":1')),
    ],
    [
      "when a row stands twice, checksum and all",
      (file) => forge(file, (text) => text.replace(/^(wallet:usr_1\t.*\n)/m, "$1$1")),
    ],
    [
      "when it holds another statement",
      (file) => forge(file, (text) => text.replace("copy account (", "copy pg_authid (")),
    ],
  ])("%s", async (_what, spoil) => {
    const before = await scene.everything();
    const { file } = await scene.backup();
    spoil(file);
    const ending = await scene.restore(file, { yes: false }, []);
    expect(ending).toMatchObject({ exit: 8, stdout: "" });
    expect(await scene.everything()).toEqual(before);
    expect(await scene.leftovers()).toEqual([]);
  });
});

describe("a restore is refused", () => {
  test("when the audit key is another one, with 6: nothing is known to be wrong with the backup", async () => {
    const { file } = await scene.backup();
    expect(await scene.restore(file, { auditSecrets: ["another audit secret, long enough"] })).toMatchObject({
      exit: 6,
    });
  });

  test("while a server of the tenant is connected, with 3 and before a question", async () => {
    const { file } = await scene.backup();
    await scene.withServices(async ({ handlers }) => {
      await handlers.getPolicy?.({}, { actor: "cli:test" });
      const { exit, stderr } = await scene.restore(file, { yes: false }, []);
      expect(exit).toBe(3);
      expect(stderr).toContain("stop the tenant's servers first");
    });
    expect(await scene.leftovers()).toEqual([]);
  });

  test("with 6 for another tenant's backup, for a file that is no backup, and without a confirmation", async () => {
    const { file } = await scene.backup();
    expect(await scene.restore(file, { tenant: "globex" })).toMatchObject({ exit: 6 });
    expect(await scene.restore(file, { yes: false })).toMatchObject({ exit: 6 });
    const other = join(directoryWith({ text: "hello\n", packed: gzipSync("hello\n") }), "text");
    expect(await scene.restore(other)).toMatchObject({ exit: 6 });
    expect(await scene.restore(other.replace("text", "packed"))).toMatchObject({ exit: 6 });
    expect(await scene.restore("/nowhere/at/all")).toMatchObject({ exit: 5 });
  });

  test("until the operator, who is told how much is lost, has typed the tenant's name", async () => {
    const { file } = await scene.backup();
    const before = await scene.restore(file, { yes: false }, ["acm"]);
    expect(before).toMatchObject({ exit: 130, stderr: expect.stringContaining("entries that will be lost: none.") });
    expect(await scene.leftovers()).toEqual([]);
    await scene.deposit("after", 7);
    const after = await scene.restore(file, { yes: false }, ["acme"]);
    expect(after).toMatchObject({ exit: 0, stderr: expect.stringContaining("entries that will be lost: 1.") });
  });
});
