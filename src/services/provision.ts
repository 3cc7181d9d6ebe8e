import { createHash } from "node:crypto";
import type { Seal } from "../domain/audit-link.ts";
import type { ApplyConfig } from "../engine/commands.ts";
import { type Connection, connect } from "../store/connect.ts";
import { ensureDatabase } from "../store/database.ts";
import { migrate } from "../store/migrate.ts";
import { openTenant } from "./tenant.ts";

export interface ProvisionOptions {
  tenantId: string;
  connection: Connection;
  auditSecret: string;
  previousAuditSecrets?: readonly string[];
  /** Into the audit entry. */
  actor: string;
  reason?: string | undefined;
  config: Omit<ApplyConfig, "type">;
}

export interface Provisioned {
  /** Migrations that this run applied. */
  migrations: string[];
  /** Whether anything of the tenant changed. */
  changed: boolean;
  /** The audit entry of the change. */
  seal: Seal | undefined;
}

/**
 * Brings a tenant's database to what its file says: the database, the schema, then everything else in one commit.
 * A second run changes nothing.
 */
export async function provision(options: ProvisionOptions): Promise<Provisioned> {
  const { tenantId, connection, auditSecret, previousAuditSecrets = [], actor, reason, config } = options;
  const migrations = await prepareDatabase(connection);
  const tenant = await openTenant({ tenantId, connection, auditSecret, previousAuditSecrets, readers: 1 });
  try {
    const answer = await tenant.sequencer.submit({ command: { type: "applyConfig", ...config }, actor, reason });
    return { migrations, changed: answer.result?.changed ?? false, seal: answer.entry };
  } finally {
    await tenant.close();
  }
}

/** Creates the database if need be and brings its schema to the version of this binary. Returns what was applied. */
export async function prepareDatabase(connection: Connection): Promise<string[]> {
  await ensureDatabase(connection);
  return migrateDatabase(connection);
}

/** Brings the schema to the version of this binary, as the database's owner. Returns what was applied. */
export async function migrateDatabase(connection: Connection): Promise<string[]> {
  const sql = connect(connection, { name: "migrate", max: 1 });
  try {
    return await migrate(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** What is stored of an API key: it can be compared, not used. */
export function hashApiKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
