import { copyFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Operator } from "../support/operator.ts";

/** The texts that the YAML library was given, in order. */
const parsed: string[] = [];
let operator: Operator;

beforeAll(async () => {
  // The library is CommonJS: modules that import it from here on take what stands in its exports now.
  const yaml = createRequire(import.meta.url)("yaml") as typeof import("yaml");
  const { parseDocument } = yaml;
  const noted: typeof parseDocument = (text, options) => {
    parsed.push(text);
    return parseDocument(text, options);
  };
  Object.assign(yaml, { parseDocument: noted });
  const { newOperator } = await import("../support/operator.ts");
  operator = await newOperator();
  await operator.run("init", "acme");
  const markets = join(operator.directory, "tenants/acme/markets");
  await copyFile(join(markets, "example.yaml.sample"), join(markets, "example.yaml"));
});
afterAll(() => operator?.close());

// In order: drift and a second plan have a database to look at.
test.each([["validate"], ["plan"], ["apply", "--yes"], ["plan"], ["drift"]])(
  "%s parses the tenant file once, and each market file once",
  async (...args) => {
    parsed.length = 0;
    const { exitCode, stderr } = await operator.run(...args);
    expect(exitCode, stderr).toBe(0);
    expect(parsed.filter((text) => text.includes("tenant: acme"))).toHaveLength(1);
    expect(parsed).toHaveLength(2);
  },
);

test.each([
  ["validate", 1],
  ["plan", 1],
  ["apply", 1],
])("%s parses the files of four tenants once, or that of the one alone which it is for", async (command, times) => {
  const tenants = ["acme", "beta", "gamma", "delta"];
  for (const tenant of tenants) await operator.run("init", tenant);
  const count = (tenant: string) => parsed.filter((text) => text.includes(`tenant: ${tenant}`)).length;
  parsed.length = 0;
  const all = await operator.run(command, "*");
  expect(all.exitCode, all.stderr).toBe(0);
  expect(tenants.map(count)).toEqual([times, times, times, times]);
});

test("fleet plan parses each tenant's file as often for four tenants as for two: labels, the plan", async () => {
  for (const tenants of [
    ["acme", "beta"],
    ["acme", "beta", "gamma", "delta"],
  ]) {
    for (const tenant of tenants) await operator.run("init", tenant);
    await writeFile(join(operator.directory, "fleet.yaml"), 'version: 1\nwaves: [{ name: all, tenants: ["*"] }]\n');
    parsed.length = 0;
    const { exitCode, stderr } = await operator.run("fleet", "plan");
    expect(exitCode, stderr).toBe(0);
    for (const tenant of tenants) expect(parsed.filter((text) => text.includes(`tenant: ${tenant}`))).toHaveLength(2);
  }
});
