import type { Command } from "commander";
import { EVIDENCE, type Finding, STANDING } from "../../app/checks/check.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { openWorkspace, tenantPath, type Workspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import type { CommandContext, Host } from "../command.ts";
import { aimed, EXIT, type ExitCode, READS_FILES } from "../errors.ts";
import { type SelectorOptions, takesTenantsToLookAt } from "../input/selector-option.ts";
import { readEach, tenantsMeant } from "../input/tenants.ts";
import type { View } from "../output/output.ts";

interface DoctorOptions extends SelectorOptions {
  pre?: boolean;
}

interface Found extends Finding {
  /** Null for a check of the machine. */
  tenant: string | null;
}

interface Diagnosis {
  ok: boolean;
  checks: Found[];
}

const MARKS = { ok: "ok", warn: "WARN", fail: "FAIL", skipped: "-" } as const;

/** Turns a command line into one that may be pasted at the place of this one. */
type Aim = (command: string) => string;

const viewWith = (aim: Aim): View<Diagnosis, Diagnosis> => ({
  kind: "record",
  lines: ({ checks }) => checks.map((check) => ({ ...check })),
  fields: ({ checks }) =>
    withStandingInOneLine(checks, aim).map(({ tenant, check, status, found, remedy, commands }) => [
      `${MARKS[status].padEnd(4)}  ${tenant === null ? "" : `${tenant}: `}${check}`,
      remedy === null ? found : `${sentence(found)} ${commands.length > 0 ? `${remedy}:` : remedy}`,
      commands,
    ]),
});

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`;
}

/** On a screen, several set-up warnings of a tenant become one line. */
function withStandingInOneLine(checks: readonly Found[], aim: Aim): Found[] {
  const isStanding = ({ check, status }: Found) => status === "warn" && STANDING.includes(check);
  return checks.flatMap((each): Found[] => {
    if (!isStanding(each)) return [each];
    const all = checks.filter((other) => other.tenant === each.tenant && isStanding(other));
    if (all.length === 1) return [each];
    if (all[0] !== each) return [];
    const found = `${counted(all.length, "warning")}: ${all.map(({ check }) => check).join(", ")}`;
    const commands = [aim(`pmctl doctor ${each.tenant ?? ""} -o json`)];
    return [{ ...each, check: "set-up", found, remedy: "What each says", commands }];
  });
}

export function register(noun: Command, host: Host): void {
  host.add<DoctorOptions>(
    takesTenantsToLookAt(noun)
      .option("--pre", "make only the checks that a tenant's set-up needs")
      .description(
        "check that everything is in place; exit code 1 when a check fails, 8 when the audit log does not hold, the ledger does not add up or the database differs from it. Changes and starts nothing",
      ),
    {
      names: "ok checks",
      ends: { ...READS_FILES, 1: "a check failed", 8: "the audit log or the ledger does not hold" },
    },
    runDoctor,
  );
}

/** Makes every check, even after one has failed. */
async function runDoctor(context: CommandContext<DoctorOptions>): Promise<ExitCode> {
  const { options, io } = context;
  const { examineFiles, examineMachine, examineTenant } = await import("../../app/checks/examine.ts");
  const workspace = openWorkspace();
  const { directory } = workspace;
  const tenants = options.pre ? [] : tenantsMeant(workspace, context, "all");
  if (tenants.length === 0 && !options.pre)
    throw new Fault("USAGE", `There are no tenants in ${directory}; \`pmctl init\` creates one, and --pre needs none`);
  const machine = await examineMachine(directory, options.pre || tenants.some((id) => isEmbedded(workspace, id)));
  const files = options.pre ? [] : await examineFiles(directory);
  const aim: Aim = (command) => aimed(command, { directory: options.directory });
  const found = (tenant: string | null, check: Finding): Found => ({
    tenant,
    ...check,
    commands: check.commands.map(aim),
  });
  const checks = [...machine, ...files].map((check) => found(null, check));
  const ofTenants = await readEach(tenants, async (tenant) =>
    (await examineTenant(directory, tenant)).map((check) => found(tenant, check)),
  );
  checks.push(...ofTenants.flat());
  const failed = checks.filter(({ status }) => status === "fail").length;
  const warned = checks.filter(({ status }) => status === "warn").length;
  await io.output.print({ ok: failed === 0, checks }, viewWith(aim));
  io.output.note(`${counted(checks.length, "check")}: ${failed} failed, ${warned} with a warning.`);
  if (checks.some(({ check, status }) => status === "fail" && EVIDENCE.includes(check))) return EXIT.integrity;
  return failed === 0 ? EXIT.ok : EXIT.unexpected;
}

/** A tenant file that cannot be read counts as embedded, the usual case: another check reports the file. */
function isEmbedded({ directory }: Workspace, id: string): boolean {
  try {
    return loadTenantFile(tenantPath(directory, id)).database === "embedded";
  } catch (error) {
    if (error instanceof Fault) return true;
    throw error;
  }
}
