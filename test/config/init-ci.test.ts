import { readdirSync, readFileSync } from "node:fs";
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

const workflow = (ci: "github" | "gitlab", tenant = "my-shop"): { path: string; text: string; yaml: Yaml } => {
  const file = planInit({ tenant, template: "minimal", ci }).find(({ path }) => /\.yml$/.test(path));
  const text = file?.content ?? "";
  return { path: file?.path ?? "", text, yaml: parse(text) as Yaml };
};

const github = workflow("github");
const gitlab = workflow("gitlab");
const stepsOf = (job: string): Yaml[] => github.yaml.jobs[job].steps;
/** What runs in a job of either service, as one script. */
const githubScript = (job: string, words: string): string =>
  stepsOf(job).find(({ run, name }) => name === words || String(run).includes(words))?.run ?? "";
const gitlabScript = (job: string): string =>
  ((gitlab.yaml[job].script ?? gitlab.yaml[".nightly"].script) as string[]).join("\n");

const SECRETS = ["ADMIN_KEY", "PUBLIC_KEY", "JWT_SECRET", "WEBHOOK_SECRET", "STRIPE_SECRET", "AUDIT_KEY"];
const TENANTS = ["acme", "zeta"];

interface RunOptions {
  /** How the recorded program ends, as text of a shell pattern and its exit code. */
  exits?: Record<string, number>;
  shell?: string[];
  /** Folders below `tenants/`, each with a tenant's file. */
  folders?: readonly string[];
  env?: Record<string, string>;
  /** Files beside `tenants/`. */
  files?: Record<string, string>;
  /** What `gh` answers to a command that matches a shell pattern. */
  answers?: Record<string, string>;
}

/** Runs a script in a real shell with an npx that records each argument between its own brackets. */
function runScript(
  script: string,
  { exits = {}, shell = ["bash", "-e", "-c"], folders = TENANTS, env, files: own = {}, answers = {} }: RunOptions = {},
) {
  const files = Object.fromEntries(folders.map((name) => [`tenants/${name}/tenant.yaml`, ""]));
  const cwd = directoryWith({ ...files, ...own, "argv.log": "" });
  const told = Object.entries(answers).map(([words, text]) => `${words}) echo '${text}' ;;`);
  const gh = `gh() { { printf '[gh]'; printf '[%s]' "$@"; echo; } >> argv.log; case "$*" in ${told.join(" ")} *) : ;; esac; }`;
  const cases = Object.entries(exits).map(([words, exit]) => `${words}) return ${exit} ;;`);
  // Without the flag npx may fetch a package of the same name from a stranger.
  const npx = `npx() { if [ "$1 $2" != "--no-install pmctl" ]; then return 99; fi; shift 2; printf '[%s]' "$@" >> argv.log; echo >> argv.log; case "$*" in ${cases.join(" ")} *) : ;; esac; }`;
  const [program = "bash", ...args] = shell;
  const { exitCode, stderr } = execaSync(program, [...args, `${npx}\n${gh}\n${script}`], {
    reject: false,
    cwd,
    env: env ?? {},
    // Bash takes a pipe of Node.js for a connection over the network and reads the caller's own start files first.
    stdin: "ignore",
  });
  const lines = readFileSync(join(cwd, "argv.log"), "utf8").split("\n").filter(Boolean);
  return { exitCode, stderr, lines };
}

describe("the GitHub workflow", () => {
  const { path, text, yaml } = github;

  test("is the tenant's own, so that another tenant gets another one", () => {
    expect(path).toBe(".github/workflows/pmctl-my-shop.yml");
    expect(text).not.toMatch(/<tenant>/i);
  });

  test("uses actions by their commit, with the version beside it, and gives its token no more than reading", () => {
    const uses = text.split("\n").filter((line) => line.includes("uses:"));
    expect(uses).not.toEqual([]);
    for (const line of uses) expect(line).toMatch(/uses: actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    expect(yaml.permissions).toEqual({ contents: "read" });
    const given = Object.entries(yaml.jobs as Record<string, Yaml>).filter(([, { permissions }]) => permissions);
    expect(Object.fromEntries(given.map(([job, { permissions }]) => [job, permissions]))).toEqual({
      plan: { contents: "read", "pull-requests": "read" },
      comment: { contents: "read", "pull-requests": "write" },
      nightly: { contents: "read", issues: "write" },
    });
    // The job whose token may write in a pull request has nothing of it but the report.
    expect(stepsOf("comment").map(({ uses, name }) => name ?? String(uses).split("@")[0])).toEqual([
      "actions/download-artifact",
      "Comment",
    ]);
  });

  test("a job holds the secrets that its commands use: a plan the read key alone", () => {
    const held = (names: string[]) =>
      Object.fromEntries(names.map((name) => [`MY_SHOP_${name}`, `\${{ secrets.MY_SHOP_${name} }}`]));
    const url = { PMCTL_URL_MY_SHOP: `\${{ vars.PMCTL_URL_MY_SHOP }}` };
    const wanted: Record<string, Yaml> = {
      plan: { ...url, ...held(["READ_KEY"]), ACCEPTED: `\${{ steps.accepted.outputs.loosening }}` },
      apply: { ...url, ...held(SECRETS), ACCEPT_LOOSENING: `\${{ inputs.accept-loosening }}` },
      nightly: { ...url, ...held(["READ_KEY", "AUDIT_KEY"]) },
    };
    for (const [job, { env }] of Object.entries(yaml.jobs) as [string, Yaml][]) {
      expect(env).toBeUndefined();
      for (const step of stepsOf(job).filter((each) => each.env?.GH_TOKEN === undefined))
        expect([job, step.env]).toEqual([
          job,
          String(step.run).includes("--via http") || step.name === "Apply" ? wanted[job] : undefined,
        ]);
    }
    expect(JSON.stringify(yaml.jobs.validate)).not.toContain("secrets.");
    expect(yaml.jobs.plan.if).toContain("head.repo.full_name == github.repository");
  });

  test("no expression of the CI service is in a script, where its value would be code", () => {
    for (const job of Object.keys(yaml.jobs))
      for (const { run } of stepsOf(job)) expect(String(run)).not.toContain("${{");
  });

  test("what holds secrets that change something runs in an environment, and the code of pull requests on no own runner", () => {
    expect(yaml.jobs.apply.environment).toBe("my-shop");
    expect(yaml.jobs.nightly.environment).toBe("my-shop-nightly");
    for (const job of ["validate", "plan", "nightly"]) expect(yaml.jobs[job]["runs-on"]).toBe("ubuntu-24.04");
  });

  test("takes exit code 2 of a plan for what a pull request is for, and every other one as it is", () => {
    const script = githubScript("plan", "pmctl plan");
    for (const [exit, expected] of [
      [0, 0],
      [2, 0],
      [1, 1],
      [3, 3],
      [6, 6],
    ] as const)
      expect(runScript(script, { exits: { "plan*": exit } }).exitCode).toBe(expected);
    expect(runScript(script).lines).toEqual([
      "[plan][--via][http][--detailed-exitcode][--out][plan.json][--][my-shop]",
    ]);
  });

  test("makes the plan with what loosens once the pull request has the label, on main too, where the very plan is applied", () => {
    const plan = (ACCEPTED: string) => runScript(githubScript("plan", "pmctl plan"), { env: { ACCEPTED } }).lines;
    for (const other of ["", "false", "--allow-exec"])
      expect(plan(other)).toEqual(["[plan][--via][http][--detailed-exitcode][--out][plan.json][--][my-shop]"]);
    expect(plan("true")).toEqual([
      "[plan][--via][http][--detailed-exitcode][--accept-loosening][--out][plan.json][--][my-shop]",
    ]);
    const accepted = (env: Record<string, string>, answers: Record<string, string> = {}) =>
      runScript(`${githubScript("plan", "Accepted")}\ncat out >> argv.log`, {
        env: { GITHUB_OUTPUT: "out", GITHUB_REPOSITORY: "a/b", GITHUB_SHA: "c0", ...env },
        answers,
      }).lines.at(-1);
    expect(accepted({ GITHUB_EVENT_NAME: "pull_request", LABELLED: "true" })).toBe("loosening=true");
    expect(accepted({ GITHUB_EVENT_NAME: "pull_request", LABELLED: "false" })).toBe("loosening=false");
    // On main the label is that of the pull request that the commit came with.
    const push = { GITHUB_EVENT_NAME: "push", LABELLED: "false" };
    expect(accepted(push, { "*commits/c0/pulls*": "true" })).toBe("loosening=true");
    expect(accepted(push)).toBe("loosening=");
    // The token is gone before any code of the repository runs.
    const [first, ...rest] = stepsOf("plan");
    expect(first?.name).toBe("Accepted");
    expect(JSON.stringify(rest)).not.toContain("github.token");
  });

  test("runs only for changes that concern the tenants, pmctl or itself, and when a label changes", () => {
    const { pull_request, push } = yaml.on;
    expect(pull_request.types).toEqual(expect.arrayContaining(["synchronize", "labeled", "unlabeled"]));
    expect(push.paths).toEqual(pull_request.paths);
    expect(push.paths).toEqual(expect.arrayContaining(["tenants/**", "package-lock.json", path]));
  });

  test("has one comment for a plan: the first run makes it, the next ones change it; a push without a request has none", () => {
    const script = githubScript("comment", "Comment");
    const run = (answers: Record<string, string>, number = "7") =>
      runScript(script, {
        files: { "plan.md": "### Plan" },
        answers,
        env: { GH_REPO: "a/b", COMMIT: "c0", NUMBER: number },
      }).lines.map((line) => line.replaceAll(/\[--jq\].*/g, ""));
    const list = "[gh][api][--paginate][repos/a/b/issues/7/comments]";
    expect(run({})).toEqual([
      list,
      "[gh][api][--silent][--method][POST][repos/a/b/issues/7/comments][--field][body=@comment.md]",
    ]);
    expect(run({ "*--paginate*": "41" })).toEqual([
      list,
      "[gh][api][--silent][--method][PATCH][repos/a/b/issues/comments/41][--field][body=@comment.md]",
    ]);
    expect(run({ "*/pulls*": "7" }, "").slice(0, 2)).toEqual(["[gh][api][repos/a/b/commits/c0/pulls]", list]);
    expect(run({}, "")).toEqual(["[gh][api][repos/a/b/commits/c0/pulls]"]);
    expect(runScript(script).lines).toEqual([]);
  });

  test("has one issue about drift: opened, kept up to date, and closed once nothing differs", () => {
    const script = githubScript("nightly", "One issue about drift");
    const run = (code: string, open: string) =>
      runScript(script, {
        files: { "drift.code": code, "drift.md": "x" },
        answers: open ? { "issue?list*": open } : {},
      })
        .lines.slice(1)
        .map((line) => line.split("][").slice(0, 4).join(" "));
    expect(run("3", "")).toEqual(["[gh issue create --title"]);
    expect(run("3", "12")).toEqual(["[gh issue edit 12"]);
    expect(run("0", "12")).toEqual(["[gh issue close 12"]);
    for (const code of ["0", "9"]) expect(run(code, "")).toEqual([]);
    expect(run("9", "12")).toEqual([]);
    expect(runScript(script).lines).toEqual([]);
  });

  test("looks at drift, chain and ledger every night, all three, and ends as the worst", () => {
    const script = githubScript("nightly", "pmctl drift");
    const { exitCode, lines } = runScript(script, { exits: { "drift*": 3, "audit*": 8 } });
    expect(exitCode).toBe(8);
    expect(lines).toEqual([
      "[drift][--via][http][-o][markdown][--][my-shop]",
      "[audit][verify][--via][http][--tenant=my-shop]",
      "[reconcile][--via][http][--tenant=my-shop]",
    ]);
    expect(runScript(script, { exits: { "drift*": 3, "audit*": 8, "reconcile*": 9 } }).exitCode).toBe(8);
    expect(runScript(script, { exits: { "drift*": 3 } }).exitCode).toBe(3);
    expect(runScript(script).exitCode).toBe(0);
    expect(yaml.on.schedule).toHaveLength(1);
  });

  test("applies on main only, one at a time, and loosens the policy only when a person chose to", () => {
    expect(yaml.jobs.apply.if).toMatch(/refs\/heads\/main/);
    expect(yaml.concurrency["cancel-in-progress"]).toBe(`\${{ github.event_name == 'pull_request' }}`);
    const apply = (chosen: string, event = "workflow_dispatch") =>
      runScript(githubScript("apply", "pmctl apply"), { env: { ACCEPT_LOOSENING: chosen, GITHUB_EVENT_NAME: event } })
        .lines;
    for (const chosen of ["", "false", "--allow-exec"]) expect(apply(chosen)).toEqual(["[apply][--yes][--][my-shop]"]);
    expect(apply("true")).toEqual(["[apply][--yes][--accept-loosening][--][my-shop]"]);
    // After a merge exactly the plan of this run, which was there to be read when it was approved.
    expect(apply("", "push")).toEqual(["[apply][--yes][--][plan.json]"]);
    expect(yaml.jobs.apply.if).toContain("github.event_name == 'push' && needs.plan.result == 'success'");
    const [saved, taken] = ["plan", "apply"].map((job) =>
      stepsOf(job).find(({ uses }) => /-artifact@/.test(String(uses))),
    );
    expect([saved?.with.name, saved?.with.path, taken?.with.name]).toEqual([
      "plan-my-shop",
      "plan.json\nplan.md\n",
      "plan-my-shop",
    ]);
  });
});

describe("the GitLab pipeline", () => {
  const { path, yaml } = gitlab;

  test("serves all tenants, because GitLab takes one file", () => {
    expect(path).toBe(".gitlab-ci.yml");
    expect(yaml.default.image).toMatch(/^node:\d+\.\d+\.\d+-\w+$/);
  });

  test("checks, plans and applies every tenant by its name, one pipeline at a time; a plan with changes passes", () => {
    expect(yaml.plan.allow_failure).toEqual({ exit_codes: [2] });
    expect(runScript(gitlabScript("validate")).lines).toEqual([
      "[validate][--][acme][zeta]",
      "[test][-o][table][--junit][cases.xml][--][acme][zeta]",
    ]);
    expect(runScript(gitlabScript("plan")).lines).toEqual([
      "[plan][--via][http][--detailed-exitcode][--out][plan.json][--][acme][zeta]",
    ]);
    for (const env of [{ CI_MERGE_REQUEST_LABELS: "bug,accept-loosening" }, { ACCEPTED: "accept-loosening" }])
      expect(runScript(gitlabScript("plan"), { env }).lines).toEqual([
        "[plan][--via][http][--detailed-exitcode][--accept-loosening][--out][plan.json][--][acme][zeta]",
      ]);
    expect(runScript(gitlabScript("plan"), { env: { CI_MERGE_REQUEST_LABELS: "no-accept-loosening" } }).lines).toEqual(
      runScript(gitlabScript("plan")).lines,
    );
    expect(yaml.plan.artifacts).toEqual({ when: "always", paths: ["plan.json", "plan.md"] });
    expect(runScript(gitlabScript("apply"), { env: { CI_PIPELINE_SOURCE: "push" } }).lines).toEqual([
      "[apply][--yes][--][plan.json]",
    ]);
    expect(yaml.apply.resource_group).toBe("pmctl");
    expect(runScript(gitlabScript("apply")).lines).toEqual(["[apply][--yes][--][acme][zeta]"]);
    expect(runScript(gitlabScript("apply"), { env: { ACCEPT_LOOSENING: "yes" } }).lines).toEqual([
      "[apply][--yes][--accept-loosening][--][acme][zeta]",
    ]);
  });

  test("apply and the nightly jobs run in environments, and a plan in none, so it gets no variable of theirs", () => {
    expect([yaml.apply.environment, yaml[".nightly"].environment]).toEqual(["production", "nightly"]);
    expect([yaml.validate.environment, yaml.plan.environment]).toEqual([undefined, undefined]);
  });

  test.each([
    ["drift", ["[drift][--via][http][-o][markdown][--][acme]", "[drift][--via][http][-o][markdown][--][zeta]"]],
    ["audit", ["[audit][verify][--via][http][--tenant=acme]", "[audit][verify][--via][http][--tenant=zeta]"]],
    ["ledger", ["[reconcile][--via][http][--tenant=acme]", "[reconcile][--via][http][--tenant=zeta]"]],
  ])("every night %s runs for each tenant, whatever the first one's is", (job, expected) => {
    expect(yaml[job].extends).toBe(".nightly");
    const { exitCode, lines } = runScript(gitlabScript(job), {
      env: yaml[job].variables,
      exits: { "*acme": 8, "*zeta": 9 },
    });
    expect({ exitCode, lines }).toEqual({ exitCode: 8, lines: expected });
  });
});

describe("the folder of a tenant with a name that is an option, a program or two words", () => {
  const HOSTILE = [
    "--allow-exec",
    "--accept-loosening",
    "-t",
    "$(touch owned)",
    "`touch owned`",
    "a b",
    "acme\nzeta",
    "Acme",
    "a;b",
    "é",
    "1a",
    ".hidden",
    "..x",
    "...",
    ".[!.]*",
  ];
  const shells = [
    ["bash", "-e", "-c"],
    ["sh", "-e", "-c"],
  ];
  const gitlabJobs = ["validate", "plan", "apply", "drift", "audit", "ledger"];

  test.each(HOSTILE)("fails every job before pmctl sees it: %j", (name) => {
    const folders = [...TENANTS, name];
    const scripts = gitlabJobs.map((job): [string, Yaml] => [gitlabScript(job), gitlab.yaml[job].variables ?? {}]);
    for (const [script, env] of [[githubScript("validate", "Names of tenants"), {}] as const, ...scripts]) {
      const { exitCode, lines, stderr } = runScript(script, { folders, env });
      expect({ exitCode, lines }).toEqual({ exitCode: 1, lines: [] });
      expect(stderr).toContain("No tenant may have this name");
      // One line: a folder cannot speak to the service in commands of its own.
      expect(stderr.trim()).not.toContain("\n");
    }
  });

  test.each(shells)("a hidden one fails in %s", (...shell) => {
    for (const name of [".hidden", "..x"]) {
      const { exitCode, lines } = runScript(gitlabScript("plan"), { shell, folders: [...TENANTS, name] });
      expect({ exitCode, lines }).toEqual({ exitCode: 1, lines: [] });
    }
  });

  test.each(shells)("good names pass in %s", (...shell) => {
    expect(runScript(gitlabScript("plan"), { shell }).exitCode).toBe(0);
  });

  test("at GitHub every job with a secret of changes waits for the names to be looked at", () => {
    const names = githubScript("validate", "Names of tenants");
    expect(runScript(names).exitCode).toBe(0);
    expect([github.yaml.jobs.plan.needs, github.yaml.jobs.apply.needs]).toEqual(["validate", ["validate", "plan"]]);
    const order = stepsOf("validate")
      .map(({ name, run }) => name ?? run)
      .filter(Boolean);
    expect(order).toEqual([
      "Names of tenants",
      "npm ci",
      "npx --no-install pmctl validate -- my-shop",
      "npx --no-install pmctl test -o github -- my-shop",
    ]);
  });
});

test("a second init with a workflow keeps the first one", () => {
  const directory = directoryWith();
  const options = { tenant: "acme", template: "minimal", ci: "github" } as const;
  expect(writeInit(directory, planInit(options)).created).toContain(".github/workflows/pmctl-acme.yml");
  expect(writeInit(directory, planInit(options))).toMatchObject({ created: [], extended: [] });
  expect(readdirSync(join(directory, ".github/workflows"))).toEqual(["pmctl-acme.yml"]);
});

test("a given base URL is written into the file; one that no tenant may have is refused", () => {
  const directory = directoryWith();
  writeInit(directory, planInit({ tenant: "acme", template: "full", baseUrl: "http://localhost:8080" }));
  expect(loadTenantFile(tenantPath(directory, "acme")).baseUrl).toBe("http://localhost:8080");
  expect(() => planInit({ tenant: "acme", template: "full", baseUrl: "http://acme.com" })).toThrow(
    /^The base URL must begin with https:/,
  );
});
