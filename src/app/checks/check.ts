import type { InboxKind, Scope, Waiting } from "../../client/inbox/item.ts";
import type { TenantSecrets } from "../../config/resolve-tenant.ts";
import type { Sql } from "../../postgres/connect.ts";
import type { ConfigSession, LiveTenant } from "../tenant/config-session.ts";
import type { DeclaredTenant, OperatorTenant } from "../tenant/operator-tenant.ts";

/** `warn` is for a set-up that works and should be changed; only `fail` decides the exit code. */
type Status = "ok" | "warn" | "fail" | "skipped";

/** A result of the doctor. Never contains a secret's value. */
export interface Finding {
  /** Such as `node` or `secret keys.admin[0].secret`. */
  check: string;
  status: Status;
  /** The fact, or why it cannot be known. */
  found: string;
  /** What to do, without the command lines; null when there is nothing to do. */
  remedy: string | null;
  /** Command lines that do it or show more, each ready to be pasted. */
  commands: string[];
}

export function ok(check: string, found: string): Finding {
  return { check, status: "ok", found, remedy: null, commands: [] };
}

export function warn(check: string, found: string, remedy: string, ...commands: string[]): Finding {
  return { check, status: "warn", found, remedy, commands };
}

export function fail(check: string, found: string, remedy: string, ...commands: string[]): Finding {
  return { check, status: "fail", found, remedy, commands };
}

export function skipped(check: string, found: string): Finding {
  return { check, status: "skipped", found, remedy: null, commands: [] };
}

/** A tenant with a valid file, as the doctor examines it. */
export interface Examined extends OperatorTenant {
  /** Undefined while a secret is missing or cannot be used. */
  secrets: TenantSecrets | undefined;
  /** Undefined when the database does not answer or has another schema version. */
  sql: Sql | undefined;
}

/**
 * One question about a tenant. The doctor shows its findings with advice, the inbox shows what waits for a person, and
 * the status counts that. A check that throws is reported as failed, and the others go on.
 */
export interface Check {
  /** Unique. */
  id: string;
  asks: string;
  /** Answers from the files, the secrets and the servers of this machine; starts nothing. */
  examine?: (tenant: Examined) => readonly Finding[] | Promise<readonly Finding[]>;
  /** Answers from the database. Without a database, the findings with these names (separated by commas) are skipped. */
  inDatabase?: { finds: string; examine: (sql: Sql, tenant: Examined) => Promise<readonly Finding[]> };
  /** The finding of another check that explains every bad finding of this one. */
  cause?: string;
  /** What waits for a person, from the tenant's files and this directory, or from the live tenant. */
  waits?: {
    kinds: readonly InboxKind[];
    files?: (tenant: DeclaredTenant, scope: Scope) => Waiting[] | Promise<Waiting[]>;
    live?: (live: LiveTenant, scope: Scope, session: ConfigSession) => Waiting[] | Promise<Waiting[]>;
  };
}

/** Findings whose failure ends with exit code 8, which pages operators. */
export const EVIDENCE: readonly string[] = ["audit chain", "anchors", "on record", "ledger"];

/** Findings about a tenant's set-up, which stay until the operator changes it. */
export const STANDING: readonly string[] = [
  "webhook secrets",
  "database login",
  "database owner",
  "replication",
  "archive",
  "backup",
];
