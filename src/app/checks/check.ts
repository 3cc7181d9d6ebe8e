import type { TenantSecrets } from "../../config/resolve-tenant.ts";
import type { Sql } from "../../postgres/connect.ts";
import type { ConfigSession, LiveTenant } from "../tenant/config-session.ts";
import type { DeclaredTenant, OperatorTenant } from "../tenant/operator-tenant.ts";
import type { InboxKind, Waiting } from "./inbox-item.ts";

/** `warn` is for what works and should be changed; only `fail` decides the exit code. */
type Status = "ok" | "warn" | "fail" | "skipped";

/** What the doctor found. Never holds a secret's value. */
export interface Finding {
  /** Such as `node` or `secret keys.admin[0].secret`. */
  check: string;
  status: Status;
  /** What was found, or why it cannot be known. */
  found: string;
  /** What to do; null when there is nothing to do. */
  remedy: string | null;
}

export function ok(check: string, found: string): Finding {
  return { check, status: "ok", found, remedy: null };
}

export function warn(check: string, found: string, remedy: string): Finding {
  return { check, status: "warn", found, remedy };
}

export function fail(check: string, found: string, remedy: string): Finding {
  return { check, status: "fail", found, remedy };
}

export function skipped(check: string, found: string): Finding {
  return { check, status: "skipped", found, remedy: null };
}

/** A tenant whose file is valid, as the doctor examines it. */
export interface Examined extends OperatorTenant {
  /** Undefined while one of them is missing or cannot be used. */
  secrets: TenantSecrets | undefined;
  /** Undefined when the database does not answer or its schema is not this pmctl's. */
  sql: Sql | undefined;
}

/** Where the inbox looks at a tenant, and for when, in milliseconds since 1970. */
export interface Scope {
  tenant: string;
  now: number;
  /** What ends later is not shown. */
  until: number;
}

/**
 * One question about a tenant. The doctor shows what it finds with advice, the inbox what of it waits for a person, and
 * the status how much that is. A check that throws is reported as failed; the others go on.
 */
export interface Check {
  /** Unique. */
  id: string;
  asks: string;
  /** Answers from the files, the secrets and the servers of this machine, without starting anything. */
  examine?: (tenant: Examined) => readonly Finding[] | Promise<readonly Finding[]>;
  /** Answers from the database; the findings of these names, separated by commas, are skipped where it cannot be asked. */
  inDatabase?: { finds: string; examine: (sql: Sql, tenant: Examined) => Promise<readonly Finding[]> };
  /** The finding of another check that explains all that this one does not find well. */
  cause?: string;
  /** What of it waits for a person: told by the tenant's files and this directory, or by the live tenant. */
  waits?: {
    kinds: readonly InboxKind[];
    files?: (tenant: DeclaredTenant, scope: Scope) => Waiting[] | Promise<Waiting[]>;
    live?: (live: LiveTenant, scope: Scope, session: ConfigSession) => Waiting[] | Promise<Waiting[]>;
  };
}

/** Findings whose failure ends with exit code 8, on which operators are paged. */
export const EVIDENCE: readonly string[] = ["audit chain", "anchors", "on record", "ledger"];

/** Findings about how a tenant is set up, which stay until the operator changes the setup. */
export const STANDING: readonly string[] = [
  "webhook secrets",
  "database login",
  "database owner",
  "replication",
  "archive",
  "backup",
];
