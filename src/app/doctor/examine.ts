import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import { OPERATOR_FILE, strayGrants } from "../../config/operator-file.ts";
import type { SecretReference } from "../../config/schema/scalars.ts";
import { resolveSecret } from "../../config/secrets/secrets.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenant } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import type { Sql } from "../../postgres/connect.ts";
import { readLoginRights, readOwnership } from "../../queries/login.ts";
import { listPromises } from "../../queries/oracle.ts";
import { ownerProblem, problemOf } from "../tenant/database-owner.ts";
import { readOperatorTenant } from "../tenant/operator-tenant.ts";
import { tenantFeeds } from "../tenant/tenant-oracle.ts";
import { judgeAddresses } from "./addresses.ts";
import { gatherCertificate, judgeCertificate } from "./certificate.ts";
import { type Check, fail, ok, skipped, warn } from "./check.ts";
import { judgeDatabase, reachDatabase, withoutDatabase } from "./database.ts";
import { gatherKeySet, judgeKeySet } from "./key-set.ts";
import { judgeLogin, judgeOwner } from "./login.ts";
import { gatherMachine, judgeMachine } from "./machine.ts";
import { judgePromises } from "./oracle.ts";
import { gatherRecord, judgeRecord } from "./record.ts";
import { gatherEnvFile, judgeEnvFile } from "./secret-files.ts";
import { gatherSecrets, judgeSecrets } from "./secrets.ts";
import { gatherServer, judgeServer } from "./server.ts";

/** What a group of checks may ask about a tenant whose file is sound. */
export interface Patient {
  directory: string;
  id: string;
  config: TenantConfig;
  secrets: ReturnType<typeof gatherSecrets>["secrets"];
  /** Undefined when the database does not answer or its schema is not this pmctl's. */
  sql: Sql | undefined;
}

/** Checks of a tenant that stand on their own. A new group is a line here and a file beside this one. */
const GROUPS: readonly { name: string; run: (patient: Patient) => Promise<Check[]> }[] = [
  { name: "addresses", run: async ({ config }) => judgeAddresses(config) },
  { name: "certificate", run: async ({ config, directory }) => judgeCertificate(gatherCertificate(config, directory)) },
  {
    name: "server",
    run: async ({ directory, id }) => judgeServer(await gatherServer(readOperatorTenant(id, directory))),
  },
  { name: "user tokens", run: checkKeySet },
  { name: "database login", run: checkLogin },
  { name: "record", run: checkRecord },
  { name: "oracle", run: checkOracle },
];

const NOT_REACHED = { sql: undefined, facts: undefined };

/** The checks of the machine and the directory, which concern every tenant. */
export async function examineMachine(directory: string, needsEmbedded: boolean): Promise<Check[]> {
  return judgeMachine(await gatherMachine(directory, needsEmbedded));
}

export async function examineFiles(directory: string): Promise<Check[]> {
  const env = await attempt(".env", async () => judgeEnvFile(await gatherEnvFile(directory)));
  const grants = await attempt(OPERATOR_FILE, async () =>
    strayGrants(directory).map((stray) =>
      warn(OPERATOR_FILE, stray, "Name a tenant of this directory, or take it out"),
    ),
  );
  return [...env, ...grants];
}

/** All checks of one tenant. One that cannot be made is one that failed; the others go on. */
export async function examineTenant(directory: string, id: string): Promise<Check[]> {
  const file = readTenant(directory, id);
  if ("check" in file) return [file];
  const { config, markets } = file;
  const { facts, secrets } = gatherSecrets(config, loadEnvironment(directory));
  const databaseUrl = urlOf(config, directory);
  const reached =
    databaseUrl === undefined && config.database !== "embedded"
      ? undefined
      : await reachDatabase(directory, id, databaseUrl).catch((error: unknown) => error as Error);
  const database =
    reached === undefined
      ? [skipped("database", "its URL is one of the secrets that are missing")]
      : reached instanceof Error
        ? [fail("database", reached.message, "Look at the message")]
        : judgeDatabase(reached.facts, id);
  const { sql, facts: state } = reached === undefined || reached instanceof Error ? NOT_REACHED : reached;
  const isCurrent = state?.state === "answers" && state.schema === state.schemaNeeded;
  const patient: Patient = { directory, id, config, secrets, sql: isCurrent ? sql : undefined };
  try {
    const groups: Check[] = [];
    for (const { name, run } of GROUPS) groups.push(...(await attempt(name, () => run(patient))));
    return [
      ok("tenant file", `${config.source.file} is valid, with ${counted(markets.length, "market")}`),
      ...judgeSecrets(facts),
      ...database,
      ...groups,
    ];
  } finally {
    await sql?.end({ timeout: 1 });
  }
}

function readTenant(directory: string, id: string): ReturnType<typeof loadTenant> | Check {
  try {
    return loadTenant(tenantPath(directory, id));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [first] = error.problems;
    const more = error.problems.length > 1 ? `, and ${error.problems.length - 1} more` : "";
    const found = `${first?.file}:${first?.line}:${first?.column} ${first?.path} ${first?.message}${more}`;
    return fail("tenant file", found, `See them all: pmctl validate ${id}`);
  }
}

/** Of an external database; undefined when it is embedded, or its secret is missing, which has its own check. */
function urlOf(config: TenantConfig, directory: string): string | undefined {
  return config.database === "embedded" ? undefined : secretOf(config.database.url, config, directory);
}

function secretOf(reference: SecretReference, { source }: TenantConfig, directory: string): string | undefined {
  try {
    const { directory: folder, roots } = source;
    return resolveSecret(reference, { environment: loadEnvironment(directory), directory: folder, roots });
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

async function checkKeySet({ config, secrets }: Patient): Promise<Check[]> {
  if (!secrets) return [skipped("user tokens", "not all secrets are there")];
  return [judgeKeySet(await gatherKeySet(secrets.jwt, config.network))];
}

async function checkLogin({ sql, directory, config }: Patient): Promise<Check[]> {
  const { database } = config;
  if (database === "embedded")
    return sql ? [judgeLogin(await readLoginRights(sql), false)] : withoutDatabase("database login");
  const owner = await checkOwner(database, config, directory);
  if (!sql) return [...withoutDatabase("database login"), ...owner];
  const problem = database.ownerUrl === undefined ? problemOf(await readOwnership(sql)) : undefined;
  const isOwner = database.ownerUrl === undefined && problem === undefined;
  return [
    judgeLogin(await readLoginRights(sql), isOwner),
    ...(problem === undefined ? owner : [judgeOwner(problem, false)]),
  ];
}

/** Nothing where the owner's connection string is not at hand: the machine that serves has no need of it. */
async function checkOwner(
  { ownerUrl }: Exclude<TenantConfig["database"], "embedded">,
  config: TenantConfig,
  directory: string,
): Promise<Check[]> {
  const url = ownerUrl && secretOf(ownerUrl, config, directory);
  return url === undefined ? [] : [judgeOwner(await ownerProblem({ url, pooled: true }), true)];
}

async function checkRecord(patient: Patient): Promise<Check[]> {
  const { sql } = patient;
  if (!sql) return withoutDatabase("audit chain", "anchors", "on record", "treasury", "settlements");
  return judgeRecord(await gatherRecord(sql, patient));
}

async function checkOracle({ sql, config }: Patient): Promise<Check[]> {
  if (!sql) return withoutDatabase("oracle");
  return judgePromises(tenantFeeds(config), await listPromises(sql));
}

async function attempt(name: string, work: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await work();
  } catch (error) {
    return [fail(name, `the check itself failed: ${(error as Error).message}`, "PMCTL_DEBUG=1 shows where")];
  }
}
