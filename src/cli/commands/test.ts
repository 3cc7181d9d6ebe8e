import { writeFileSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import type { CaseResult, Coverage, Failure, RanCase, TestedTenant } from "../../app/cases/run-case.ts";
import { ConfigError } from "../../config/config-error.ts";
import { matcher, Unusable } from "../../config/wildcards.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import type { CommandContext, Host, Io } from "../command.ts";
import { eachTenant } from "../config/each-tenant.ts";
import { READS_FILES } from "../errors.ts";
import { writableFile } from "../input/parsers.ts";
import { type SelectorOptions, selectorOption } from "../input/selector-option.ts";
import { type Annotation, annotationOf } from "../output/annotations.ts";
import { junitXml } from "../output/junit.ts";
import type { View } from "../output/output.ts";

interface TestOptions extends SelectorOptions {
  case?: (name: string) => boolean;
  junit?: string;
  coverage?: boolean;
}

interface Report {
  passed: number;
  failed: number;
  cases: ({ tenant: string } & CaseResult)[];
  /** Null without `--coverage`. */
  coverage: Coverage | null;
}

const view: View<Report, Report> = {
  kind: "record",
  fields: ({ cases, coverage }) => [
    ...[...Map.groupBy(cases, ({ tenant }) => tenant)].map(([tenant, own]) => [tenant, summary(own)] as const),
    ...(coverage?.refusals.map(
      ({ code, cases }) => [code, cases.length === 0 ? "in no case" : cases.join(", ")] as const,
    ) ?? []),
    ...(coverage?.rules.map(
      ({ name, evaluated }) => [`rule ${name}`, `evaluated ${counted(evaluated, "time")}`] as const,
    ) ?? []),
  ],
  annotations: ({ cases }) => cases.flatMap(annotationsOf),
};

export function register(noun: Command, host: Host): void {
  host.add<TestOptions>(
    noun
      .argument("[tenants...]", "tenants whose cases to run (default: all); * and ? match")
      .addOption(selectorOption())
      .option("--case <glob>", "only cases with these names; * and ? match", namesLike)
      .option("--junit <file>", "write the results for build services, as JUnit XML", writableFile)
      .option("--coverage", "say which errors and rules the cases met")
      .description(
        "run the cases of tests/*.yaml through the engine, without database and secrets; ends with 7 when one fails",
      ),
    {
      names: "passed failed cases coverage",
      ends: { ...READS_FILES, 7: "a case failed its expectation" },
      annotates: true,
    },
    runTest,
  );
}

/** Returns a test whether a case's name matches a pattern. A slash counts as any other character. */
function namesLike(pattern: string): (name: string) => boolean {
  const flat = (text: string) => text.replaceAll("/", "\u2215");
  try {
    const fits = matcher(flat(pattern));
    return (name) => fits(flat(name));
  } catch (error) {
    if (error instanceof Unusable) throw new InvalidArgumentError(`It ${error.message}.`);
    throw error;
  }
}

/**
 * Runs no case unless all files are valid.
 * @throws ConfigError with the problems of all files; Fault CASE_FAILED once everything is printed and written
 */
async function runTest(context: CommandContext<TestOptions>): Promise<void> {
  const { options, io } = context;
  const { readTestedTenant, runCases } = await import("../../app/cases/run-case.ts");
  const tested = await soundOrAnnotated(io, () =>
    eachTenant(context, (file, tenant) => readTestedTenant(tenant, file)),
  );
  const ran = tested.map((each) => ({ ...each, ran: runCases(each, options.case ?? (() => true)) }));
  const cases = ran.flatMap(({ tenant, ran }) => ran.map(({ result }) => ({ tenant, ...result })));
  const failed = cases.filter(({ ok }) => !ok).length;
  const coverage = options.coverage ? await coverageOf(ran) : null;
  if (options.junit !== undefined) writeFileSync(options.junit, junitOf(cases));
  if (cases.length === 0) io.output.note("No cases match; cases are in tests/*.yaml beside tenant.yaml");
  await io.output.print({ passed: cases.length - failed, failed, cases, coverage }, view);
  if (failed === 0) return;
  // Formats for programs include them.
  if (["table", "markdown"].includes(io.output.format))
    for (const each of cases) for (const failure of each.failures) io.output.note(failureLine(each, failure));
  throw new Fault("CASE_FAILED", `${failed} of ${counted(cases.length, "case")} failed`);
}

async function soundOrAnnotated<Value>({ output }: Pick<Io, "output">, read: () => Value): Promise<Value> {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) await output.annotate(error.problems.map(annotationOf));
    throw error;
  }
}

async function coverageOf(tested: readonly (TestedTenant & { ran: readonly RanCase[] })[]): Promise<Coverage> {
  const { refusalsMet, rulesMet } = await import("../../app/cases/run-case.ts");
  const rules = await Promise.all(tested.map((each) => rulesMet(each, each.ran)));
  // Tenants that extend one base share its rules.
  const byName = Map.groupBy(rules.flat(), ({ name }) => name);
  return {
    refusals: refusalsMet(tested.flatMap(({ ran }) => ran)),
    rules: [...byName].map(([name, same]) => ({
      name,
      evaluated: same.reduce((sum, { evaluated }) => sum + evaluated, 0),
    })),
  };
}

function summary(cases: readonly CaseResult[]): string {
  const failed = cases.filter(({ ok }) => !ok).length;
  const ms = cases.reduce((sum, each) => sum + each.ms, 0);
  return `${cases.length - failed} passed, ${failed} failed, ${ms.toFixed(1)} ms`;
}

function failureLine({ file, name }: CaseResult, { line, ...failure }: Failure): string {
  return `${file}:${line}  ${name}: ${sentence(failure)}`;
}

function sentence({ path, expected, actual }: Omit<Failure, "line">): string {
  return `${path}: expected ${shown(expected)}, got ${shown(actual)}`;
}

function shown(value: unknown): string {
  return value === null ? "nothing" : typeof value === "string" ? value : JSON.stringify(value);
}

function annotationsOf({ file, name, failures }: CaseResult): Annotation[] {
  return failures.map(({ line, ...failure }) => ({
    file,
    line,
    column: 1,
    endLine: line,
    endColumn: 1,
    path: failure.path,
    code: "CASE_FAILED",
    severity: "error",
    message: `${name}: ${sentence(failure)}`,
    fix: null,
  }));
}

function junitOf(cases: Report["cases"]): string {
  const suites = [...Map.groupBy(cases, ({ tenant }) => tenant)];
  return junitXml(
    suites.map(([name, own]) => ({
      name,
      cases: own.map((each) => ({ ...each, failures: each.failures.map((failure) => failureLine(each, failure)) })),
    })),
  );
}
