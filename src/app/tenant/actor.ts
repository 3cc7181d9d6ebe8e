import { userInfo } from "node:os";
import type { Seal } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { unplainIn } from "../../domain/text.ts";

/** What goes into the audit log beside a change, and who hears of the entry. */
export interface Recording {
  reason?: string | undefined;
  onSealed?: ((seal: Seal) => void) | undefined;
}

const LONGEST_REASON = 500;

/**
 * The reason that goes into the audit log; undefined for none. The server takes no other, so the database gets no other.
 * @throws Fault USAGE when it is too long, or not one line of plain text
 */
export function checkReason(reason: string | undefined): string | undefined {
  if (reason === undefined || reason === "") return undefined;
  if (reason.length > LONGEST_REASON)
    throw new Fault("USAGE", `--reason must have at most ${LONGEST_REASON} characters (got ${reason.length})`);
  const unplain = unplainIn(reason);
  if (unplain !== undefined) throw new Fault("USAGE", `--reason must be one line of plain text: it holds ${unplain}`);
  return reason;
}

/** Who acts straight on the database, as the audit log names them. */
export function operatorActor(): string {
  return `cli:${operatorName()}`;
}

/** The operating system's user. A container may run as a number that has no name. */
function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? "unknown"}`;
  }
}
