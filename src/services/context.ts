import type { OperationId, Result } from "../contract/operations.ts";
import { requireScopes } from "../domain/access/scopes.ts";
import type { AuditKey, IsSealed } from "../domain/audit/seal.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { FeedDefinition } from "../domain/feeds/feed.ts";
import type { Command, Results } from "../engine/commands.ts";
import type { Act } from "../engine/integrity.ts";
import type { Passing } from "../ledger/sequencer/passing.ts";
import type { Sequencer } from "../ledger/sequencer/sequencer.ts";
import type { ClientKind } from "../ledger/unchained/request-count.ts";
import type { Pool } from "../postgres/pool.ts";
import type { Evidence } from "./anchors/evidence.ts";
import { encodeResult } from "./answers.ts";
import type { RecordWatch } from "./audit/record-watch.ts";
import type { Cursors } from "./cursor.ts";
import { Answered, type Caller } from "./invoke.ts";
import type { TradeAnswer, TradeRequest } from "./markets/passing/messages.ts";
import type { OracleSetup } from "./oracle/feeds.ts";
import type { SecurityLog } from "./security/security-log.ts";
import type { Views } from "./views/views.ts";

/** The oracle's work on demand. The server assembly sets `check` and `run`, because services have no price sources. */
export interface Sweeps {
  check?: (feeds: readonly FeedDefinition[]) => Promise<Result<"checkFeeds">>;
  run?: () => Promise<{
    watched: number;
    asked: number;
    settled: string[];
    held: { marketId: string; reason: string }[];
    failures: unknown[];
  }>;
}

/**
 * What only a serving process knows. Its assembly sets each part, because services have no metrics, listener or files;
 * a command on the database has none of them.
 */
export interface ServingFacts {
  recent?: () => NonNullable<Result<"getServer">["recent"]>;
  /** Requests per minute that a kind of client may make; undefined for a kind that is not counted apart. */
  limitOf?: (kind: ClientKind) => number | undefined;
  /** The servers of this process's directory, itself among them, without their work. */
  servers?: () => Promise<Omit<Result<"getServer">["servers"][number], "work">[]>;
  certificates?: () => NonNullable<Result<"getServer">["certificates"]>;
  /** In milliseconds; null where this process's directory wrote no backup. */
  lastBackupAt?: () => Promise<number | null>;
}

/** What handlers work with. */
export interface ServiceContext {
  tenantId: string;
  sequencer: Sequencer;
  /** Decides trades: here, or in the server that leads. */
  passing: Pick<Passing<TradeRequest, TradeAnswer>, "submit">;
  /** For reads, and for writes that need no place in the order of commits. Its reads decide nothing about money. */
  pool: Pool;
  /**
   * For public reads. It has its own connections, and each statement is cancelled after half a second, so that public
   * reads take nothing that trades and portfolios need. @throws Fault OVERLOADED
   */
  publicReads: Pick<Pool, "read" | "snapshot">;
  /** Answers kept in memory, for reads that many callers repeat. */
  views: Views;
  /** Connections for checks of the whole ledger and chain. Checks queue behind each other, never in front of reads. */
  checks: Pool;
  /** Compares the log with the entries that it is known to have contained. */
  evidence: Evidence;
  /** Checks the log and the ledger; a server runs it in the background. */
  recordWatch: RecordWatch;
  /** The feeds that markets may refer to. */
  oracle: OracleSetup;
  sweeps: Sweeps;
  serving: ServingFacts;
  /** Makes and reads the cursors of lists. */
  cursors: Cursors;
  /** Events for operators that are not in the audit log. */
  security: SecurityLog;
  /** Seals stored data that decides about money but is not in the log. */
  auditKey: AuditKey;
  /** Whether the audit key sealed an entry. */
  isSealed: IsSealed;
  /** Fresh identifiers, ordered by time. */
  newId: (prefix: string) => string;
}

/**
 * Sends a command through the sequencer. The answer is created before the commit. With an `Idempotency-Key` the same
 * commit stores the answer, and a repeated request gets the stored answer.
 *
 * @param toRepeated the answer to repeats of the request, if the first answer holds a secret
 */
export async function submit<Id extends OperationId, C extends Command>(
  { sequencer }: ServiceContext,
  id: Id,
  command: C,
  caller: Caller,
  toResult: (result: Results[C["type"]], seq: bigint | undefined) => Result<Id>,
  toRepeated?: (result: Results[C["type"]]) => Result<Id>,
): Promise<Answered> {
  const { actor, reason, idempotency, isCalledBack, onSealed } = caller;
  const text = (result: Result<Id>) => JSON.stringify(encodeResult(id, result));
  const { rendered, entry, replayed } = await sequencer.submit<C>({
    command,
    actor,
    reason,
    render: (result, seq) => ({
      status: 200,
      body: text(toResult(result, seq)),
      repeatBody: toRepeated && text(toRepeated(result)),
    }),
    idempotency,
    isCalledBack,
  });
  if (entry) onSealed?.(entry);
  if (replayed) return new Answered(replayed.body, true);
  invariant(rendered, "what is submitted with a rendering is answered with it");
  return new Answered(rendered.body, false);
}

/**
 * Makes a change that no command makes. A later commit records it, and stores its answer under an `Idempotency-Key`. A
 * repeat gets the stored answer; if the process ended before that commit, the repeat makes the change again.
 *
 * @param make returns its result and what goes on record
 * @throws Fault INTEGRITY while changes are refused
 */
export async function makeOnce<Id extends OperationId>(
  context: ServiceContext,
  id: Id,
  caller: Caller,
  make: () => Promise<{ result: Result<Id>; act: Act }>,
): Promise<Answered> {
  context.evidence.requireSound();
  const record = (made?: Awaited<ReturnType<typeof make>>) =>
    submit(context, id, { type: "recordAct", act: made?.act }, caller, () => {
      invariant(made, "what is recorded was made");
      return made.result;
    });
  const first =
    caller.idempotency &&
    (await record().catch((error: unknown) => {
      if (error instanceof Fault && error.code === "NOT_FOUND") return undefined;
      throw error;
    }));
  return first ?? record(await make());
}

/**
 * Checks the caller of a read that public keys may also use, if the request goes beyond their rights.
 * @throws Fault FORBIDDEN, or SCOPE_REQUIRED for an admin key without the scope `read`
 */
export function requireOperator({ actor, scopes }: Caller): void {
  if (!/^(admin|cli):/.test(actor)) throw new Fault("FORBIDDEN", "This needs an admin key");
  if (scopes) requireScopes(scopes, ["read"]);
}

/** The trader of the request; server and client have checked that there is one. */
export function requireUser(caller: Caller): NonNullable<Caller["user"]> {
  if (!caller.user) throw new Fault("USER_REQUIRED", "A user token is required");
  return caller.user;
}
