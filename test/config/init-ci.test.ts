import { readdirSync } from "node:fs";
import { join } from "node:path";
import { execaSync } from "execa";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { planInit, writeInit } from "../../src/config/init.ts";
import { loadTenantFile } from "../../src/config/tenant-file.ts";
import { tenantPath } from "../../src/config/workspace.ts";
import { directoryWith } from "./support.ts";

// biome-ignore lint/suspicious/noExplicitAny: a workflow is read by path here
type Yaml = Record<string, any>;

function workflow(ci: "github" | "gitlab", tenant = "my-shop"): { path: string; text: string; yaml: Yaml } {
  const file = planInit({ tenant, template: "minimal", ci }).find(({ path }) => /\.yml$/.test(path));
  const text = file?.content ?? "";
  return { path: file?.path ?? "", text, yaml: parse(text) as Yaml };
}

const SECRETS = ["ADMIN_KEY", "PUBLIC_KEY", "JWT_SECRET", "WEBHOOK_SECRET", "STRIPE_SECRET", "AUDIT_KEY"];

/** Runs a job's script in bash as the service does, with a pmctl that records its lines and ends as told. */
function runScript(script: string, exits: Record<string, number | string>, shell = ["bash", "-e", "-c"]) {
  const pmctl = `npx() { shift; echo "$*" >&2; case "$1 $2" in ${Object.entries(exits)
    .map(([words, exit]) => `"${words}") return ${exit} ;;`)
    .join(" ")} esac; }`;
  const [program = "bash", ...args] = shell;
  const cwd = directoryWith({ "tenants/acme/tenant.yaml": "", "tenants/zeta/tenant.yaml": "" });
  const { exitCode, stderr } = execaSync(program, [...args, `${pmctl}\n${script}`], { reject: false, cwd });
  return { exitCode, lines: stderr.split("\n") };
}

describe("the GitHub workflow", () => {
  const { path, text, yaml } = workflow("github");
  const steps = (job: string): Yaml[] => yaml.jobs[job].steps;
  const scriptOf = (job: string, words: string): string =>
    steps(job).find(({ run }) => String(run).includes(words))?.run ?? "";

  test("is the tenant's own, so that another tenant gets another one", () => {
    expect(path).toBe(".github/workflows/pmctl-my-shop.yml");
    expect(text).not.toMatch(/<tenant>/i);
  });

  test("uses actions by their commit, and gives its token no more than reading", () => {
    const uses = Object.keys(yaml.jobs).flatMap((job) => steps(job).flatMap((step) => step.uses ?? []));
    expect(uses).not.toEqual([]);
    for (const action of uses) expect(action).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40}$/);
    expect(yaml.permissions).toEqual({ contents: "read" });
  });

  test("hands secrets from the store to the steps that run pmctl, and to nobody else", () => {
    const wanted = {
      ...Object.fromEntries(SECRETS.map((name) => [`MY_SHOP_${name}`, `\${{ secrets.MY_SHOP_${name} }}`])),
      // Not set, it is empty, and the tenant's database is where the runner looks for it.
      PMCTL_URL_MY_SHOP: `\${{ vars.PMCTL_URL_MY_SHOP }}`,
    };
    for (const [job, words] of [
      ["plan", "plan"],
      ["apply", "apply"],
      ["nightly", "drift"],
    ] as const) {
      expect(yaml.jobs[job].env).toBeUndefined();
      for (const step of steps(job))
        expect([job, step.env]).toEqual([job, String(step.run).includes(`pmctl ${words}`) ? wanted : undefined]);
    }
    expect(JSON.stringify(yaml.jobs.validate)).not.toContain("secrets.");
    expect(yaml.jobs.plan.if).toContain("head.repo.full_name == github.repository");
  });

  test("takes exit code 2 of a plan for what a pull request is for, and every other one as it is", () => {
    const script = scriptOf("plan", "pmctl plan");
    for (const [exit, expected] of [
      [0, 0],
      [2, 0],
      [1, 1],
      [3, 3],
      [6, 6],
    ] as const)
      expect(runScript(script, { "plan my-shop": exit }).exitCode).toBe(expected);
  });

  test("looks at drift, chain and ledger every night, all three, and ends as the worst", () => {
    const script = scriptOf("nightly", "pmctl drift");
    const { exitCode, lines } = runScript(script, { "drift my-shop": 3, "audit verify": 8 });
    expect(exitCode).toBe(8);
    expect(lines).toEqual(["drift my-shop", "audit verify -t my-shop", "reconcile -t my-shop"]);
    const paged = { "drift my-shop": 3, "audit verify": 8, "reconcile -t": 9 };
    expect(runScript(script, paged).exitCode).toBe(8);
    expect(runScript(script, { "drift my-shop": 3 }).exitCode).toBe(3);
    expect(runScript(script, {}).exitCode).toBe(0);
    expect(yaml.on.schedule).toHaveLength(1);
  });

  test("applies on main only, one at a time, and loosens the policy only when somebody asked for it", () => {
    expect(yaml.jobs.apply.if).toMatch(/refs\/heads\/main/);
    expect(yaml.jobs.apply.environment).toBe("my-shop");
    expect(yaml.concurrency["cancel-in-progress"]).toBe(`\${{ github.event_name == 'pull_request' }}`);
    expect(scriptOf("apply", "pmctl apply")).toBe(
      `npx pmctl apply my-shop --yes \${{ inputs.accept-loosening && '--accept-loosening' || '' }}`,
    );
  });
});

describe("the GitLab pipeline", () => {
  const { path, yaml } = workflow("gitlab");

  test("serves all tenants, because GitLab takes one file", () => {
    expect(path).toBe(".gitlab-ci.yml");
    expect(yaml.default.image).toMatch(/^node:\d+\.\d+\.\d+-\w+$/);
  });

  test("plans and applies every tenant by its name, one pipeline at a time; a plan with changes passes", () => {
    expect(yaml.plan.allow_failure).toEqual({ exit_codes: [2] });
    const [plan] = yaml.plan.script as [string];
    expect(runScript(plan, {}).lines).toEqual(["plan --detailed-exitcode acme zeta"]);
    expect(yaml.apply.resource_group).toBe("pmctl");
    const [script] = yaml.apply.script as [string];
    expect(runScript(script, {}).lines).toEqual(["apply --yes acme zeta"]);
    expect(runScript(`ACCEPT_LOOSENING=yes\n${script}`, {}).lines).toEqual([
      "apply --yes --accept-loosening acme zeta",
    ]);
  });

  test.each([
    ["drift", "drift"],
    ["audit", "audit verify"],
    ["ledger", "reconcile"],
  ])("every night %s runs for each tenant, whatever the first one's is", (job, command) => {
    expect(yaml[job].extends).toBe(".nightly");
    const [script] = yaml[".nightly"].script as [string];
    const words = command.includes(" ") ? command : `${command} -t`;
    const { exitCode, lines } = runScript(`COMMAND="${yaml[job].variables.COMMAND}"\n${script}`, { [words]: 8 });
    expect({ exitCode, lines }).toEqual({ exitCode: 8, lines: [`${command} -t acme`, `${command} -t zeta`] });
  });
});

test("one tenant's broken chain is not hidden by what ails the next tenant", () => {
  const [script] = workflow("gitlab").yaml[".nightly"].script as [string];
  const ended = runScript(`COMMAND=reconcile\n${script}`, { "reconcile -t": '$([ "$3" = acme ] && echo 8 || echo 9)' });
  expect(ended).toEqual({ exitCode: 8, lines: ["reconcile -t acme", "reconcile -t zeta"] });
});

test("a second init with a workflow keeps the first one", () => {
  const directory = directoryWith();
  const options = { tenant: "acme", template: "minimal", ci: "github" } as const;
  expect(writeInit(directory, planInit(options)).created).toContain(".github/workflows/pmctl-acme.yml");
  expect(writeInit(directory, planInit(options))).toMatchObject({ created: [], extended: [] });
  expect(readdirSync(join(directory, ".github/workflows"))).toEqual(["pmctl-acme.yml"]);
});

test("a base URL of one's own stands in the file; one that no tenant may have is refused", () => {
  const directory = directoryWith();
  writeInit(directory, planInit({ tenant: "acme", template: "full", baseUrl: "http://localhost:8080" }));
  expect(loadTenantFile(tenantPath(directory, "acme")).baseUrl).toBe("http://localhost:8080");
  expect(() => planInit({ tenant: "acme", template: "full", baseUrl: "http://acme.com" })).toThrow(
    /^The base URL must begin with https:/,
  );
});
