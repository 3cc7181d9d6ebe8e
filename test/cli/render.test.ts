import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { operatorDirectory, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

let directory: TestDirectory;
beforeAll(async () => {
  directory = await operatorDirectory({ cluster: "none" });
  await pmctlHere(["init", "acme"], directory);
  const file = join(directory.cwd, "tenants/acme/tenant.yaml");
  const { readFile } = await import("node:fs/promises");
  await writeFile(file, `extends: ../base.yaml\n${await readFile(file, "utf8")}`);
  await writeFile(join(directory.cwd, "tenants/base.yaml"), "rateLimit:\n  perMinute: 77\n");
});
afterAll(() => directory.remove());

describe("render", () => {
  test("gives the merged file with the origin of each value, and shows no secret", async () => {
    const { code, stdout } = await pmctlHere(["render", "acme"], directory);
    expect(code).toBe(0);
    const [{ document, origins }] = JSON.parse(stdout);
    expect(document).toMatchObject({ tenant: "acme", rateLimit: { perMinute: 77 }, server: { port: 8080 } });
    expect(origins).toMatchObject({
      "rateLimit.perMinute": "tenants/base.yaml:2",
      tenant: expect.stringMatching(/^tenants\/acme\/tenant\.yaml:\d+$/),
      "server.port": "default",
      "keys.admin[0].secret.env": expect.stringMatching(/^tenants\/acme\/tenant\.yaml:\d+$/),
    });
  });

  test("prints in every format", async () => {
    for (const [format, read] of [
      ["json", JSON.parse],
      ["yaml", parse],
      [
        "ndjson",
        (text: string) =>
          text
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line)),
      ],
      ["csv", (text: string) => text.split("\r\n")],
      ["table", (text: string) => text.split("\n")],
    ] as const) {
      const { code, stdout } = await pmctlHere(["render", "-o", format], directory);
      expect({ format, code }).toEqual({ format, code: 0 });
      expect(read(stdout).length).toBeGreaterThan(0);
      expect(stdout).toContain("tenants/base.yaml:2");
    }
  });

  test("what it gives is a tenant file again", async () => {
    const [{ document }] = JSON.parse((await pmctlHere(["render"], directory)).stdout);
    await writeFile(join(directory.cwd, "tenants/acme/tenant.yaml"), JSON.stringify(document));
    const again = JSON.parse((await pmctlHere(["render"], directory)).stdout);
    expect(again[0].document).toEqual(document);
  });
});

describe("schema", () => {
  test.each([
    ["tenant", { $schema: "http://json-schema.org/draft-07/schema#", title: "pmctl tenant file" }],
    ["market", { $schema: "http://json-schema.org/draft-07/schema#", title: "pmctl market file" }],
    ["openapi", { openapi: expect.stringMatching(/^3\.1/) }],
  ])("%s is one JSON document on stdout", async (what, expected) => {
    const { code, stdout, stderr } = await pmctlHere(["schema", what], directory);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject(expected);
  });

  test("of something else is refused with 6", async () => {
    expect(await pmctlHere(["schema", "tenants"], directory)).toMatchObject({ code: 6, stdout: "" });
  });
});
