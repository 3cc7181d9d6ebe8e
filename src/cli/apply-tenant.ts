import { execa } from "execa";
import { loadEnvironment } from "../config/environment.ts";
import { type Choices, decide } from "../config/plan-decision.ts";
import type { Plan } from "../config/plan-types.ts";
import { resolveTenant, type TenantSecrets } from "../config/resolve-tenant.ts";
import { loadTenant, type Tenant } from "../config/tenant-file.ts";
import { tenantPath } from "../config/workspace.ts";
import type { Seal } from "../domain/audit-link.ts";
import { applyPlanned } from "../services/configuration.ts";
import { prepareDatabase } from "../services/provision.ts";
import { openTenant } from "../services/tenant.ts";
import { openDatabase, type TenantDatabase } from "./database.ts";
import { applyCommandOf } from "./live-config.ts";
import { fromFiles, planOn, type Source, servicesOf } from "./plan-tenant.ts";

/** A tenant with everything that applying and serving it need. */
export interface ReadyTenant extends Tenant {
  directory: string;
  secrets: TenantSecrets;
  database: TenantDatabase;
}

/**
 * Reads a tenant's file, resolves all of its secrets and reaches its database.
 * @param file elsewhere than in the directory's own tenants folder
 * @throws ConfigError with every problem of the file, or every secret that is missing
 */
export async function readyTenant(directory: string, tenant: string, file?: string): Promise<ReadyTenant> {
  const loaded = loadTenant(file ?? tenantPath(directory, tenant));
  const secrets = resolveTenant(loaded.config, loadEnvironment(directory));
  const database = await openDatabase(directory, tenant, secrets.databaseUrl);
  return { ...loaded, directory, secrets, database };
}

/** Answers the questions of a plan; a refusal is thrown. */
export type Chooser = (plan: Plan) => Choices | Promise<Choices>;

export interface ApplyOptions {
  /** Into the audit entry. */
  actor: string;
  reason?: string | undefined;
  choose: Chooser;
  /** What the tenant is to be like; its files unless given. */
  source?: Source;
  /** The audit entry that `source` is the document of. */
  rollbackTo?: number;
}

export interface Applied {
  /** Migrations that this run applied. */
  migrations: string[];
  /** Whether anything of the tenant changed. */
  changed: boolean;
  /** Of the audit entry, when something changed. */
  seal: Seal | undefined;
  plan: Plan;
}

/**
 * Brings a tenant's database to what its files say: the database, the schema, then everything else in one commit. A
 * second run changes nothing.
 * @throws Fault REFUSED when the plan asks what was not decided, or turned stale; then nothing of the tenant was written
 */
export async function applyTenant(ready: ReadyTenant, options: ApplyOptions): Promise<Applied> {
  const { database, directory } = ready;
  const { actor, reason, choose, source = fromFiles(ready), rollbackTo } = options;
  const migrations = await prepareDatabase(database.connection);
  const services = await openTenant(servicesOf(ready));
  try {
    const { plan, desired, live } = await planOn(services, source, services.oracle);
    const writes = decide(plan, desired, live, await choose(plan));
    const newId = () => services.newId("mkt");
    const gitCommit = await currentCommit(directory);
    const command = applyCommandOf(
      writes,
      { plan, desired },
      { newId, gitCommit, rollbackTo, hashes: services.oracle.hashes },
    );
    return { migrations, ...(await applyPlanned(services, command, { actor, reason })), plan };
  } finally {
    await services.close();
  }
}

/** The commit that the operator's directory stands at; undefined where there is no git or no commit. */
async function currentCommit(directory: string): Promise<string | undefined> {
  const { stdout, exitCode } = await execa("git", ["rev-parse", "--verify", "HEAD"], {
    cwd: directory,
    reject: false,
    stdin: "ignore",
    timeout: 5000,
  });
  return exitCode === 0 ? stdout.trim() : undefined;
}
