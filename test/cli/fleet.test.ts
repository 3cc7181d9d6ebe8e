import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { applyInRun, rollBackInRun } from "../../src/app/fleet/change-tenant.ts";
import type { Standing, Stands } from "../../src/app/fleet/fleet-run.ts";
import { commandEnvironment } from "../../src/app/fleet/gate.ts";
import { type ConfigSession, openConfigSession } from "../../src/app/tenant/config-session.ts";
import { sharedOperator } from "../support/shared-operator.ts";
import { pmctl } from "./support/pmctl.ts";

const FLEET = `version: 1
waves:
  - { name: canary, select: tier=canary }
  - { name: rest, tenants: ["acme-*"], parallelism: 2 }
`;

const { operator, run } = sharedOperator(async ({ run: begin, edit }) => {
  const labelled = { "acme-eu": "{}", "acme-us": "{}", lab: "{ tier: canary }", lone: "{}" };
  for (const [tenant, labels] of Object.entries(labelled)) {
    await begin("init", tenant);
    await edit(tenant, (text) => `${text.replace("expected: true", "expected: false")}\nlabels: ${labels}\n`);
  }
  await fleetFile(FLEET);
  expect((await begin("apply", "lab", "acme-eu")).exitCode).toBe(0);
});
const plan = (...args: string[]) => run("fleet", "plan", ...args, "-o", "json");
const fleetFile = (text: string) => writeFile(join(operator.directory, "fleet.yaml"), text);

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
    const nowhere = { GITHUB_STEP_SUMMARY: join(summary, "no-folder") };
    expect(await operator.runWith(nowhere, "fleet", "plan")).toMatchObject({
      exitCode: 0,
      stderr: expect.stringMatching(/GITHUB_STEP_SUMMARY: .*ENOTDIR/),
    });
  });

  test("in the plan drift is refused as an apply would, a tenant that cannot be planned hides no other, and 10 says so", async () => {
    await run("policy", "set", "-t", "lab", "feeBps=1", "--yes");
    await fleetFile(`${FLEET}tenants: { acme-us: { url: https://127.0.0.1:1 } }\n`);
    const shown = await operator.runWith({ ACME_EU_AUDIT_KEY: "" }, "fleet", "plan", "-o", "json");
    expect(shown.exitCode, shown.stderr).toBe(10);
    const { waves, totals } = JSON.parse(shown.stdout);
    expect(waves[0].tenants).toMatchObject([
      { tenant: "lab", state: "refused", problem: expect.stringContaining("policy.feeBps") },
    ]);
    expect(waves[1].tenants).toMatchObject([
      { tenant: "acme-eu", state: "refused", problem: expect.stringContaining("ACME_EU_AUDIT_KEY") },
      { tenant: "acme-us", state: "unreachable", url: "https://127.0.0.1:1", problem: expect.any(String) },
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
    expect(unreached).toMatchObject({ exitCode: 9, stderr: expect.stringContaining("acme-us: was not looked at") });
    await fleetFile(FLEET);
    const drifted = await drift("-o", "json");
    expect(drifted).toMatchObject({
      exitCode: 3,
      stdout: unreached.stdout,
      stderr: expect.stringContaining("lab: drift of policy.feeBps; acme-eu: drift of policy.maxTradeUsd"),
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

  test("holds the rules of each tenant, and what its treasury can fund, as plan and apply of one tenant do", async () => {
    const fees = (effect: string) =>
      `\nrules: [{ name: fees, expr: feeBps < 100, effect: ${effect}, message: too dear }]\n`;
    let file = "";
    await operator.edit("lab", (text) => {
      file = text;
      return text + fees("deny");
    });
    const ofLab = async (...args: string[]) => JSON.parse((await plan(...args)).stdout).waves[0].tenants[0];
    expect(await ofLab()).toMatchObject({ state: "refused", changes: 0, problem: expect.stringContaining("too dear") });
    await operator.edit("lab", (text) =>
      text.replace("effect: deny", "effect: approve").replace("maxTradeUsd: 500", "maxTradeUsd: 400"),
    );
    expect(await ofLab()).toMatchObject({ state: "refused", problem: expect.stringContaining("--accept-rule") });
    expect(await ofLab("--accept-rule", "fees")).toMatchObject({ state: "changed", problem: null });
    await operator.edit("lab", () => file);
    const rain = join(operator.directory, "tenants/lab/markets/rain.yaml");
    await writeFile(
      rain,
      "key: rain\nquestion: Rain?\ncategory: x\nkind: lmsr\np0: 0.5\ncloseAt: 2090-01-01T00:00:00Z\nresolutionRef: judge\nliquidityUsd: 200000\n",
    );
    for (const verb of ["plan", "apply"])
      expect(await run(verb, "lab", ...(verb === "apply" ? ["--yes"] : []))).toMatchObject({
        exitCode: 3,
        stderr: expect.stringContaining("the treasury cannot fund 1 new market"),
      });
    expect(await ofLab()).toMatchObject({ state: "refused", problem: expect.stringContaining("cannot be applied") });
    await rm(rain);
  });

  test("ends with 6 and the place for a file that is not valid, and with 5 when no wave selects a tenant", async () => {
    await fleetFile("version: 1\nwaves: [{ name: a, select: 'a==b' }]\n");
    expect(await plan()).toMatchObject({ exitCode: 6, stderr: expect.stringContaining("fleet.yaml:2:28") });
    await fleetFile("version: 1\nwaves: [{ name: a, select: 'nowhere' }]\n");
    expect((await plan()).exitCode).toBe(5);
    expect((await plan("-t", "lab")).exitCode).toBe(6);
  });

  test("a wave or a pattern that selects no tenant ends plan, apply and drift with 5 and its name, before anything is changed", async () => {
    const selecting = (canary: string) =>
      fleetFile(`version: 1\nwaves: [{ name: canary, ${canary} }, { name: rest, tenants: ["*"] }]\n`);
    const history = (await run("history", "lab", "-o", "json")).stdout;
    await operator.edit("lab", (text) => text.replace("feeBps: 100", "feeBps: 95"));
    await selecting("select: tier=canry");
    for (const verb of [["plan"], ["apply", "--yes", "--restart"], ["drift"]])
      expect(await run("fleet", ...verb)).toMatchObject({
        exitCode: 5,
        stderr: expect.stringContaining("wave canary selects no tenant by labels: tier=canry"),
      });
    await operator.edit("lab", (text) => text.replace("feeBps: 95", "feeBps: 100"));
    expect((await run("history", "lab", "-o", "json")).stdout).toBe(history);
    for (const [canary, stated] of [
      ["tenants: [lab, 'canary-*']", "tenants: canary-*"],
      ["select: tier=canary, tenants: ['acme-*']", "labels: tier=canary and tenants: acme-*"],
    ] as const) {
      await selecting(canary);
      expect((await plan()).stderr).toContain(`wave canary selects no tenant by ${stated}`);
    }
    await fleetFile("version: 1\nwaves: [{ name: all, tenants: ['*'] }, { name: gold, select: tier=canary }]\n");
    expect(await plan()).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("gold: nothing to do: all of its tenants are in earlier waves"),
    });
  });
});

describe("fleet apply", () => {
  const gate = (command: string) => `{ doctor: false, command: [sh, -c, ${JSON.stringify(command)}] }`;
  const waves = (command: string) => `version: 1
waves:
  - { name: canary, select: tier=canary, onFailure: rollback, gate: ${gate(command)} }
  - { name: rest, tenants: ["acme-*"], parallelism: 2, gate: { doctor: false, reconcile: false } }
`;
  const apply = (...args: string[]) => run("fleet", "apply", "--yes", "--allow-exec", "-o", "json", ...args);
  const file = (name: string) => join(operator.directory, name);
  const feeOf = async (tenant: string) =>
    JSON.parse((await run("policy", "show", "-t", tenant, "-o", "json")).stdout).feeBps;

  test("asks for --allow-exec before a gate runs a command, for --yes, and shows no run before the first", async () => {
    await fleetFile(waves("true"));
    expect(JSON.parse((await run("fleet", "status", "-o", "json")).stdout)).toEqual({
      run: null,
      state: "none",
      startedAt: null,
      endedAt: null,
      waves: [],
    });
    expect(await run("fleet", "apply", "--yes")).toMatchObject({
      exitCode: 6,
      stderr: expect.stringContaining("--allow-exec"),
    });
    expect(await run("fleet", "apply", "--allow-exec")).toMatchObject({
      exitCode: 6,
      stderr: expect.stringContaining("--yes"),
    });
  });

  test("a gate's command inherits the caller's variables but no tenant's secret, nor the leave to run programs", () => {
    const secrets = { LAB_ADMIN_KEY: "sk_1", ACME_EU_AUDIT_KEY: "k", ACME_US_READ_KEY: "sk_2", PMCTL_ALLOW_EXEC: "1" };
    const others = { PATH: "/bin", SMOKE_KEY: "pk_1", LAB_COLOUR: "green" };
    expect(commandEnvironment(operator.directory, { ...others, ...secrets })).toEqual(others);
  });

  test("a canary that fails its gate goes back to where it stood, drift included, and nothing behind it is touched", async () => {
    await fleetFile(waves("echo $PMCTL_WAVE of $PMCTL_TENANT at $PMCTL_URL >&2; test ! -e broken"));
    await writeFile(file("broken"), "");
    await operator.edit("lab", (text) => text.replace("feeBps: 100", "feeBps: 90"));
    await run("policy", "set", "-t", "lab", "feeBps=7", "--yes");
    const failed = await apply("--on-drift", "overwrite", "--accept-loosening");
    expect(failed.exitCode, failed.stderr).toBe(10);
    const status = JSON.parse(failed.stdout);
    expect(status).toMatchObject({
      run: expect.any(String),
      state: "failed",
      startedAt: expect.any(String),
      endedAt: expect.any(String),
      waves: [
        {
          name: "canary",
          state: "rolledBack",
          tenants: [{ tenant: "lab", state: "rolledBack", seq: expect.any(Number), problem: null }],
        },
        { name: "rest", state: "pending", gate: [], tenants: [{ state: "pending" }, { state: "pending" }] },
      ],
    });
    expect(status.waves[0].gate).toEqual([
      { check: "reconcile", tenant: "lab", ok: true, found: expect.any(String) },
      { check: "chain", tenant: "lab", ok: true, found: expect.stringContaining("entries verified") },
      {
        check: "command",
        tenant: "lab",
        ok: false,
        found: "ended with 1: canary of lab at https://predict.lab.example",
      },
    ]);
    expect(JSON.parse((await run("fleet", "status", "-o", "json")).stdout)).toEqual(status);
    expect(await feeOf("lab")).toBe(7);
    expect((await run("drift", "lab")).exitCode).toBe(3);
  });

  test("mended it goes on to the end, with a table, Markdown for build servers, and a line for each step", async () => {
    await rm(file("broken"));
    const summary = file("apply.md");
    const done = await operator.runWith(
      { GITHUB_STEP_SUMMARY: summary },
      ...["fleet", "apply", "--yes", "--allow-exec", "--on-drift", "overwrite", "--accept-loosening", "-o", "markdown"],
    );
    expect(done.exitCode, done.stderr).toBe(0);
    expect(done.stderr).toMatch(/^Continuing the run .*\ncanary: applying 1 tenant, 1 at a time\ncanary: lab applied/);
    expect(done.stdout).toMatch(/\| rest \| acme-eu \| unchanged \| \d+ \| - \|\n\| rest \| acme-us \| applied \|/);
    expect(await readFile(summary, "utf8")).toContain("### Fleet: done");
    expect(await feeOf("lab")).toBe(90);
  });

  test("a tenant refused by drift, and one that cannot be reached, end their wave: 3, as nothing was written", async () => {
    await run("policy", "set", "-t", "acme-eu", "feeBps=3", "--yes");
    const url = "tenants: { acme-us: { url: https://127.0.0.1:1 } }\n";
    await fleetFile(waves("true") + url);
    const refused = await apply();
    expect(refused).toMatchObject({ exitCode: 3, stderr: expect.stringContaining("nothing was written") });
    expect(JSON.parse(refused.stdout).waves).toMatchObject([
      { state: "passed", tenants: [{ state: "unchanged" }] },
      {
        state: "failed",
        tenants: [
          { state: "refused", seq: null, problem: expect.stringContaining("policy.feeBps") },
          { state: "failed", seq: null, problem: expect.stringContaining("127.0.0.1:1") },
        ],
      },
    ]);
    // The refused one is tried again, and the passed gate is not.
    const again = await apply("--on-drift", "overwrite", "--accept-loosening");
    expect(again.exitCode).toBe(10);
    expect(again.stderr).not.toContain("canary: applying");
  });

  test("killed in a gate, the next run looks at that gate again and applies nothing twice", async () => {
    await fleetFile(waves("while [ -e hold ]; do sleep 0.1; done"));
    await operator.edit("lab", (text) => text.replace("feeBps: 90", "feeBps: 80"));
    await writeFile(file("hold"), "");
    const { code, stderr: said } = await pmctl(["fleet", "apply", "--yes", "--allow-exec", "--accept-loosening"], {
      cwd: operator.directory,
      signal: { name: "SIGKILL", at: "chain of lab passed" },
    });
    expect(code, said).toBe(null);
    const { stdout, stderr } = await run("fleet", "status", "-o", "json");
    expect(stderr).toMatch(/^The run \S+ was interrupted; `pmctl fleet apply` continues it\ncanary: running/);
    const { state, waves: seen } = JSON.parse(stdout);
    expect([state, seen[0].state, seen[0].tenants[0].state]).toEqual(["interrupted", "running", "applied"]);
    await rm(file("hold"));
    const history = (await run("history", "lab", "-o", "json")).stdout;
    const done = await apply();
    expect(done.exitCode, done.stderr).toBe(0);
    expect(JSON.parse(done.stdout).waves[0].tenants).toMatchObject([{ tenant: "lab", state: "applied" }]);
    expect((await run("history", "lab", "-o", "json")).stdout).toBe(history);
    expect((await apply("--restart")).stderr).toContain("canary: lab unchanged");
  });

  describe("beside another apply of a tenant", () => {
    const mark = "fleet run 1";
    const feeInFile = (fee: number) => operator.edit("lab", (text) => text.replace(/feeBps: \d+/, `feeBps: ${fee}`));
    const inRun = async <Value>(work: (session: ConfigSession) => Promise<Value>): Promise<Value> => {
      const options = { via: "db" as const, url: undefined, reason: `${mark}: new fees` };
      const session = await openConfigSession(operator.directory, "lab", options, { note: () => {} });
      return work(session).finally(() => session.close());
    };
    const choices = { onDrift: "fail", acceptLoosening: true } as const;
    beforeAll(async () => {
      expect((await run("apply", "lab", "--on-drift", "overwrite", "--accept-loosening")).exitCode).toBe(0);
    });
    const attempt = async (earlier?: Standing) => {
      let stood = earlier;
      const stands: Stands = (standing) => {
        stood = standing;
      };
      const outcome = await inRun((session) => applyInRun(session, choices, { mark, earlier, stands }));
      return { outcome, stood: stood as Standing };
    };
    const goBack = (standing: Standing) => inRun((session) => rollBackInRun(session, standing, { mark }));
    const byAnother = async (fee: number) => {
      await feeInFile(fee);
      expect((await run("apply", "lab", "--accept-loosening")).exitCode).toBe(0);
    };

    test("a run says unchanged of a change that another apply made, and takes nothing of it back", async () => {
      const { stood } = await attempt();
      await byAnother(70);
      const { outcome } = await attempt(stood);
      expect(outcome).toMatchObject({ state: "unchanged", wrote: false });
      expect(await goBack(stood)).toMatchObject({ state: "rolledBack", problem: null });
      expect(await feeOf("lab")).toBe(70);
    });

    test("a run states its own entry, finds it after a kill, and goes back from it unless another apply came after", async () => {
      await feeInFile(60);
      const { outcome, stood } = await attempt();
      const [entry] = JSON.parse((await run("history", "lab", "-o", "json")).stdout);
      expect(entry).toMatchObject({ seq: outcome.seq, reason: "fleet run 1: new fees" });
      expect(await attempt(stood)).toEqual({ outcome, stood });
      await byAnother(50);
      expect(await attempt(stood)).toMatchObject({ outcome: { state: "applied", seq: outcome.seq }, stood });
      expect(await goBack(stood)).toEqual({
        state: "applied",
        seq: outcome.seq,
        problem: expect.stringMatching(/^left as it is: audit entry \d+, an apply by cli:.*, came after this run's$/),
      });
      expect(await feeOf("lab")).toBe(50);
      await feeInFile(40);
      const second = await attempt();
      expect(await goBack(second.stood)).toMatchObject({ state: "rolledBack", problem: null });
      expect(await feeOf("lab")).toBe(50);
      expect((await goBack(second.stood)).state).toBe("rolledBack");
    });
  });
});
