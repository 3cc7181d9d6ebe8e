import { chown, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorDirectory, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

describe("the operator's directory", () => {
  let directory: TestDirectory;
  let below: string;
  beforeAll(async () => {
    directory = await operatorDirectory({ cluster: "none" });
    await pmctlHere(["init", "acme"], directory);
    below = join(directory.cwd, "tenants/acme/markets");
    await mkdir(join(directory.cwd, "elsewhere"));
  });
  afterAll(() => directory.remove());

  const listed = async (cwd: string, ...flags: string[]) => {
    const { code, stdout, stderr } = await pmctlHere(["tenant", "list", ...flags, "-o", "json"], { cwd });
    return code === 0 ? JSON.parse(stdout).map(({ tenant }: { tenant: string }) => tenant) : { code, stderr };
  };

  test("is the nearest one upwards with tenants", async () => {
    expect(await listed(below)).toEqual(["acme"]);
    expect(await listed(join(directory.cwd, "elsewhere"))).toEqual(["acme"]);
  });

  test("is what -C says, and files on the line stay relative to the current one", async () => {
    expect(await listed("/", "-C", directory.cwd)).toEqual(["acme"]);
    expect(await listed(below, "--directory", "/tmp/..")).toEqual([]);
    const seen = await pmctlHere(["-C", directory.cwd, "market", "create", "-f", "none.yaml"], { cwd: "/" });
    expect(seen).toMatchObject({ code: 6, stderr: expect.stringContaining("none.yaml") });
    expect(await listed("/", "-C", "/nowhere")).toEqual({ code: 6, stderr: expect.stringContaining("-C /nowhere") });
  });

  test("of init is the current one, or what -C says", async () => {
    const cwd = join(directory.cwd, "elsewhere");
    await pmctlHere(["init", "zoe"], { cwd });
    await pmctlHere(["init", "yan", "-C", cwd], { cwd: "/" });
    expect(await listed(cwd)).toEqual(["yan", "zoe"]);
    await rm(join(cwd, "tenants"), { recursive: true });
  });

  test("upwards no folder of another owner counts", async () => {
    // Only root may give a folder away.
    if (process.getuid?.() !== 0) return;
    await chown(join(directory.cwd, "tenants"), 65_534, 65_534);
    expect(await listed(join(directory.cwd, "elsewhere"))).toEqual([]);
    expect(await listed(directory.cwd)).toEqual(["acme"]);
    await chown(join(directory.cwd, "tenants"), 0, 0);
  });

  test("PMCTL_OUTPUT is the format of a command without -o, and a wrong one ends with 6", async () => {
    const run = async (format: string, ...flags: string[]) =>
      pmctlHere(["tenant", "list", "--fields", "tenant", ...flags], { ...directory, env: { PMCTL_OUTPUT: format } });
    expect((await run("csv")).stdout).toBe("tenant\r\nacme\r\n");
    expect((await run("csv", "-o", "ndjson")).stdout).toBe('{"tenant":"acme"}\n');
    expect((await run("")).stdout).toContain("[");
    expect(await run("nosuch")).toMatchObject({ code: 6, stdout: "", stderr: expect.stringContaining("PMCTL_OUTPUT") });
    expect((await run("nosuch", "-o", "ndjson")).code).toBe(0);
  });
});
