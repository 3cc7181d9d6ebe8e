import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { execa } from "execa";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { schemaDocument } from "../../src/app/schema-documents.ts";
import { packageVersion } from "../../src/config/package-version.ts";
import { renewBuild } from "../support/build.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MOST_BYTES = 5_000_000;

/** What the build and the repository put beside each other, as far as it may matter to what is packed. */
const CHECKOUT = [
  "bin",
  "dist",
  "docs",
  "migrations",
  "templates",
  "tenants",
  "README.md",
  "LICENSE",
  "CHANGELOG.md",
  "package.json",
];
/** What work in a checkout leaves behind. */
const STRAYS = [
  ...[
    ".env",
    ".env.local",
    ".pmctl/postgres/data",
    "pmctl-0.0.9.tgz",
    "src/cli/main.ts",
    "test/x.test.ts",
    "tsconfig.json",
  ],
  ...[
    "dist/.compile-cache/v24/a",
    "dist/cli/main.js.map",
    "dist/cli/main.ts",
    "docs/.DS_Store",
    "docs/design/adr/.notes.md",
  ],
  ...["tenants/acme/tenant.yaml", "tenants/demo/.env", "tenants/demo/.pmctl/x", "tenants/demo/audit.log"],
  ...["node_modules/left/index.js", "test/output/x", "server.log"],
];
const CONTENTS =
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|bin\/pmctl[\w-]*(\.c?js)?|dist\/(?!\.)[\w/.-]+|migrations\/\d{4}_\w+\.sql|templates\/(deploy\/(\w+\/)?)?[\w.-]+|tenants\/demo\/(tenant|markets\/[\w-]+)\.yaml|docs\/(design\/(adr\/)?|guides\/|reference\/|start\/|tour\/)?[\w-]+\.md|docs\/concepts\/[\w-]+\.(md|svg)|docs\/guides\/samples\/[\w-]+\.(py|mjs|go))$/;

interface Packed {
  filename: string;
  unpackedSize: number;
  files: { path: string; mode: number }[];
}

let place: string;
let packed: Packed;
let tarball: Buffer;
/** The package as npm would install it, with the dependencies of this checkout. */
let installed: string;

beforeAll(async () => {
  await renewBuild();
  place = await mkdtemp(join(tmpdir(), "pmctl-package-"));
  const checkout = join(place, "checkout");
  for (const name of CHECKOUT) await cp(join(ROOT, name), join(checkout, name), { recursive: true });
  for (const name of STRAYS) {
    await mkdir(dirname(join(checkout, name)), { recursive: true });
    await writeFile(join(checkout, name), "stray\n");
  }
  const { stdout } = await execa("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", place], {
    cwd: checkout,
    env: { NODE_OPTIONS: "" },
  });
  // npm 12 answers with an object by package, npm 11 with a list.
  [packed] = Object.values(JSON.parse(stdout)) as [Packed];
  tarball = await readFile(join(place, packed.filename));
  installed = join(place, "node_modules/pmctl");
  await mkdir(installed, { recursive: true });
  await execa("tar", ["-xzf", join(place, packed.filename), "-C", installed, "--strip-components=1"]);
  await symlink(join(ROOT, "node_modules"), join(installed, "node_modules"));
});
afterAll(() => rm(place, { recursive: true, force: true }));

const filesOf = async (directory: string) =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();

describe("the package", () => {
  test("holds what a run needs and nothing else, whatever the checkout has gathered", () => {
    const paths = packed.files.map(({ path }) => path);
    expect(packed.filename).toBe(`pmctl-${packageVersion().version}.tgz`);
    expect(paths.filter((path) => !CONTENTS.test(path) || STRAYS.includes(path))).toEqual([]);
    expect(paths).toEqual(expect.arrayContaining(["dist/cli/main.js", "dist/commit", "migrations/0001_ledger.sql"]));
    expect(packed.files.find(({ path }) => path === "bin/pmctl")?.mode).toBe(0o755);
    expect(packed.unpackedSize).toBeLessThanOrEqual(MOST_BYTES);
  });

  test("runs no script when it is installed", async () => {
    const { scripts, ...manifest } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
    for (const name of ["preinstall", "install", "postinstall"]) expect(scripts).not.toHaveProperty(name);
    expect(manifest).toMatchObject({ type: "module", sideEffects: false, private: true, engines: { node: ">=24.15" } });
  });

  test("passes publint, and attw, which looks at the types of what can be imported", async () => {
    const bytes = new Uint8Array(tarball);
    expect((await publint({ pack: { tarball: bytes.buffer }, strict: true })).messages).toEqual([]);
    const result = await checkPackage(createPackageFromTarballData(bytes));
    expect("problems" in result ? result.problems : []).toEqual([]);
  });

  test("exports its documents, as `pmctl schema` prints them", async () => {
    const load = createRequire(join(place, "reader.js"));
    expect(load("pmctl/openapi.json")).toEqual(JSON.parse(JSON.stringify(await schemaDocument("openapi"))));
    for (const name of ["tenant", "market"])
      expect(load(`pmctl/${name}.schema.json`)).toEqual(await schemaDocument(name));
    expect(load("pmctl/package.json")).toMatchObject({ name: "pmctl" });
    expect(() => load("pmctl/dist/cli/main.js")).toThrow('not defined by "exports"');
  });

  test("says its version and its build's commit, and keeps compiled code in the user's cache, where only the user writes", async () => {
    const before = await filesOf(installed);
    const cache = join(place, "cache");
    const version = (XDG_CACHE_HOME: string, HOME?: string) =>
      execa(join(installed, "bin/pmctl"), ["--version"], {
        cwd: place,
        env: { XDG_CACHE_HOME, NODE_COMPILE_CACHE: undefined, ...(HOME !== undefined && { HOME }) },
      });
    const { version: number, commit } = packageVersion();
    expect(commit).toMatch(/^([0-9a-f]{12}|unknown)$/);
    expect(await version(cache)).toMatchObject({ stdout: `${number} (${commit})`, stderr: "" });
    expect((await filesOf(join(cache, "pmctl/compiled"))).length).toBeGreaterThan(10);
    const shared = join(place, "shared");
    await mkdir(shared);
    await execa("chmod", ["777", shared]);
    await version(shared);
    expect(await filesOf(shared)).toEqual([]);
    // Without a home there is no cache, not even in the current directory.
    const there = await readdir(place);
    await version("", "");
    expect(await readdir(place)).toEqual(there);
    expect(await filesOf(installed)).toEqual(before);
  });

  test("on a Node.js that is too old says so in one sentence, and does nothing", async () => {
    const file = join(installed, "package.json");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(">=24.15", ">=99.15"));
    for (const program of ["pmctl", "pmctl.cjs", "pmctl.js"]) {
      const command = program === "pmctl" ? [] : [process.execPath];
      const [name = "", ...args] = [...command, join(installed, "bin", program), "demo"];
      const { exitCode, stdout, stderr } = await execa(name, args, { cwd: place, reject: false });
      expect({ exitCode, stdout, stderr }).toEqual({
        exitCode: 1,
        stdout: "",
        stderr: expect.stringMatching(/^pmctl needs Node\.js 99\.15 or newer, and \S+ is version [\d.]+\.$/),
      });
    }
    await writeFile(file, text);
  });
});
