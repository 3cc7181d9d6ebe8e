import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sharedOperator } from "../support/shared-operator.ts";

const WHY = ["--reason", "release weekend"];
const UNTIL = "2096-01-01T00:00:00Z";

const {
  operator,
  asked: run,
  done,
} = sharedOperator(async ({ run: begin, edit }) => {
  await begin("init", "acme");
  await edit("acme", (text) => text.replace("expected: true", "expected: false"));
  await begin("apply", "acme");
});
const fee = (bps: number) => operator.edit("acme", (text) => text.replace(/feeBps: \d+/, `feeBps: ${bps}`));

describe("freeze", () => {
  test("tells what is, takes a time and a reason, and refuses what is no freeze before the tenant is opened", async () => {
    const nothing = { tenant: "acme", frozenUntil: null, reason: null, by: null };
    expect(await done("freeze")).toEqual(nothing);
    for (const words of [
      ["--until", "2d"],
      ["--until", "31d", ...WHY],
      ["--until", UNTIL, ...WHY],
      ["--until", "2020-01-01T00:00:00Z", ...WHY],
      ["--until", "2026-01-31T18:00:00", ...WHY],
      ["--until", "2d", "--off", ...WHY],
    ])
      expect((await run("freeze", "acme", ...words)).exitCode, words.join(" ")).toBe(6);
    const frozen = await done("freeze", "acme", "--until", "30d", ...WHY);
    expect(frozen).toEqual({
      tenant: "acme",
      frozenUntil: expect.stringMatching(/Z$/),
      reason: "release weekend",
      by: expect.stringMatching(/^cli:/),
    });
    expect(await done("freeze")).toEqual(frozen);
  });

  test("plan lists it and ends with 3, apply and rollback end with 3 FROZEN, and the live policy can be changed", async () => {
    await fee(90);
    const plan = await run("plan", "acme");
    expect(plan.exitCode).toBe(3);
    expect(plan.data[0]).toMatchObject({
      freeze: { reason: "release weekend" },
      refusals: [{ reason: "freeze", field: null, flag: "--break-freeze" }],
    });
    expect(plan.stderr).toContain("acme is frozen until");
    expect(plan.stderr).toContain('"FROZEN"');
    const [{ seq }] = await done("history", "acme");
    for (const words of [
      ["apply", "acme"],
      ["rollback", "acme", "--to", String(seq)],
      ["apply", "acme", "--dry-run"],
    ]) {
      const { exitCode, stderr } = await run(...words, "--yes");
      expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: expect.stringMatching(/"code": ?"FROZEN"/) });
    }
    expect((await run("apply", "acme")).stderr).toContain('"FROZEN"');
    await done("policy", "set", "maxTradeUsd=450", "--yes", "--reason", "calmer");
    await done("policy", "set", "maxTradeUsd=500", "--yes", "--accept-loosening", "--reason", "as before");
  });

  test("the inbox shows it, and a fleet takes the tenant for refused", async () => {
    const items = await run("inbox", "--kind", "freeze", "--within", "1h");
    expect(items).toMatchObject({
      exitCode: 0,
      data: [{ kind: "freeze", severity: "info", id: "acme", title: expect.stringContaining("release weekend") }],
    });
    await writeFile(join(operator.directory, "fleet.yaml"), "version: 1\nwaves: [{ name: all, tenants: [acme] }]\n");
    expect((await done("fleet", "plan")).totals).toMatchObject({ refused: 1 });
    const fleet = await run("fleet", "apply", "--yes");
    expect(fleet.exitCode).toBe(3);
    expect(fleet.data.waves[0].tenants[0]).toMatchObject({
      state: "refused",
      problem: expect.stringContaining("is frozen until"),
    });
  });

  test("--break-freeze needs a reason, goes through, and the record says so", async () => {
    expect((await run("apply", "acme", "--break-freeze")).exitCode).toBe(6);
    const plan = await run("plan", "acme", "--break-freeze");
    expect({ exitCode: plan.exitCode, refusals: plan.data[0].refusals }).toEqual({ exitCode: 0, refusals: [] });
    const [{ changed }] = await done("apply", "acme", "--break-freeze", "--reason", "a bug");
    expect(changed).toBe(true);
    expect((await run("apply", "acme")).exitCode).toBe(3);
    expect(await done("freeze", "--off")).toMatchObject({ frozenUntil: null });
    await done("apply", "acme");
    const { stdout } = await operator.run("audit", "list", "--since", "1h", "-o", "table");
    expect(stdout).toMatch(/applied the tenant file, breaking the freeze until .*: "a bug"/);
    expect(stdout).toMatch(/froze the configuration until .*: "release weekend"/);
    expect(stdout).toContain("lifted the freeze that would have ended at");
    expect((await done("audit", "list", "--type", "config.frozen")).entries).toHaveLength(1);
  });
});
