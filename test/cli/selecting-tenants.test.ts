import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sharedOperator } from "../support/shared-operator.ts";
import { pmctlHere } from "./support/pmctl.ts";

const LABELS = {
  "acme-eu": "{ region: eu, tier: gold }",
  "acme-us": "{ region: us, tier: gold }",
  beta: "{ region: eu }",
};

const { operator, run } = sharedOperator(async ({ run: begin, edit }) => {
  for (const [tenant, labels] of Object.entries(LABELS)) {
    await begin("init", tenant);
    await edit(tenant, (text) => `${text}\nlabels: ${labels}\n`);
  }
});
/** The tenants of each row that a command printed. */
const tenantsOf = ({ stdout }: { stdout: string }) =>
  (JSON.parse(stdout) as { tenant: string }[]).map(({ tenant }) => tenant);

describe("commands that take several tenants", () => {
  test("list them with their labels", async () => {
    expect(JSON.parse((await run("tenant", "list")).stdout)).toMatchObject([
      { tenant: "acme-eu", labels: { region: "eu", tier: "gold" } },
      { tenant: "acme-us", labels: { region: "us", tier: "gold" } },
      { tenant: "beta", labels: { region: "eu" } },
    ]);
    expect((await run("tenant", "list", "-l", "!tier", "-o", "table")).stdout).toMatch(/^beta .*region=eu/m);
  });

  test.each(["validate", "render", "plan", "tenant list"])(
    "%s takes patterns and selectors, each narrowing",
    async (words) => {
      const command = words.split(" ");
      const chosen = async (...args: string[]) => tenantsOf(await run(...command, ...args, "-o", "json"));
      expect(await chosen("acme-*")).toEqual(["acme-eu", "acme-us"]);
      expect(await chosen("-l", "region=eu")).toEqual(["acme-eu", "beta"]);
      expect(await chosen("-l", "region=eu", "--selector", "tier")).toEqual(["acme-eu"]);
      expect(await chosen("acme-*", "-l", "region notin (eu)")).toEqual(["acme-us"]);
      expect(await chosen("-t", "b*", "-l", "region in (eu,us)")).toEqual(["beta"]);
    },
  );

  const COMMANDS = ["validate", "render", "plan", "apply", "drift", "history", "doctor", "tenant list"];

  test.each([...COMMANDS, "up"])(
    "%s ends with 5 when nothing is selected, and with 6 and the place for a bad selector",
    async (words) => {
      const command = words.split(" ");
      // Within this process, which `up` does not get to take over.
      const ended = (...choice: string[]) => pmctlHere([...command, ...choice], { cwd: operator.directory });
      expect(await ended("-t", "acme-*", "-l", "region=asia")).toMatchObject({ code: 5, stdout: "" });
      const bad = await ended("-l", "region=eu", "-l", "tier=gold,,region");
      expect(bad).toMatchObject({ code: 6, stdout: "", stderr: expect.stringContaining("At character 11: expected") });
    },
  );

  test("apply, history, drift and doctor go through those that are selected, each on its own", async () => {
    const applied = await run("apply", "-l", "tier=gold", "-o", "json");
    expect(applied.exitCode, applied.stderr).toBe(0);
    expect(JSON.parse(applied.stdout)).toMatchObject([
      { tenant: "acme-eu", changed: true },
      { tenant: "acme-us", changed: true },
    ]);
    expect(tenantsOf(await run("history", "*", "-o", "json"))).toEqual(["acme-eu", "acme-us"]);

    await run("policy", "set", "-t", "acme-us", "feeBps=1", "--yes");
    const drifted = await run("drift", "acme-*", "-o", "json");
    expect(drifted).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining("acme-us: drift of policy.feeBps"),
    });
    expect(JSON.parse(drifted.stdout)).toMatchObject([{ tenant: "acme-us", field: "policy.feeBps", live: 1 }]);
    const lame = await operator.runWith({ ACME_EU_AUDIT_KEY: "" }, "drift", "acme-*", "-o", "json");
    expect(lame).toMatchObject({ exitCode: 10, stderr: expect.stringContaining("acme-eu: was not looked at") });
    expect(tenantsOf(lame)).toEqual(["acme-us"]);
    expect((await run("drift", "acme-*", "--write")).exitCode).toBe(0);

    for (const tenant of ["acme-eu", "acme-us"])
      await operator.edit(tenant, (text) => text.replace("maxTradeUsd: 500", "maxTradeUsd: 499"));
    const told = await run("apply", "acme-eu,acme-us", "--yes", "--on-drift", "adopt");
    for (const tenant of ["acme-eu", "acme-us"])
      expect(told.stderr).toMatch(new RegExp(`^${tenant}: On record as audit entry \\d+, hash`, "m"));

    const { checks } = JSON.parse((await run("doctor", "-l", "region=us", "-o", "json")).stdout);
    expect(new Set(checks.map(({ tenant }: { tenant: string | null }) => tenant))).toEqual(new Set([null, "acme-us"]));
  });

  test("a tenant that cannot be reached is named in its error and in the next step, as data too", async () => {
    const env = { PMCTL_URL_ACME_US: "https://127.0.0.1:1" };
    for (const command of ["plan", "apply", "drift"]) {
      const { exitCode, stderr } = await operator.runWith(env, command, "acme-*", "-o", "json");
      expect([command, exitCode]).toEqual([command, 10]);
      const [line = ""] = stderr.split("\n").filter((each) => each.startsWith("{"));
      const { error, fix } = JSON.parse(line);
      expect(error).toMatch(/^acme-us: \S/);
      expect(fix).toMatch(/^pmctl (-C \S+ )?-t acme-us doctor/);
    }
  });

  test("new labels are nothing to apply: only the operator's commands read them", async () => {
    await operator.edit("acme-us", (text) => text.replace("tier: gold", "tier: iron"));
    const [plan] = JSON.parse((await run("plan", "-l", "tier=iron", "-o", "json")).stdout);
    expect(plan).toMatchObject({ tenant: "acme-us", empty: true, settings: [] });
  });

  test("a saved plan names its tenants itself", async () => {
    const out = join(operator.directory, "next.plan");
    expect((await run("plan", "-l", "tier=iron", "--out", out)).exitCode).toBe(0);
    expect(await run("apply", out, "-l", "tier")).toMatchObject({
      exitCode: 6,
      stderr: expect.stringContaining("--selector"),
    });
    expect(JSON.parse((await run("apply", out, "--dry-run", "-o", "json")).stdout)).toHaveLength(1);
  });
});
