import type { Command } from "commander";
import { displayPath } from "../../config/bounded-file.ts";
import { ConfigError, headlineOf, inOrder, type Problem, unlessUnsound } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import { repeatedHosts } from "../../config/hosts.ts";
import { strayGrants } from "../../config/operator-file.ts";
import { checkSecretsAtHand } from "../../config/resolve-tenant.ts";
import { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenant, loadTenantFile } from "../../config/tenant-file.ts";
import type { PlacedMarket } from "../../config/tenant-files/market-files.ts";
import { tenantWarnings } from "../../config/tenant-files/tenant-warnings.ts";
import { openWorkspace, tenantPath, type Workspace } from "../../config/workspace.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { documentOf } from "../../plan/plan-document.ts";
import type { CommandContext, Host } from "../command.ts";
import { EXIT, type ExitCode, READS_FILES } from "../errors.ts";
import { type SelectorOptions, selectorOption } from "../input/selector-option.ts";
import { type Annotation, annotationOf } from "../output/annotations.ts";
import type { View } from "../output/output.ts";
import { eachTenant } from "./each-tenant.ts";

interface CheckedTenant {
  tenant: string;
  file: string;
  markets: number;
  valid: boolean;
  diagnostics: readonly Annotation[];
}

const view: View<CheckedTenant[], CheckedTenant> = {
  kind: "list",
  rows: (tenants) => tenants,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant },
    { title: "FILE", cell: ({ file }) => file },
    { title: "MARKETS", cell: ({ markets }) => String(markets) },
    { title: "RESULT", cell: ({ valid }) => (valid ? "valid" : "invalid") },
  ],
  empty: "There are no tenants here; `pmctl init` creates one",
  annotations: (tenants) => tenants.flatMap(({ diagnostics }) => diagnostics),
};

export function register(noun: Command, host: Host): void {
  host.add<SelectorOptions>(
    noun
      .argument("[tenants...]", "tenants to check (default: all); * and ? match")
      .addOption(selectorOption())
      .description("check tenant files, and report every problem with its line, column and path"),
    { names: "tenant file markets valid diagnostics", ends: READS_FILES, annotates: true },
    runValidate,
  );
}

/** The result of checking one tenant's files. */
interface Read {
  tenant: string;
  file: string;
  markets: readonly PlacedMarket[];
  /** Undefined for invalid files. */
  config?: TenantConfig;
  problems: readonly Problem[];
}

/**
 * Checks all files before it prints anything, so that one run shows every problem. Secrets may be absent; those that
 * are there must have the right form, each with a value of its own.
 *
 * @throws ConfigError with every problem, after printing the result for programs
 */
async function runValidate(context: CommandContext<SelectorOptions>): Promise<ExitCode> {
  const { output } = context.io;
  const workspace = openWorkspace();
  const environment = loadEnvironment(workspace.directory);
  const others = new DirectorySecrets(workspace.directory, environment);
  const files = eachTenant(context, (file, tenant): Read => {
    try {
      const loaded = loadTenant(file);
      const { config, markets } = loaded;
      const secrets = problemsOf(() => checkSecretsAtHand(config, environment, others));
      const warnings = tenantWarnings(loaded, { environment, now: wallClockMs() });
      return { tenant, file: config.source.file, markets, config, problems: [...secrets, ...warnings] };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return { tenant, file: displayPath(file), markets: [], problems: error.problems };
    }
  });
  const read = await Promise.all(files.map(withRules));
  const repeated = hostsTwice(workspace, read);
  const checked = read.map(({ tenant, file, markets, problems }): CheckedTenant => {
    const all = inOrder([...problems, ...repeated.filter((problem) => problem.file === file)]);
    const valid = all.every(({ severity }) => severity === "warning");
    return { tenant, file, markets: markets.length, valid, diagnostics: all.map(annotationOf) };
  });
  const problems = [...read.flatMap((each) => each.problems), ...repeated];
  const errors = problems.filter(({ severity }) => severity === "error");
  // The problems say more than a table, since they show the lines around them.
  if (errors.length === 0 || output.format !== "table") await output.print(checked, view);
  for (const problem of problems) if (problem.severity === "warning") output.note(`Warning: ${headlineOf(problem)}`);
  for (const stray of strayGrants(workspace.directory)) output.note(`Warning: ${stray}`);
  if (errors.length > 0) throw new ConfigError(errors);
  return EXIT.ok;
}

/** Adds the results of the tenant's own rules for its files. */
async function withRules(read: Read): Promise<Read> {
  const { config, markets, problems } = read;
  if (!config || config.rules.length === 0) return read;
  const { factsOfFiles, ruleFindings } = await import("../../plan/rules/rules.ts");
  const facts = factsOfFiles(documentOf(config, markets, []), config.labels, wallClockMs());
  return { ...read, problems: [...problems, ...config.source.problems(ruleFindings(config.rules, facts))] };
}

/** Hosts that a checked tenant shares with another tenant of the directory. */
function hostsTwice({ directory, tenants }: Workspace, read: readonly Read[]): Problem[] {
  const siblings = tenants.filter((each) => !read.some(({ tenant }) => tenant === each));
  return repeatedHosts([
    ...siblings.flatMap((tenant) => unlessUnsound(() => loadTenantFile(tenantPath(directory, tenant))) ?? []),
    ...read.flatMap(({ config }) => config ?? []),
  ]);
}

function problemsOf(check: () => void): readonly Problem[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
