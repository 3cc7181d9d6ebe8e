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

export function skipped(check: string, found: string): Check {
  return { check, status: "skipped", found, remedy: null };
}
