import type { TenantSecrets } from "../../config/resolve-tenant.ts";
import type { Sql } from "../../postgres/connect.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";

/** `warn` is for what works and should be changed; only `fail` decides the exit code. */
export type Status = "ok" | "warn" | "fail" | "skipped";

/** What one check found. Never holds a secret's value. */
export interface Check {
  /** Such as `node` or `secret keys.admin[0].secret`. */
  check: string;
  status: Status;
  /** What was found, or why it cannot be known. */
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

/** A tenant whose file is valid, as the groups of checks see it. */
export interface DoctorContext extends OperatorTenant {
  /** Undefined while one of them is missing or cannot be used. */
  secrets: TenantSecrets | undefined;
  /** Undefined when the database does not answer or its schema is not this pmctl's. */
  sql: Sql | undefined;
}

/** Checks that do not depend on other groups: an error in one is reported as a failed check, and the others go on. */
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
