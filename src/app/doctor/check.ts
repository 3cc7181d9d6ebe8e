import type { TenantSecrets } from "../../config/resolve-tenant.ts";
import type { Sql } from "../../postgres/connect.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";

/** `warn` is for what works and should not stay so; only `fail` decides the exit code. */
export type Status = "ok" | "warn" | "fail" | "skipped";

/** What one check found. Never holds a secret's value. */
export interface Check {
  /** Such as `node` or `secret keys.admin[0].secret`. */
  check: string;
  status: Status;
  /** What is the case, or why it cannot be known. */
  found: string;
  /** What to do; null when there is nothing to do. */
  remedy: string | null;
}

export function ok(check: string, found: string): Check {
  return { check, status: "ok", found, remedy: null };
}

export function warn(check: string, found: string, remedy: string): Check {
  return { check, status: "warn", found, remedy };
}

export function fail(check: string, found: string, remedy: string): Check {
  return { check, status: "fail", found, remedy };
}

/** What a group of checks may ask about a tenant whose file is sound. */
export interface DoctorContext extends OperatorTenant {
  /** Undefined while one of them is missing or cannot be used. */
  secrets: TenantSecrets | undefined;
  /** Undefined when the database does not answer or its schema is not this pmctl's. */
  sql: Sql | undefined;
}

/** Checks that stand on their own: one that throws is one that failed, and the others go on. */
export interface CheckGroup {
  name: string;
  run(context: DoctorContext): Promise<Check[]>;
}

export function skipped(check: string, found: string): Check {
  return { check, status: "skipped", found, remedy: null };
}

/** For checks that need a database when there is none. */
export function withoutDatabase(...checks: string[]): Check[] {
  return checks.map((check) => skipped(check, "the database cannot be asked"));
}
