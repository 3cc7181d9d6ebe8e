import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";

const FLEET = `version: 1
waves:
  - { name: canary, select: tier=canary }
  - { name: rest, tenants: ["acme-*"], parallelism: 2 }
`;

let operator: Operator;
const run = (...args: string[]) => operator.run(...args);
const plan = (...args: string[]) => run("fleet", "plan", ...args, "-o", "json");
const fleetFile = (text: string) => writeFile(join(operator.directory, "fleet.yaml"), text);

beforeAll(async () => {
  operator = await newOperator();
  for (const [tenant, labels] of Object.entries({
    "acme-eu": "{}",
    "acme-us": "{}",
    lab: "{ tier: canary }",
    lone: "{}",
  })) {
    await run("init", tenant);
    await appendFile(join(operator.directory, "tenants", tenant, "tenant.yaml"), `\nlabels: ${labels}\n`);
  }
  await fleetFile(FLEET);
  expect((await run("apply", "lab", "acme-eu")).exitCode).toBe(0);
});
afterAll(() => operator?.close());

describe("the fleet", () => {
  test("plan shows every tenant in its wave, what each apply would come to, and who is left out", async () => {
    const shown = await plan();
    expect(shown.exitCode, shown.stderr).toBe(0);
    const { waves, unassigned, totals } = JSON.parse(shown.stdout);
    expect(waves).toMatchObject([
      {
        name: "canary",
        parallelism: 1,
        tenants: [
          {
            tenant: "lab",
            labels: { tier: "canary" },
            url: null,
            state: "unchanged",
            changes: 0,
            loosens: 0,
            problem: null,
          },
        ],
      },
      {
        name: "rest",
        parallelism: 2,
        tenants: [
          { tenant: "acme-eu", state: "unchanged" },
          { tenant: "acme-us", state: "changed", changes: expect.any(Number), problem: null },
        ],
      },
    ]);
    expect(unassigned).toEqual(["lone"]);
    expect(totals).toEqual({ tenants: 3, changed: 1, unchanged: 2, refused: 0, unreachable: 0 });
    expect((await plan("--detailed-exitcode")).exitCode).toBe(2);
  });

  test("the plan is a table for people and Markdown for build servers, there with -o markdown too", async () => {
    const summary = join(operator.directory, "summary.md");
    const table = await operator.runWith({ GITHUB_STEP_SUMMARY: summary }, "fleet", "plan", "-o", "table");
    expect(table.stdout).toMatch(/^WAVE .*PROBLEM\ncanary +lab +unchanged/);
    expect(table.stderr).toContain(
      "3 tenants: 1 changed, 2 unchanged, 0 refused, 0 unreachable.\nNo wave selects lone",
    );
    const { stdout } = await run("fleet", "plan", "-o", "markdown");
    expect(stdout).toMatch(
      /^\| WAVE \| TENANT \|.*\n\| --- \|.*\n\| canary \| lab \| unchanged \| 0 \| 0 \| - \| - \|/,
    );
    expect(await readFile(summary, "utf8")).toContain(stdout);
  });

  test("in the plan drift is refused as an apply would, a tenant that cannot be planned hides no other, and 10 says so", async () => {
    await run("policy", "set", "-t", "lab", "feeBps=1", "--yes");
    await fleetFile(`${FLEET}tenants: { acme-us: { url: http://127.0.0.1:1 } }\n`);
    const shown = await operator.runWith({ ACME_EU_AUDIT_KEY: "" }, "fleet", "plan", "-o", "json");
    expect(shown.exitCode, shown.stderr).toBe(10);
    const { waves, totals } = JSON.parse(shown.stdout);
    expect(waves[0].tenants).toMatchObject([
      { tenant: "lab", state: "refused", problem: expect.stringContaining("policy.feeBps") },
    ]);
    expect(waves[1].tenants).toMatchObject([
      { tenant: "acme-eu", state: "refused", problem: expect.stringContaining("ACME_EU_AUDIT_KEY") },
      { tenant: "acme-us", state: "unreachable", url: "http://127.0.0.1:1", problem: expect.any(String) },
    ]);
    expect(totals).toEqual({ tenants: 3, changed: 0, unchanged: 0, refused: 2, unreachable: 1 });
    const elsewhere = await operator.runWith(
      { PMCTL_URL_ACME_US: "https://127.0.0.1:2" },
      "fleet",
      "plan",
      "-o",
      "json",
    );
    expect(JSON.parse(elsewhere.stdout).waves[1].tenants[1].url).toBe("https://127.0.0.1:2");
  });

  test("fleet drift names what was changed live, by whom and why, in the order of the waves", async () => {
    await run("policy", "set", "-t", "acme-eu", "maxTradeUsd=40", "--yes", "--reason", "incident 7");
    const drift = async (...args: string[]) => run("fleet", "drift", ...args);
    const unreached = await drift("-o", "json");
    expect(unreached).toMatchObject({ exitCode: 9, stderr: expect.stringContaining("acme-us was not looked at") });
    await fleetFile(FLEET);
    const drifted = await drift("-o", "json");
    expect(drifted).toMatchObject({
      exitCode: 3,
      stdout: unreached.stdout,
      stderr: expect.stringContaining("lab has drifted: policy.feeBps; acme-eu has drifted: policy.maxTradeUsd"),
    });
    expect(JSON.parse(drifted.stdout)).toEqual([
      {
        tenant: "lab",
        field: "policy.feeBps",
        applied: 100,
        live: 1,
        by: expect.stringMatching(/^cli:/),
        at: expect.any(String),
        reason: null,
      },
      expect.objectContaining({ tenant: "acme-eu", field: "policy.maxTradeUsd", live: 40, reason: "incident 7" }),
    ]);
    expect((await drift("-o", "markdown")).stdout).toContain("| lab | policy.feeBps | 100 | 1 | cli:");
    expect((await run("apply", "lab", "acme-eu", "--on-drift", "overwrite", "--accept-loosening")).exitCode).toBe(0);
    expect(await drift("-o", "json")).toMatchObject({ exitCode: 0, stdout: "[]" });
  });

  test("ends with 6 and the place for a file that is not valid, and with 5 when no wave selects a tenant", async () => {
    await fleetFile("version: 1\nwaves: [{ name: a, select: 'a==b' }]\n");
    expect(await plan()).toMatchObject({ exitCode: 6, stderr: expect.stringContaining("fleet.yaml:2:28") });
    await fleetFile("version: 1\nwaves: [{ name: a, select: 'nowhere' }]\n");
    expect((await plan()).exitCode).toBe(5);
    expect((await plan("-t", "lab")).exitCode).toBe(6);
  });
});
