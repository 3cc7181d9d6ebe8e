import { execFileSync } from "node:child_process";
import { appendFile, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseAnchor, signAnchor } from "../../src/domain/audit/anchor.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { newestOf } from "../../src/domain/audit/set-back.ts";
import { fileTarget } from "../../src/outgoing/anchor-targets.ts";
import { appendAnchor, appendToDirectory, directoryAnchors } from "../../src/services/anchors/anchor-file.ts";
import { AnchorWriter } from "../../src/services/anchors/anchor-writer.ts";
import { knownAnchors, scansOf } from "../../src/services/anchors/known-anchors.ts";

const KEY = auditKey("the audit key of these tests, long enough");
const TS = "2026-01-02T03:04:05.678Z";
const line = (seq: number, key = KEY) => signAnchor("acme", { seq: BigInt(seq), hash: "a".repeat(64), ts: TS }, key);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp("/tmp/pmctl-anchors-");
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const seqs = async (file: string) =>
  (await readFile(file, "utf8"))
    .split("\n")
    .slice(0, -1)
    .map((text) => parseAnchor(text)?.seq);

test("the directory's file stays small and never loses the newest lines or the highest entry", async () => {
  const file = directoryAnchors(directory, "acme");
  await appendToDirectory(directory, line(5_000_000), [KEY]);
  for (let seq = 1; seq <= 1200; seq++) await appendToDirectory(directory, line(seq), [KEY]);
  expect((await stat(file)).size).toBeLessThan(300 * 1024);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const kept = await seqs(file);
  expect(kept[0]).toBe(5_000_000);
  expect(kept.slice(-200)).toEqual(Array.from({ length: 200 }, (_, index) => 1001 + index));
  const { anchors } = await knownAnchors({ tenant: "acme", directory, files: [], keys: [KEY] });
  expect(newestOf(anchors)?.seq).toBe(5_000_000n);
  expect(anchors.at(-1)?.seq).toBe(1200n);
});

test("several writers lose nothing of each other while the file is made compact", async () => {
  const file = directoryAnchors(directory, "acme");
  await appendToDirectory(directory, line(1), [KEY]);
  await writeFile(file, `${JSON.stringify(line(1))}\n`.repeat(900), { mode: 0o600 });
  await Promise.all(Array.from({ length: 40 }, (_, index) => appendToDirectory(directory, line(100 + index), [KEY])));
  expect(new Set((await seqs(file)).slice(-80))).toEqual(
    new Set([1, ...Array.from({ length: 40 }, (_, i) => 100 + i)]),
  );
});

test("lines sealed with other keys do not push ours out when the file is made compact", async () => {
  const file = directoryAnchors(directory, "acme");
  await appendToDirectory(directory, line(300), [KEY]);
  const strange = JSON.stringify(line(9000, auditKey("the audit key of a stranger")));
  await appendFile(file, `${strange}\n`.repeat(2000));
  await appendToDirectory(directory, line(2), [KEY]);
  expect(await seqs(file)).toEqual([300, 2]);
});

test("a line that a crash cut short counts for nothing, and does not swallow the next one", async () => {
  const file = join(directory, "kept.ndjson");
  await appendAnchor(file, line(1));
  await appendFile(file, JSON.stringify(line(2)).slice(0, 40));
  expect(await seqs(file)).toEqual([1]);
  await appendAnchor(file, line(3));
  expect((await readFile(file, "utf8")).endsWith(`${JSON.stringify(line(3))}\n`)).toBe(true);
  const { anchors, faults } = await knownAnchors({ tenant: "acme", directory, files: [file], keys: [KEY] });
  expect(anchors.map(({ seq }) => seq)).toEqual([1n, 3n]);
  expect(faults).toEqual([]);
});

test("a line that is the file's newest already is not written again, and a missing folder is made", async () => {
  const file = join(directory, "mounted", "anchors", "kept.ndjson");
  for (const seq of [1, 2, 2, 12, 2]) await appendAnchor(file, line(seq));
  expect(await seqs(file)).toEqual([1, 2, 12, 2]);
  expect((await stat(join(directory, "mounted", "anchors"))).mode & 0o777).toBe(0o700);
});

test("lines of an earlier audit key count, those of unknown keys are named", async () => {
  const file = join(directory, "kept.ndjson");
  const [later, strange] = [auditKey("the next audit key of these tests"), auditKey("the audit key of a stranger")];
  for (const each of [line(1), line(2, later), line(3, strange)]) await appendAnchor(file, each);
  const { anchors, faults } = await knownAnchors({ tenant: "acme", directory, files: [file], keys: [later, KEY] });
  expect(anchors.map(({ seq }) => seq)).toEqual([1n, 2n]);
  expect(faults).toEqual([`${file}:3 has a bad signature`]);
});

const known = (file: string, scans?: Parameters<typeof knownAnchors>[1]) =>
  knownAnchors({ tenant: "acme", directory, files: [file], keys: [KEY] }, scans);

test.each([
  ["1 MiB of newlines", () => "\n".repeat(1024 * 1024), true],
  ["garbage without a newline in it", () => `${"x".repeat(3 * 1024 * 1024)}\n`, true],
  ["a line without an end", () => "x".repeat(3 * 1024 * 1024), false],
  [
    "another tenant's lines",
    () => `${JSON.stringify(signAnchor("other", { seq: 9n, hash: "b".repeat(64), ts: TS }, KEY))}\n`.repeat(8000),
    false,
  ],
  ["its own old lines, again and again", () => `${JSON.stringify(line(1))}\n`.repeat(8000), false],
])("%s behind the newest line hide it not", async (_, after, isNamed) => {
  const file = join(directory, "kept.ndjson");
  for (const seq of [1, 2, 300]) await appendAnchor(file, line(seq));
  await appendFile(file, after());
  const { anchors, faults } = await known(file);
  expect(newestOf(anchors)?.seq).toBe(300n);
  expect(anchors.length).toBeLessThan(70);
  expect(faults).toEqual(
    isNamed ? [expect.stringMatching(/kept\.ndjson has \d+ bytes that are not anchors, from line 4 on$/)] : [],
  );
});

test("what was read is remembered, and what was appended since is added; another file in its place is read anew", async () => {
  const file = join(directory, "kept.ndjson");
  const scans = scansOf({ tenant: "acme", directory, files: [file], keys: [KEY] });
  const seqsKnown = async () => (await known(file, scans)).anchors.map(({ seq }) => Number(seq));
  await appendAnchor(file, line(1));
  expect(await seqsKnown()).toEqual([1]);
  const text = `${JSON.stringify(line(2))}\n`;
  await appendFile(file, text.slice(0, 100));
  expect(await seqsKnown()).toEqual([1]);
  await appendFile(file, text.slice(100));
  expect(await seqsKnown()).toEqual([1, 2]);
  await writeFile(`${file}.new`, `${JSON.stringify(line(7))}\n`.repeat(9));
  await rename(`${file}.new`, file);
  expect(await seqsKnown()).toEqual(Array.from({ length: 9 }, () => 7));
});

test("a pipe or a device is refused with a message and without waiting; a link leads to its file", async () => {
  const [pipe, link, file] = ["pipe", "link", "kept.ndjson"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  execFileSync("mkfifo", [pipe]);
  for (const place of [pipe, "/dev/zero"]) {
    expect((await known(place)).faults).toEqual([`${place} is not a regular file`]);
    await expect(appendAnchor(place, line(1))).rejects.toThrow("is not a regular file");
  }
  await appendAnchor(file, line(5));
  await symlink(file, link);
  expect((await known(link)).anchors).toMatchObject([{ seq: 5n }]);
});

test("a place that a tenant file names is refused when what was opened is a link or another file", async () => {
  const [kept, link, notes, others] = ["kept", "link", "notes", "others"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
    string,
  ];
  await fileTarget(kept).write(line(1));
  await fileTarget(kept).write(line(2));
  expect(await seqs(kept)).toEqual([1, 2]);
  await symlink(kept, link);
  await expect(fileTarget(link).write(line(3))).rejects.toThrow("is a link");
  await writeFile(notes, "\nSECRET=1\n");
  await writeFile(others, `${JSON.stringify(signAnchor("other", { seq: 9n, hash: "b".repeat(64), ts: TS }, KEY))}\n`);
  for (const place of [notes, others])
    await expect(fileTarget(place).write(line(3))).rejects.toThrow("contains other data than anchors of acme");
  expect(await readFile(notes, "utf8")).toBe("\nSECRET=1\n");
  expect(await seqs(kept)).toEqual([1, 2]);
});

test("a file that cannot be read is named, and one that is not there is none", async () => {
  const { anchors, faults } = await knownAnchors({
    tenant: "acme",
    directory,
    files: [directory, join(directory, "none")],
    keys: [KEY],
  });
  expect(anchors).toEqual([]);
  expect(faults).toEqual([`${directory} is not a regular file`]);
});

test("a place that hangs or fails holds up no other, and gets the newest line again", async () => {
  const taken: number[] = [];
  const hanging: number[] = [];
  const failures: string[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const writer = new AnchorWriter({
    tenant: "acme",
    key: KEY,
    every: { entries: 1, minutes: 60 },
    newest: undefined,
    maySign: () => true,
    targets: [
      { kind: "file", place: "well", write: async ({ seq }) => void taken.push(seq) },
      {
        kind: "url",
        place: "hangs",
        write: async ({ seq }) => {
          hanging.push(seq);
          await released;
        },
      },
      {
        kind: "exec",
        place: "fails",
        write: async () => {
          throw new Error("no");
        },
      },
    ],
    onFailure: ({ kind }) => failures.push(kind),
  });
  const at = (seq: bigint) => ({ seq, hash: "a".repeat(64), ts: Date.parse(TS) });
  writer.consider(at(1n));
  writer.consider(at(2n), true);
  writer.consider(at(2n), true);
  await new Promise((resolve) => setImmediate(resolve));
  writer.consider(at(3n), true);
  release();
  await writer.idle();
  expect(taken.at(-1)).toBe(3);
  expect(hanging).toEqual([1, 3]);
  expect(failures.length).toBeGreaterThan(0);
  expect(writer.newest?.seq).toBe(3);
});
