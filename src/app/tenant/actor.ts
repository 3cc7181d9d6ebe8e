import { userInfo } from "node:os";
import type { RelativeTimes } from "../../domain/access/idempotency.ts";
import type { Seal } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { unplainIn } from "../../domain/text.ts";

/** The reason for a change, and the listener for its audit entry. */
export interface Recording {
  reason?: string | undefined;
  /** The key under which a change is made once. */
  idempotencyKey?: string | undefined;
  relativeTimes?: RelativeTimes | undefined;
  onSealed?: ((seal: Seal) => void) | undefined;
}

/** In characters. */
export const LONGEST_REASON = 500;

/**
 * The reason for the audit log; undefined for none. A server applies the same rule.
 * @throws Fault USAGE when the reason is too long, or not one line of plain text
 */
export function checkReason(reason: string | undefined): string | undefined {
  if (reason === undefined || reason === "") return undefined;
  if (reason.length > LONGEST_REASON)
    throw new Fault("USAGE", `--reason must have at most ${LONGEST_REASON} characters (got ${reason.length})`);
  const unplain = unplainIn(reason);
  if (unplain !== undefined) throw new Fault("USAGE", `--reason must be one line of plain text: it has ${unplain}`);
  return reason;
}

/** The actor of changes straight at the database: the operating system's user. */
export function operatorActor(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A container may run as a user id without a name.
    return `cli:uid-${process.getuid?.() ?? "unknown"}`;
  }
}
