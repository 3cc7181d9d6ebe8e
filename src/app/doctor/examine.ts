import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import { OPERATOR_FILE, strayGrants } from "../../config/operator-file.ts";
import type { Policy } from "../../domain/policy/policy.ts";
import { counted } from "../../domain/text.ts";
import { countVerifiedOfUnknownPlace } from "../../queries/traders/list-traders.ts";
import { readPolicy } from "../../services/configuration/policy.ts";
import { type DeclaredTenant, readDeclaredTenant } from "../tenant/operator-tenant.ts";
import { addressGroup } from "./addresses.ts";
import { certificateGroup } from "./certificate.ts";
import { type Check, type CheckGroup, fail, ok, skipped, warn, withoutDatabase } from "./check.ts";
import { checkDatabase } from "./database.ts";
import { durabilityGroup } from "./durability.ts";
import { keySetGroup } from "./key-set.ts";
import { loginGroup } from "./login.ts";
import { collectMachine, evaluateMachine } from "./machine.ts";
import { oracleGroup } from "./oracle.ts";
import { recordGroup } from "./record.ts";
import { collectEnvFile, evaluateEnvFile } from "./secret-files.ts";
import { collectSecrets, evaluateSecrets } from "./secrets.ts";
import { serverGroup } from "./server.ts";

export const jurisdictionsGroup: CheckGroup = {
  name: "jurisdictions",
  run: async ({ sql }) => {
    if (!sql) return withoutDatabase("jurisdictions");
    const { value: policy } = await readPolicy(sql);
    return [evaluateJurisdictions(policy.jurisdictions, await countVerifiedOfUnknownPlace(sql))];
  },
};

/**
 * Whether the policy refuses users because nothing says where they live: to an integration whose identity check names no
 * jurisdiction that looks like an outage.
 * @param unknown verified users whose identity check named none, or no code of ISO 3166
 */
export function evaluateJurisdictions({ allowed, blocked }: Policy["jurisdictions"], unknown: number): Check {
  if (allowed.length === 0 && blocked.length === 0)
    return ok("jurisdictions", "users of any jurisdiction may trade, a known one or not");
  const rule = "policy.jurisdictions refuses users whose jurisdiction is unknown";
  const remedy =
    "Send `jurisdiction` with the identity check (kyc.passed) or as a claim of the user's token, or empty both lists of policy.jurisdictions";
  if (unknown === 0) return ok("jurisdictions", `${rule}; each verified user has one on record`);
  return warn("jurisdictions", `${rule}: ${counted(unknown, "verified user")} without one on record`, remedy);
}

/** The groups of checks of a tenant. A new one is a line here and a file beside this one. */
const GROUPS: readonly CheckGroup[] = [
  addressGroup,
  certificateGroup,
  serverGroup,
  keySetGroup,
  loginGroup,
  durabilityGroup,
  recordGroup,
  oracleGroup,
  jurisdictionsGroup,
];

/** The checks of the machine and the directory, which concern every tenant. */
export async function examineMachine(directory: string, needsEmbedded: boolean): Promise<Check[]> {
  return evaluateMachine(await collectMachine(directory, needsEmbedded));
}

export async function examineFiles(directory: string): Promise<Check[]> {
  const env = await attempt(".env", async () => evaluateEnvFile(await collectEnvFile(directory)));
  const grants = await attempt(OPERATOR_FILE, async () =>
    strayGrants(directory).map((stray) =>
      warn(OPERATOR_FILE, stray, "Name a tenant of this directory, or take it out"),
    ),
  );
  return [...env, ...grants];
}

/** All checks of one tenant. One that throws is reported as failed; the others go on. */
export async function examineTenant(directory: string, id: string): Promise<Check[]> {
  const tenant = readTenant(directory, id);
  if ("check" in tenant) return [tenant];
  const { config, markets } = tenant;
  const { facts, secrets } = collectSecrets(config, loadEnvironment(directory));
  const { checks, sql, isCurrent } = await checkDatabase(tenant);
  const context = { ...tenant, secrets, sql: isCurrent ? sql : undefined };
  try {
    const groups: Check[] = [];
    for (const { name, run } of GROUPS) groups.push(...(await attempt(name, () => run(context))));
    return causeFirst([
      ok("tenant file", `${config.source.file} is valid, with ${counted(markets.length, "market")}`),
      ...evaluateSecrets(facts),
      ...checks,
      ...groups,
    ]);
  } finally {
    await sql?.end({ timeout: 1 });
  }
}

/** Checks that say nothing of their own under another log's audit key. */
const BY_AUDIT_KEY: readonly string[] = [
  "anchors",
  "on record",
  "server",
  "server.port",
  "server.opsPort",
  "readiness",
  "ledger",
];

/** Where the audit key is wrong it stands first, and nothing is advised on that follows from it. */
function causeFirst(checks: readonly Check[]): Check[] {
  const cause = checks.find(({ check, status }) => check === "audit key" && status === "fail");
  if (!cause) return [...checks];
  const others = checks.filter((each) => each !== cause);
  return [
    cause,
    ...others.map((each) =>
      BY_AUDIT_KEY.includes(each.check) && each.status !== "ok"
        ? skipped(each.check, "it cannot be told under a wrong audit key")
        : each,
    ),
  ];
}

function readTenant(directory: string, id: string): DeclaredTenant | Check {
  try {
    return readDeclaredTenant(directory, id);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [first] = error.problems;
    const more = error.problems.length > 1 ? `, and ${error.problems.length - 1} more` : "";
    const found = `${first?.file}:${first?.line}:${first?.column} ${first?.path} ${first?.message}${more}`;
    return fail("tenant file", found, `See them all: pmctl validate ${id}`);
  }
}

async function attempt(name: string, work: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await work();
  } catch (error) {
    return [fail(name, `the check itself failed: ${(error as Error).message}`, "PMCTL_DEBUG=1 shows where")];
  }
}
