import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import { strayGrants } from "../../config/operator-file.ts";
import { OPERATOR_FILE } from "../../config/selection/names.ts";
import { counted } from "../../domain/text.ts";
import { type DeclaredTenant, readDeclaredTenant } from "../tenant/operator-tenant.ts";
import { type Check, type Examined, type Finding, fail, ok, STANDING, skipped, warn } from "./check.ts";
import { CHECKS } from "./checks.ts";
import { checkDatabase } from "./database.ts";
import { collectEnvFile, collectMachine, evaluateEnvFile, evaluateMachine } from "./machine.ts";
import { collectSecrets, evaluateSecrets } from "./secrets.ts";

/** Findings about the machine and the directory, which concern every tenant. */
export async function examineMachine(directory: string, needsEmbedded: boolean): Promise<Finding[]> {
  return evaluateMachine(await collectMachine(directory, needsEmbedded));
}

export async function examineFiles(directory: string): Promise<readonly Finding[]> {
  const env = await attempt(".env", async () => evaluateEnvFile(await collectEnvFile(directory)));
  const grants = await attempt(OPERATOR_FILE, () =>
    strayGrants(directory).map((stray) =>
      warn(OPERATOR_FILE, stray, "Name a tenant of this directory, or take it out"),
    ),
  );
  return [...env, ...grants];
}

/** The findings of all checks of a tenant. A cause comes first. */
export async function examineTenant(directory: string, id: string): Promise<readonly Finding[]> {
  const tenant = readTenant(directory, id);
  if ("check" in tenant) return [tenant];
  const { config, markets } = tenant;
  const { facts, secrets } = collectSecrets(config, loadEnvironment(directory));
  const { checks: ofDatabase, sql, isCurrent } = await checkDatabase(tenant);
  const examined = { ...tenant, secrets, sql: isCurrent ? sql : undefined };
  try {
    const results: { check: Check; findings: readonly Finding[] }[] = [];
    for (const check of CHECKS) results.push({ check, findings: await examine(check, examined) });
    const failed = new Map(
      results.flatMap(({ findings }) => findings.filter(({ status }) => status === "fail").map((f) => [f.check, f])),
    );
    const causes = new Set(CHECKS.flatMap(({ cause }) => failed.get(cause ?? "") ?? []));
    const told = results.flatMap(({ check: { cause }, findings }) =>
      findings
        .filter((finding) => !causes.has(finding))
        .map((finding) =>
          failed.has(cause ?? "") && finding.status !== "ok" ? unknownUnder(cause, finding) : finding,
        ),
    );
    const findings = [
      ...causes,
      ok("tenant file", `${config.source.file} is valid, with ${counted(markets.length, "market")}`),
      ...evaluateSecrets(facts),
      ...ofDatabase,
      ...told,
    ];
    return config.sandbox ? findings.map(inSandbox) : findings;
  } finally {
    await sql?.end({ timeout: 1 });
  }
}

/** Advice about keeping real money safe does not apply to a sandbox. */
function inSandbox(finding: Finding): Finding {
  const { check, status, found } = finding;
  return status === "warn" && STANDING.includes(check) ? skipped(check, `not needed in a sandbox: ${found}`) : finding;
}

/** Findings that follow from a cause get no advice of their own. */
function unknownUnder(cause: string | undefined, { check }: Finding): Finding {
  return skipped(check, `it cannot be known while ${cause} is wrong`);
}

function examine({ id, examine: ofFiles, inDatabase }: Check, tenant: Examined): Promise<readonly Finding[]> {
  const { sql } = tenant;
  return attempt(id, async () => [
    ...((await ofFiles?.(tenant)) ?? []),
    ...(inDatabase === undefined
      ? []
      : sql
        ? await inDatabase.examine(sql, tenant)
        : inDatabase.finds.split(", ").map((check) => skipped(check, "the database cannot be asked"))),
  ]);
}

function readTenant(directory: string, id: string): DeclaredTenant | Finding {
  try {
    return readDeclaredTenant(directory, id);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [first] = error.problems;
    const more = error.problems.length > 1 ? `, and ${error.problems.length - 1} more` : "";
    const found = `${first?.file}:${first?.line}:${first?.column} ${first?.path} ${first?.message}${more}`;
    return fail("tenant file", found, "See them all", `pmctl validate ${id}`);
  }
}

async function attempt(
  name: string,
  work: () => readonly Finding[] | Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await work();
  } catch (error) {
    return [fail(name, `the check itself failed: ${(error as Error).message}`, "PMCTL_DEBUG=1 shows where")];
  }
}
