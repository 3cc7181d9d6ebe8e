import { Fault } from "../../domain/fault.ts";
import { StatementFailed, Unconfirmed } from "../../postgres/connect.ts";

/** Why a command was not executed that may succeed later. */
const OVERLOADS = {
  busy: "The service is busy",
  unconfirmed: "The database has not confirmed the previous change",
  "given up": "The database accepted none of several attempts",
};

/** The command was not executed and never will be. */
export function overloaded(why: keyof typeof OVERLOADS): Fault {
  return new Fault("OVERLOADED", `${OVERLOADS[why]}; nothing was executed`, { retryAfterSec: 1 });
}

/** A command of another process was not decided here, and never will be. */
export class CalledBack extends Error {}

export function shuttingDown(): Fault {
  return new Fault("DATABASE_UNAVAILABLE", "The server is shutting down");
}

export function outcomeUnknown(cause: unknown): Fault {
  const message = "The database did not confirm the change; retry with the same Idempotency-Key to learn the outcome";
  return new Fault("OUTCOME_UNKNOWN", message, { cause });
}

/** Whether a statement left nothing in the database: the database refused it, or the journal did before sending it. */
export function leftNothing(error: unknown): boolean {
  return error instanceof StatementFailed || error instanceof Fault;
}

/**
 * The callers' error when nothing of their commands is in the database.
 * @param refusal why changes are currently refused, which then explains the failure
 */
export function faultOf(error: unknown, refusal?: Fault): Fault {
  if (error instanceof Fault) return error;
  const unavailable = error instanceof Unconfirmed || (error instanceof StatementFailed && !error.isAboutData);
  if (!unavailable) return new Fault("INTERNAL", "Unexpected failure", { cause: error });
  if (refusal) return refusal;
  return new Fault("DATABASE_UNAVAILABLE", "The database is not available; nothing was executed", { cause: error });
}
