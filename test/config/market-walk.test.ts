import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadTenant, loadTenantFile } from "../../src/config/tenant-file.ts";
import { workTime } from "../support/own-time.ts";
import { configErrorOf, directoryWith, tenantText } from "./support.ts";

const MARKET = `question: "Will it rain?"
category: weather
kind: lmsr
p0: 0.4
closeAt: 2096-01-01T00:00:00Z
resolutionRef: national weather service
`;

function tenant(patterns: string[], files: Record<string, string> = {}): { directory: string; file: string } {
  const text = tenantText({ markets: `{ files: ${JSON.stringify(patterns)} }` });
  const directory = join(directoryWith({ "tenants/acme/tenant.yaml": text, ...files }), "tenants/acme");
  return { directory, file: join(directory, "tenant.yaml") };
}

/** The complaints, found within the time that a person waits. */
function complaints(file: string): string[] {
  const worked = workTime();
  const error = configErrorOf(() => loadTenant(file));
  expect(worked()).toBeLessThan(2000);
  expect(error).toMatchObject({ code: "CONFIG_INVALID", exitCode: 6 });
  return error.problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`);
}

const keysOf = (file: string) => loadTenant(file).markets.map(({ key }) => key);

describe("markets.files", () => {
  test.each([
    "/**/*",
    "/etc/*.yaml",
    "../*.yaml",
    "../../.env",
    "markets/../../x.yaml",
    "{..,markets}/*.yaml",
    "a/{b,../..}/*",
  ])("%s leads out of the tenant's folder: refused by everything that reads the file", (pattern) => {
    const { file } = tenant([pattern]);
    const complaint = expect.stringMatching(/^7:\d+ markets\.files\[0\]: must be below the tenant's folder/);
    expect(complaints(file)).toEqual([complaint]);
    expect(configErrorOf(() => loadTenantFile(file)).problems).toHaveLength(1);
  });

  test("a link that leads out is refused, a file as a folder; within the folder links are files as any", () => {
    const { directory, file } = tenant(["markets/*.yaml", "markets/*/*.yaml", "plain.yaml"], {
      "elsewhere/a.yaml": `key: a\n${MARKET}`,
      "tenants/acme/kept/b.yaml": `key: b\n${MARKET}`,
    });
    mkdirSync(join(directory, "markets"));
    symlinkSync("../kept/b.yaml", join(directory, "markets/b.yaml"));
    symlinkSync("kept/b.yaml", join(directory, "plain.yaml"));
    // Three names of one market: only its key can say so.
    expect(complaints(file)).toEqual([expect.stringContaining("must be unique")]);
    symlinkSync("../../../elsewhere/a.yaml", join(directory, "markets/a.yaml"));
    expect(complaints(file).join("\n")).toContain(
      "markets.files[0]: markets/a.yaml leads out of the tenant's folder: market files must be below it",
    );
    symlinkSync("../../../elsewhere", join(directory, "markets/folder"));
    expect(complaints(file).join("\n")).toContain("markets.files[1]: markets/folder leads out");
  });

  test("a folder that holds itself is walked once", () => {
    const { directory, file } = tenant(["**/*.yml"], { "tenants/acme/a/b.yml": `key: b\n${MARKET}` });
    symlinkSync("..", join(directory, "a/again"));
    expect(keysOf(file)).toEqual(["b"]);
  });

  test("braces, classes and ./ mean what they mean in a shell, and hidden files are not matched by *", () => {
    const files = Object.fromEntries(
      ["a", "b", "c", ".d"].map((name) => [`tenants/acme/m/${name}.yaml`, `key: ${name.replace(".", "")}\n${MARKET}`]),
    );
    expect(keysOf(tenant(["./m/{a,b}.yaml"], files).file)).toEqual(["a", "b"]);
    expect(keysOf(tenant(["m/[bc].yaml"], files).file)).toEqual(["b", "c"]);
    expect(keysOf(tenant(["**/m/?.yaml"], files).file)).toEqual(["a", "b", "c"]);
  });

  test("a pattern of many stars and a long name that nearly fits take no time", () => {
    const pattern = `${"*a".repeat(200)}*b`;
    const { file } = tenant([pattern, `${"**/*/".repeat(80)}b`, "{*a*a*a*a*a*a*a*a*a*a*a*b,m/**/b}"], {
      [`tenants/acme/${"a".repeat(250)}`]: "",
      [`tenants/acme/m/${"a/".repeat(6)}a`]: "",
    });
    const worked = workTime();
    expect(keysOf(file)).toEqual([]);
    expect(worked()).toBeLessThan(2000);
  });

  test.each([
    ["+(+(+(a)))b", "has parentheses: only *, **, ?, [a-z] and {a,b} are wildcards"],
    ["{a,b}".repeat(20), "expands to too many patterns: list the files one by one"],
    ["{1..9}.yaml", "needs braces around a list, as {a,b}"],
    ["*.{yaml", "needs braces around a list, as {a,b}"],
    ["*.yaml}", "needs braces around a list, as {a,b}"],
  ])("%s is refused at its place", (pattern, message) => {
    expect(complaints(tenant([pattern]).file)).toEqual([expect.stringMatching(/^7:\d+ markets\.files\[0\]: /)]);
    expect(complaints(tenant([pattern]).file)[0]).toContain(message);
  });

  test("depth, number and size are bounded, each with a sentence that says what to do", () => {
    const deep = tenant(["**/*.yml"], { [`tenants/acme/${"d/".repeat(10)}a.yml`]: "" });
    expect(complaints(deep.file)).toEqual([expect.stringContaining("looks more than 8 folders deep, at d/d/d/d/d")]);

    const many = tenant(["m/*.yml"]);
    mkdirSync(join(many.directory, "m"));
    for (let index = 0; index <= 1000; index++) writeFileSync(join(many.directory, `m/${index}.yml`), "");
    expect(complaints(many.file).join("\n")).toContain("there are more than 1000 market files");

    const large = tenant(["m/*.yml"]);
    mkdirSync(join(large.directory, "m"));
    for (let index = 0; index < 33; index++)
      writeFileSync(join(large.directory, `m/${index}.yml`), Buffer.alloc(1024 * 1024));
    expect(complaints(large.file).join("\n")).toContain("the market files contain more than 32 MiB");
  });

  test("among thousands of other files the walk ends and asks for a folder", () => {
    const { directory, file } = tenant(["**/*.yml"]);
    mkdirSync(join(directory, "x"));
    for (let index = 0; index <= 5000; index++) writeFileSync(join(directory, `x/${index}`), "");
    expect(complaints(file)).toEqual([expect.stringContaining("name the folder of the market files")]);
  });
});
