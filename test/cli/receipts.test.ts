import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { lstat, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAnchors } from "../../src/app/audit/anchors-in-file.ts";
import { chainVerifier } from "../../src/app/audit/verify-log.ts";
import { type Entry, verifyFile } from "../../src/app/audit/walk-log.ts";
import { runAuditExport, runAuditVerify } from "../../src/cli/audit/audit-verify.ts";
import { openReceipts } from "../../src/cli/output/receipts.ts";
import { signAnchor } from "../../src/domain/audit/anchor.ts";
import { GENESIS_HASH } from "../../src/domain/audit/audit-link.ts";
import { type AuditKey, auditKey } from "../../src/domain/audit/seal.ts";
import { connect, type Sql } from "../../src/postgres/connect.ts";
import { readVerifiedPoint, writeVerifiedPoint } from "../../src/services/anchors/known-anchors.ts";
import { invoke } from "../../src/services/invoke.ts";
import { openTenant } from "../../src/services/tenant/tenant.ts";
import { AUDIT_SECRET, doors, TENANT, type TestDoor } from "./support/doors.ts";
import { end, testIo } from "./support/io.ts";

const KEYS = [auditKey(AUDIT_SECRET)];

describe.each(doors)("receipts and exports through the %s door", (name, open) => {
  let door: TestDoor;
  let owner: Sql;
  let directory: string;
  beforeAll(async () => {
    door = await open();
    owner = connect(door.database.connection, { name: "test", max: 1 });
    directory = await mkdtemp("/tmp/pmctl-receipts-");
  });
  afterAll(async () => {
    await owner.end({ timeout: 5 });
    await door.close();
    await rm(directory, { recursive: true, force: true });
  });

  const path = (file: string) => join(directory, file);
  const anchorsIn = (file: string, { tenant = TENANT, note = (_: string) => {} } = {}) =>
    readAnchors(path(file), { tenant, keys: KEYS, note });
  const latest = async () => (await door.api().listAudit({ limit: 1 })).entries[0] as Entry;

  /** Runs calls as a command does, and keeps their receipts in `file`. */
  async function receipted(file: string, work: (api: ReturnType<TestDoor["api"]>) => Promise<unknown>) {
    const io = testIo({ format: "table" });
    const book = openReceipts({ receipt: path(file), commandName: "reconcile" }, io.output);
    await work(door.api(undefined, undefined, { onSealed: (seal) => book.onSealed(TENANT, seal) }));
    book.close();
    return io;
  }

  async function verify(options: { anchor?: string; incremental?: boolean } = {}) {
    const io = testIo({ format: "json" });
    const services = name === "db" ? door.services : undefined;
    const verifier = chainVerifier(services, KEYS);
    const anchors = options.anchor === undefined ? undefined : await anchorsIn(options.anchor);
    const from = options.incremental ? await readVerifiedPoint(directory, TENANT) : undefined;
    const { exit, stdout } = await end(io, () =>
      runAuditVerify(
        {
          verify: verifier,
          anchors,
          from,
          keep: ({ count, head }) => writeVerifiedPoint(directory, TENANT, { seq: BigInt(count), hash: head }),
        },
        door.api(),
        io,
      ),
    );
    return { exit, report: JSON.parse(stdout) };
  }

  test("a change gives the receipt of its own audit entry, a read and a change of nothing give none", async () => {
    const io = await receipted("one", async (api) => {
      await api.reconcile({});
      await api.getPolicy({});
    });
    const { seq, hash, ts, keyId } = await latest();
    const kept = JSON.parse(await readFile(path("one"), "utf8"));
    expect(kept).toEqual({ tenant: TENANT, seq, hash, ts, keyId, command: "reconcile" });
    expect(io.stderr.text).toBe(`On record as audit entry ${seq}, hash ${hash}\n`);
    expect(io.stdout.text).toBe("");
    expect((await stat(path("one"))).mode & 0o077).toBe(0);

    const { id } = await door.api().createMarket({
      question: "Again?",
      category: "test",
      kind: "cpmm",
      p0: 0.5,
      closeAt: "2096-01-01T00:00:00Z",
      resolutionRef: "manual",
    });
    await receipted("twice", async (api) => {
      await api.suspendMarket({ id });
      await api.suspendMarket({ id });
    });
    expect((await readFile(path("twice"), "utf8")).trim().split("\n")).toHaveLength(1);
  });

  test("a trade on behalf of a user gives one too, of the last entry that it wrote", async () => {
    const { id } = await door.api().createMarket({
      question: "Receipt?",
      category: "test",
      kind: "cpmm",
      p0: 0.5,
      closeAt: "2096-01-01T00:00:00Z",
      resolutionRef: "manual",
    });
    await door.deposit("ann", 100);
    const seals: bigint[] = [];
    await door
      .api("ann", undefined, { onSealed: ({ seq }) => seals.push(seq) })
      .placeTrade({ marketId: id, selection: { side: "yes" }, amount: 5 });
    expect(seals).toEqual([BigInt((await latest()).seq)]);
    expect((await latest()).type).toBe("trade.executed");
  });

  test("a receipt that cannot be written is told when the command ends, since what it proves has happened", async () => {
    const io = testIo({ format: "json" });
    const book = openReceipts({ receipt: "/dev/full", commandName: "reconcile" }, io.output);
    const api = door.api(undefined, undefined, { onSealed: (seal) => book.onSealed(TENANT, seal) });
    expect(await api.reconcile({})).toMatchObject({ ok: true });
    const { seq, hash } = await latest();
    expect(() => book.close()).toThrow(
      expect.objectContaining({ code: "INTERNAL", message: expect.stringMatching(`${seq}.*${hash}`) }),
    );
  });

  test("a receipt can go to a device, which has nothing to sync", async () => {
    const io = testIo({ format: "json" });
    const book = openReceipts({ receipt: "/dev/null", commandName: "reconcile" }, io.output);
    const api = door.api(undefined, undefined, { onSealed: (seal) => book.onSealed(TENANT, seal) });
    expect(await api.reconcile({})).toMatchObject({ ok: true });
    expect(() => book.close()).not.toThrow();
  });

  test("a line that was cut short swallows no later receipt", async () => {
    await writeFile(path("torn"), '{"tenant":"acme","se');
    await receipted("torn", (api) => api.reconcile({}));
    const [torn, whole] = (await readFile(path("torn"), "utf8")).split("\n");
    expect(torn).toBe('{"tenant":"acme","se');
    expect(JSON.parse(whole ?? "")).toMatchObject({ seq: (await latest()).seq });
    await expect(anchorsIn("torn")).rejects.toThrow("torn:1 is neither a receipt");
  });

  test("two genuine anchors of one entry are evidence for the log to answer, and strange lines count for nothing", async () => {
    const entry = { seq: 3n, hash: "a".repeat(64), ts: "2026-01-02T03:04:05.678Z" };
    const one = signAnchor(TENANT, entry, KEYS[0] as AuditKey);
    const other = signAnchor(TENANT, { ...entry, hash: "b".repeat(64) }, KEYS[0] as AuditKey);
    const text = [one, other, { ...one, seq: 9 }].map((line) => JSON.stringify(line)).join("\n");
    await writeFile(path("two"), `${text}\n{"tenant":"acme","se\n`);
    const notes: string[] = [];
    const anchors = await anchorsIn("two", { note: (message) => void notes.push(message) });
    expect(anchors.map(({ hash }) => hash)).toEqual([one.hash, other.hash]);
    expect(notes).toEqual([expect.stringContaining("ignored 2 lines")]);
    expect(anchors[0]?.source).toBe(`anchored in ${path("two")}`);
    expect(await verify({ anchor: "two" })).toMatchObject({ exit: 8, report: { broken: { kind: "set-back" } } });
    await writeFile(path("two"), JSON.stringify({ ...one, seq: 9 }));
    await expect(anchorsIn("two")).rejects.toThrow("no anchor and no receipt of acme; ignored: 1 line");
  });

  test("receipts are appended, and a file that cannot be written is told before anything changes", async () => {
    for (let turn = 0; turn < 2; turn++) await receipted("many", (api) => api.reconcile({}));
    expect(await anchorsIn("many")).toHaveLength(2);
    const { seq } = await latest();
    await expect(receipted("none/here", (api) => api.reconcile({}))).rejects.toMatchObject({ code: "USAGE" });
    expect((await latest()).seq).toBe(seq);
    await expect(anchorsIn("many", { tenant: "other" })).rejects.toMatchObject({ code: "USAGE" });
  });

  test("an anchor that the chain goes through holds", async () => {
    await receipted("anchor", (api) => api.reconcile({}));
    await door.api().reconcile({});
    expect(await verify({ anchor: "anchor" })).toMatchObject({ exit: 0, report: { verified: true } });
  });

  test.each([{ ts: "2020-01-01T00:00:00.000Z" }, { keyId: "ak_000000000000" }])(
    "a receipt that states %j of an entry of the log is refused, also beside the true one",
    async (change) => {
      await rm(path("stated"), { force: true });
      await receipted("stated", (api) => api.reconcile({}));
      const text = await readFile(path("stated"), "utf8");
      const altered = JSON.stringify({ ...JSON.parse(text), ...change });
      await writeFile(path("stated"), `${altered}\n${text}`);
      const verifier = chainVerifier(name === "db" ? door.services : undefined, KEYS);
      await expect(verifier(door.api(), { anchors: await anchorsIn("stated") })).rejects.toMatchObject({
        code: "USAGE",
        message: expect.stringContaining(`in ${path("stated")}, but with the`),
      });
    },
  );

  test("a tail that was cut with its head row, or sealed anew with the key, does not hold against a receipt", async () => {
    await receipted("tail", (api) => api.reconcile({}));
    const { seq } = await latest();
    const rows = await owner`select * from audit where seq = ${seq}`;
    const [head] = await owner`select * from head`;
    await owner`delete from audit where seq = ${seq}`;
    await owner`update head set (seq, hash) = (select seq, hash from audit order by seq desc limit 1)`;
    const cut = await verify({ anchor: "tail" });
    expect(cut).toMatchObject({ exit: 8, report: { verified: false, broken: { seq } } });
    expect(cut.report.broken.problem).toContain(`receipt for entry ${seq}`);

    // This process remembers its acknowledged entries and would refuse; a forger with the key does not.
    const { connection } = door.database;
    const forger = await openTenant({ tenantId: TENANT, connection, auditSecret: AUDIT_SECRET, connections: 8 });
    await invoke(forger.handlers, "reconcile", {}, { actor: "cli:mallory" });
    await forger.close();
    const rewritten = await verify({ anchor: "tail" });
    expect(rewritten).toMatchObject({ exit: 8, report: { broken: { seq, computed: rows[0]?.hash } } });
    await owner`delete from audit where seq >= ${seq}`;
    await owner`insert into audit ${owner(rows as never)}`;
    await owner`update head set seq = ${head?.seq}, hash = ${head?.hash}`;
  });

  test("incremental verification goes on from the last verified point; a full one does not believe it", async () => {
    expect((await verify()).exit).toBe(0);
    await door.api().reconcile({});
    const { seq } = await latest();
    const [early] = await owner`select actor from audit where seq = 2`;
    await owner`update audit set actor = 'cli:mallory' where seq = 2`;
    // A server that verifies the whole by itself says what it found, whatever it is asked.
    const exit = name === "db" ? 0 : 8;
    expect(await verify({ incremental: true })).toMatchObject({ exit, report: { count: seq } });
    expect(await verify()).toMatchObject({ exit: 8, report: { broken: { seq: 2 } } });
    await owner`update audit set actor = ${early?.actor} where seq = 2`;
    await writeVerifiedPoint(directory, TENANT, { seq: BigInt(seq), hash: GENESIS_HASH });
    // The point is wrong, and the chain is not: only the latter is what is verified from the first entry on.
    expect((await verify({ incremental: true })).exit).toBe(0);
  });

  describe("an export", () => {
    let lines: string[];
    beforeAll(async () => {
      const io = testIo({ format: "json" });
      await end(io, () => runAuditExport({ out: path("export") }, door.api(), io));
      const text = await readFile(path("export"), "utf8");
      lines = text.trim().split("\n");
      expect(JSON.parse(io.stdout.text)).toMatchObject({ file: path("export"), entries: lines.length });
    });

    const altered = async (change: (lines: string[]) => string[]) => {
      await writeFile(path("altered"), change([...lines]).join("\n"));
      return verifyFile(path("altered"), KEYS);
    };

    test("has every entry in order, on stdout as in a file, and verifies offline", async () => {
      const io = testIo();
      await end(io, () => runAuditExport({}, door.api(), io));
      expect(io.stdout.text.trim().split("\n")).toEqual(lines);
      expect(lines.map((line) => JSON.parse(line).seq)).toEqual(lines.map((_, index) => index + 1));
      const { seq, hash } = await latest();
      expect(await verifyFile(path("export"), KEYS)).toEqual({ verified: true, count: seq, head: hash });
    });

    test("fills a pipe and the file behind a link, and leaves both what they are", async () => {
      const io = testIo({ format: "table" });
      await promisify(execFile)("mkfifo", [path("pipe")]);
      const read = readFile(path("pipe"), "utf8");
      expect((await end(io, () => runAuditExport({ out: path("pipe") }, door.api(), io))).exit).toBe(0);
      expect((await lstat(path("pipe"))).isFIFO()).toBe(true);
      await writeFile(path("target"), "old");
      await symlink(path("target"), path("link"));
      await end(io, () => runAuditExport({ out: path("link") }, door.api(), io));
      expect((await lstat(path("link"))).isSymbolicLink()).toBe(true);
      expect(await readFile(path("target"), "utf8")).toBe(await read);
    });

    test("that was altered, shortened in the middle, or says something else than its sealed text does not", async () => {
      const replace = (index: number, from: string, to: string) => (all: string[]) =>
        all.with(index, all[index]?.replace(from, to) ?? "");
      expect((await altered(replace(3, '"actor":"', '"actor":"x'))).broken?.seq).toBe(4);
      expect((await altered((all) => all.toSpliced(3, 1))).broken?.seq).toBe(4);
      const index = lines.findIndex((line) => line.includes('"payload":{"discrepancy":0'));
      const at = index < 0 ? lines.findIndex((line) => line.includes('"type":"reconcile.run"')) : index;
      const entry = JSON.parse(lines[at] ?? "") as Entry;
      const lied = JSON.stringify({ ...entry, payload: { ...entry.payload, ok: false } });
      expect((await altered((all) => all.with(at, lied))).broken?.seq).toBe(at + 1);
      await expect(altered(() => ["{}"])).rejects.toMatchObject({ code: "USAGE" });
      await expect(verifyFile(path("nowhere"), KEYS)).rejects.toMatchObject({ code: "USAGE" });
    });

    test("can be recomputed from its texts and the key alone, as openssl dgst -hmac does", () => {
      const [before, entry] = lines.slice(0, 2).map((line) => JSON.parse(line) as Entry);
      const { keyId, seq, ts, type, actor, payloadText } = entry as Entry;
      const text = ["pmctl-audit-v1", before?.hash, keyId, seq, ts, type, actor, payloadText].join("\n");
      expect(createHmac("sha256", AUDIT_SECRET).update(text).digest("hex")).toBe(entry?.hash);
    });
  });
});
