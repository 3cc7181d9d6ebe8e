import { describe, expect, test } from "vitest";
import { readEach } from "../../src/cli/input/tenants.ts";
import { sharedOperator } from "../support/shared-operator.ts";

describe("a line for several tenants", () => {
  const { operator } = sharedOperator(async ({ run: begin, edit }) => {
    for (const tenant of ["acme", "zoe"]) {
      await begin("init", tenant);
      await edit(tenant, (text) => `${text}\nlabels: { region: ${tenant === "acme" ? "eu" : "us"} }\n`);
    }
    const applied = await begin("apply", "acme", "zoe", "--yes");
    expect(applied.exitCode, applied.stderr).toBe(0);
    const credit = ["funding", "credit", "--amount", "1", "--reason", "x", "--new-user", "--yes"];
    for (const tenant of ["acme", "zoe"]) await begin(...credit, "--user", `u-${tenant}`, "-t", tenant);
  });

  const run = async (...words: string[]) => {
    const { exitCode, stdout, stderr } = await operator.run(...words);
    return { exitCode, stderr, data: stdout === "" ? undefined : JSON.parse(stdout) };
  };
  const tenantsIn = (data: { tenant: string }[]) => [...new Set(data.map(({ tenant }) => tenant))];

  test.each([
    ["names", ["-t", "zoe,acme"], ["zoe", "acme"]],
    ["a pattern", ["-t", "a*"], ["acme"]],
    ["labels", ["-l", "region=us"], ["zoe"]],
    ["--all", ["--all"], ["acme", "zoe"]],
  ] as const)("by %s: lists become one, with the tenant first in each item", async (_, flags, tenants) => {
    const { exitCode, data } = await run("key", "list", ...flags, "-o", "json");
    expect(exitCode).toBe(0);
    expect(tenantsIn(data)).toEqual(tenants);
    expect(data.map((item: object) => Object.keys(item)[0])).toEqual(data.map(() => "tenant"));
  });

  test("other results become an array, and --fields keeps the tenant", async () => {
    expect((await run("audit", "status", "--all", "--fields", "verified")).data).toEqual([
      { tenant: "acme", verified: true },
      { tenant: "zoe", verified: true },
    ]);
    const table = await operator.run("audit", "status", "--all", "-o", "table");
    expect(table.stdout).toMatch(/^TENANT +VERIFIED .*\nacme +yes .*\nzoe +yes /);
  });

  test.each([
    ["key list", "tenant,name"],
    ["market list", "tenant,key"],
    ["user list", "userId,tenant"],
    ["risk", "tenant"],
    ["freeze", "tenant,frozenUntil"],
  ])("%s --all takes --fields %s, and one tenant does where it prints that", async (line, fields) => {
    const words = line.split(" ");
    const { exitCode, data } = await run(...words, "--all", "--fields", fields);
    expect(exitCode).toBe(0);
    for (const item of data) expect(Object.keys(item).toSorted()).toEqual(fields.split(",").toSorted());
    expect((await operator.run(...words, "--all", "--fields", "?")).stdout).toContain("tenant");
    const one = await run(...words, "-t", "acme", "--fields", "tenant");
    expect(one.exitCode).toBe(line === "freeze" ? 0 : 6);
  });

  test("what is said begins with the tenant, and 10 says that some failed", async () => {
    const some = await run("user", "show", "u-zoe", "--all");
    expect(some).toMatchObject({ exitCode: 10, stderr: expect.stringMatching(/^pmctl: acme: /) });
    expect(some.data).toMatchObject([{ tenant: "zoe", userId: "u-zoe", balanceUsd: 1 }]);
    expect(await run("user", "show", "nobody", "--all")).toMatchObject({ exitCode: 5, data: undefined });
  });

  test("what changes one thing takes one tenant, and nothing is done to several", async () => {
    const both = await run("user", "restrict", "u-zoe", "--all");
    expect(both).toMatchObject({ exitCode: 6, data: undefined, stderr: expect.stringContaining("acme, zoe") });
    expect((await run("user", "restrict", "u-zoe", "-l", "region=us")).exitCode).toBe(0);
  });

  test("a tenant that stands as an argument may be a pattern or a list, as with -t", async () => {
    for (const line of [["pull"], ["freeze"]])
      expect(tenantsIn((await run(...line, "acme,zoe")).data)).toEqual(["acme", "zoe"]);
    expect(tenantsIn((await run("freeze", "z*")).data)).toEqual(["zoe"]);
    expect((await run("logs", "*")).exitCode).toBe(0);
    const changes = [
      ["pull", "--write"],
      ["freeze", "--off"],
      ["freeze", "--until", "2h", "--reason", "x"],
      ["rollback", "--to", "1"],
      ["logs", "--follow"],
      ["serve"],
    ];
    for (const [verb = "", ...flags] of changes)
      expect(await run(verb, "*", ...flags)).toMatchObject({
        exitCode: 6,
        data: undefined,
        stderr: expect.stringContaining("acme, zoe"),
      });
    expect(await run("pull", "x*")).toMatchObject({ exitCode: 5 });
  });

  test("commands that choose among tenants by themselves take comma lists and --all too", async () => {
    expect(tenantsIn((await run("history", "acme,zoe")).data)).toEqual(["acme", "zoe"]);
    expect(tenantsIn((await run("history", "--all")).data)).toEqual(["acme", "zoe"]);
    expect(tenantsIn((await run("history", "-t", "z*")).data)).toEqual(["zoe"]);
  });
});

test("several tenants are read at once, never more than eight, and what was read comes in their order", async () => {
  let underWay = 0;
  const seen: number[] = [];
  const tenants = Array.from({ length: 20 }, (_, index) => 20 - index);
  const read = await readEach(tenants, async (tenant) => {
    underWay += 1;
    seen.push(underWay);
    for (let turn = 0; turn < tenant; turn++) await Promise.resolve();
    underWay -= 1;
    return tenant;
  });
  expect(read).toEqual(tenants);
  expect(Math.max(...seen)).toBe(8);
});
