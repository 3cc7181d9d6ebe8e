import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const { isBuildCurrent, sourceFingerprint } = (await import(
  new URL("../../bin/fingerprint.js", import.meta.url).href
)) as { isBuildCurrent(root: URL): boolean; sourceFingerprint(root: URL): string | undefined };

let directory: string;
let root: URL;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "pmctl-fingerprint-"));
  root = pathToFileURL(`${directory}/`);
  await mkdir(join(directory, "src", "domain"), { recursive: true });
  await mkdir(join(directory, "dist"));
  await writeFile(join(directory, "src", "domain", "money.ts"), "export const cents = 100;\n");
  await stamp();
});
afterEach(() => rm(directory, { recursive: true }));

const stamp = () => writeFile(join(directory, "dist", "fingerprint"), sourceFingerprint(root) ?? "");

test("a build is current until a source changes, and again once it is as it was", async () => {
  expect(isBuildCurrent(root)).toBe(true);
  const file = join(directory, "src", "domain", "money.ts");
  await writeFile(file, "export const cents = 101;\n");
  // A time that the file states is no evidence: an archive or a copy may set any.
  await utimes(file, 0, 0);
  expect(isBuildCurrent(root)).toBe(false);
  await writeFile(file, "export const cents = 100;\n");
  expect(isBuildCurrent(root)).toBe(true);
});

test.each([
  ["comes", () => writeFile(join(directory, "src", "new.ts"), "")],
  ["goes", () => rm(join(directory, "src", "domain", "money.ts"))],
])("a file that %s makes the build old", async (_, change) => {
  await change();
  expect(isBuildCurrent(root)).toBe(false);
});

test("without a stamp there is no build, and without sources nothing to compare it with", async () => {
  await rm(join(directory, "dist", "fingerprint"));
  expect(isBuildCurrent(root)).toBe(false);
  await rm(join(directory, "src"), { recursive: true });
  expect(sourceFingerprint(root)).toBeUndefined();
});
