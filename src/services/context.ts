import type { OperationId, Result } from "../contract/operations.ts";
import { Fault } from "../domain/fault.ts";
import type { Command, Results } from "../engine/commands.ts";
import type { Sequencer } from "../sequencer/sequencer.ts";
import type { Pool } from "../store/pool.ts";
import type { AuditWatch } from "./audit-watch.ts";
import type { Cursors } from "./cursor.ts";
import type { OracleSetup } from "./feeds.ts";
import { type Caller, encodeResult, Replayed } from "./invoke.ts";

/** What handlers work with. */
export interface ServiceContext {
  tenantId: string;
  sequencer: Sequencer;
  /** For reads, and for writes that need no place in the order of commits. Nothing that decides about money is read here. */
  pool: Pool;
  /** One connection for checks of the whole ledger and chain: they queue behind each other, never in front of reads. */
  checks: Pool;
  /** Knows whether the audit chain holds; whoever serves lets it walk in the background. */
  auditWatch: AuditWatch;
  /** The feeds that markets may refer to. */
  oracle: OracleSetup;
  /** Where the pages of lists go on. */
  cursors: Cursors;
  /** Fresh identifiers, ordered by time. */
  newId: (prefix: string) => string;
}

/**
 * Sends a command through the sequencer and turns its result into the operation's. With an `Idempotency-Key` the
 * answer is stored in the same commit, or the stored one comes back.
 *
 * @param toStored what is stored in place of the answer, when that holds a secret
 */
export async function submit<Id extends OperationId, C extends Command>(
  { sequencer }: ServiceContext,
  id: Id,
  command: C,
  caller: Caller,
  toResult: (result: Results[C["type"]]) => Result<Id>,
  toStored: (result: Results[C["type"]]) => Result<Id> = toResult,
): Promise<Result<Id> | Replayed> {
  const { actor, reason, idempotency, onSealed } = caller;
  const answer = await sequencer.submit<C>({
    command,
    actor,
    reason,
    idempotency: idempotency && {
      ...idempotency,
      render: (result) => ({ status: 200, body: JSON.stringify(encodeResult(id, toStored(result))) }),
    },
  });
  if (answer.entry) onSealed?.(answer.entry);
  return answer.replayed ? new Replayed(answer.replayed) : toResult(answer.result);
}

/** The trader on whose behalf the caller acts. The doors have checked that there is one. */
export function requireUser(caller: Caller): NonNullable<Caller["user"]> {
  if (!caller.user) throw new Fault("USER_REQUIRED", "A user token is required");
  return caller.user;
}
