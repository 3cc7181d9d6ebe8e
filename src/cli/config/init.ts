import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, Option } from "commander";
import {
  CI_SERVICES,
  type CiService,
  freePorts,
  type InitResult,
  placeholderUrl,
  planInit,
  problemOfBaseUrl,
  type StandingWorkflow,
  standingWorkflows,
  writeInit,
} from "../../config/init.ts";
import { newTenantsDirectory } from "../../config/selection/operator-directory.ts";
import { problemOfTenant } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext, Globals, Host, Io } from "../command.ts";
import { NOT_CONFIRMED } from "../errors.ts";
import { declined, mustAsk } from "../input/prompts.ts";
import { changedLines } from "../output/changed-lines.ts";
import type { View } from "../output/output.ts";

const TEMPLATES = ["minimal", "full"] as const;
type Template = (typeof TEMPLATES)[number];

interface InitOptions {
  template?: Template;
  ci?: CiService;
  baseUrl?: string;
  update?: boolean;
}

interface InitChoices extends InitOptions {
  tenant: string;
  template: Template;
  ci: CiService;
}

interface WrittenFiles extends InitResult {
  /** Files that existed and were written anew. */
  updated?: string[];
}

interface WrittenFile {
  path: string;
  result: keyof WrittenFiles;
}

const view: View<WrittenFiles, WrittenFile> = {
  kind: "list",
  rows: (result) =>
    (["created", "extended", "updated", "kept"] as const).flatMap((kind) =>
      (result[kind] ?? []).map((path) => ({ path, result: kind })),
    ),
  columns: [
    { title: "FILE", cell: ({ path }) => path },
    { title: "RESULT", cell: ({ result }) => result },
  ],
  empty: "Nothing was written",
};

export function register(noun: Command, host: Host): void {
  host.add<InitOptions>(
    noun
      .argument("[tenant]", "the new tenant's id: lower-case letters, digits and -")
      .addOption(
        new Option("--template <name>", "how much the tenant file shows (default: minimal)").choices(TEMPLATES),
      )
      .addOption(
        new Option("--ci <service>", "write a workflow that plans, applies and checks (default: none)").choices(
          CI_SERVICES,
        ),
      )
      .option("--base-url <url>", "the address at which traders reach the tenant")
      .option("--update", "show how an existing workflow differs from today's, and rewrite it after a yes")
      .description("write a tenant file, a market, a case and .env with fresh secrets; overwrites nothing"),
    { names: "path result", ends: { 3: NOT_CONFIRMED, 5: "`--update`: there is no such workflow" } },
    runInit,
  );
}

/** Asks on a terminal for what no option states. A second run overwrites nothing. */
export async function runInit({ options, args, io }: CommandContext<InitOptions>): Promise<void> {
  const directory = newTenantsDirectory();
  if (options.update) return updateWorkflows(options, args[0] ?? options.tenant, directory, io);
  const answers = await answersOf(options, args[0] ?? options.tenant, directory, io);
  const result = writeInit(directory, planInit({ ...answers, ports: freePorts(directory, answers.tenant) }));
  await io.output.print(result, view);
  io.output.note(nextSteps(directory, answers));
}

/** @throws Fault NOT_FOUND where the directory has no such workflow, REFUSED when the operator says no */
async function updateWorkflows(
  options: Globals & InitOptions,
  tenant: string | undefined,
  directory: string,
  { output, prompts }: Io,
): Promise<void> {
  if (tenant === undefined) throw new Fault("USAGE", "Name the tenant: pmctl init acme --ci github --update");
  const standing = standingWorkflows(directory, tenant, options.ci);
  if (standing.length === 0)
    throw new Fault(
      "NOT_FOUND",
      `There is no workflow of ${tenant} to update: pmctl init ${tenant} --ci github writes one`,
    );
  const differing = standing.filter(({ before, after }) => before !== after);
  for (const { path, before, after } of differing) output.note([`${path}:`, ...changedLines(before, after)].join("\n"));
  if (differing.length > 0 && mustAsk(options, prompts) && !(await prompts.confirm("Write this?"))) throw declined();
  for (const { path, after } of differing) writeFileSync(join(directory, path), after);
  const paths = (of: readonly StandingWorkflow[]) => of.map(({ path }) => path);
  const kept = paths(standing.filter((each) => !differing.includes(each)));
  await output.print({ created: [], extended: [], updated: paths(differing), kept }, view);
}

async function answersOf(
  { template, ci, baseUrl, yes }: Globals & InitOptions,
  named: string | undefined,
  directory: string,
  { output, prompts }: Io,
): Promise<InitChoices> {
  const unasked = { template: template ?? "minimal", ci: ci ?? "none", ...(baseUrl ? { baseUrl } : {}) } as const;
  if (yes || !prompts.available) {
    if (named === undefined) throw new Fault("USAGE", "Name the new tenant: pmctl init acme");
    return { tenant: named, ...unasked };
  }
  const problemOfNew = (id: string) =>
    problemOfTenant(id) ?? (isThere(directory, id) ? `${id} exists already` : undefined);
  const tenant = named ?? (await prompts.ask("What is the tenant's id?", { fallback: "acme", problem: problemOfNew }));
  const problem = problemOfTenant(tenant);
  if (problem !== undefined) throw new Fault("USAGE", problem);
  if (isThere(directory, tenant)) {
    // No answer would change a file that exists.
    output.note(`${tenant} exists already: its files stay as they are, and only missing ones are written.`);
    return { tenant, ...unasked };
  }
  return {
    tenant,
    baseUrl:
      baseUrl ??
      (await prompts.ask("At which address will traders reach it? (it can be changed later)", {
        fallback: placeholderUrl(tenant),
        problem: problemOfBaseUrl,
      })),
    template:
      template ??
      (await prompts.choose(
        "How much should the tenant file show?",
        [
          { value: "minimal", name: "the required keys, and the limits" },
          { value: "full", name: "every section, with its defaults" },
        ],
        "minimal",
      )),
    ci:
      ci ??
      (await prompts.choose(
        "Plan on pull requests, apply on merge, check every night?",
        [
          { value: "github", name: "yes, with GitHub Actions" },
          { value: "gitlab", name: "yes, with GitLab CI" },
          { value: "none", name: "no, not now" },
        ],
        "none",
      )),
  };
}

function isThere(directory: string, tenant: string): boolean {
  return existsSync(join(directory, "tenants", tenant, "tenant.yaml"));
}

function nextSteps(directory: string, { tenant, ci }: InitChoices): string {
  const lines = [
    "Next:",
    `  pmctl test ${tenant}    runs the cases in tenants/${tenant}/tests`,
    `  pmctl plan ${tenant}    shows what an apply would change`,
    `  pmctl apply ${tenant}   creates the database and the markets`,
    `  pmctl serve ${tenant}   serves it; Ctrl-C stops it`,
  ];
  if (ci !== "none" && !existsSync(join(directory, "package.json")))
    lines.push("The workflow runs `npm ci`: this directory needs a package.json with pmctl among its dependencies.");
  return lines.join("\n");
}
