import { ANSWER_LIFE_MS, type Idempotency, keyedId } from "../../domain/access/idempotency.ts";
import { type AuditEntry, auditLines, canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import { type AuditKey, auditHash } from "../../domain/audit/seal.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import { type Command, execute, needsOf, type Results } from "../../engine/commands.ts";
import { Draft, type Reader } from "../../engine/draft.ts";
import { answerKey, type Need, type StoredAnswer, type Table } from "../../engine/rows.ts";
import type { Batch, Head } from "../commit.ts";
import { sealWrite, withSealsChecked } from "../sealed-rows.ts";
import { CalledBack } from "./faults.ts";

/** The caller's command, and how to recognise a repeat of the request. */
export interface Submission<C extends Command = Command> {
  command: C;
  /** The actor in the audit entry: `admin:ops`, `user:usr_1`, `provider:payments`, ... */
  actor: string;
  /** The operator's reason, for the audit entry. */
  reason?: string | undefined;
  /**
   * Creates the answer before anything is written: a command whose answer fails is refused. `seq` is the last entry
   * that the command writes, undefined if it writes none.
   */
  render?: ((result: Results[C["type"]], seq: bigint | undefined) => Rendered) | undefined;
  idempotency?: Idempotency | undefined;
  /** For a command of another process: whether it must not be decided on this head any more. */
  isCalledBack?: ((head: Head) => boolean) | undefined;
}

/** An answer in its final form. */
export interface Rendered {
  status: number;
  body: string;
  /** The answer to repeats of the request, if the body contains a secret. */
  repeatBody?: string | undefined;
}

/** The outcome of a submission, once the commit (or the head) has confirmed it. */
export type Outcome =
  | { kind: "done"; result: Results[Command["type"]]; rendered: Rendered | undefined; entry: AuditEntry | undefined }
  | { kind: "replayed"; answer: StoredAnswer }
  | { kind: "refused"; fault: unknown };

/** A batch that is executed but not committed yet. */
export interface Prepared {
  outcomes: Outcome[];
  /** Null if there is nothing to write. */
  batch: Batch | null;
}

/**
 * The rows that a command without money moves may write without an audit entry: its answer, a provider's delivery or
 * payment statement. A repeated command finds the row and does nothing, so an unknown outcome is harmless.
 */
const QUIET = new Set<Table>(["storedAnswer", "inboundDelivery", "payment", "receipt"]);

/** Whether the batch adds no audit entry, so that the chain cannot show whether it was committed. */
export function isQuiet({ audit }: Batch): boolean {
  return audit.length === 0;
}

/** Whether any caller gets a result, new or of an earlier attempt; an error acknowledges nothing. */
export function acknowledges({ outcomes }: Prepared): boolean {
  return outcomes.some(({ kind }) => kind !== "refused");
}

/** Rows that a submission reads. */
export function needsOfSubmission({ command, idempotency }: Submission): Need[] {
  const needs = needsOf(command);
  return idempotency
    ? [...needs, { table: "storedAnswer", key: answerKey(idempotency.caller, idempotency.key) }]
    : needs;
}

/**
 * Executes submissions in order, each on the state after the previous ones, and seals their audit entries into the
 * chain. Pure except for the HMAC: the same state, submissions and time give the same batch.
 */
export function prepareBatch(
  state: Reader,
  submissions: readonly Submission[],
  { head, now, key, keys = [key] }: { head: Head; now: number; key: AuditKey; keys?: readonly AuditKey[] },
): Prepared {
  // Time in the chain never moves back, whichever process wrote last. Decisions use `now`, not this time.
  const ts = Math.max(now, head.ts);
  const isoTs = new Date(ts).toISOString();
  const overlay = new Draft(withSealsChecked(state, keys), ts);
  const batch: Batch = {
    expected: head,
    next: { ...head, ts },
    before: null,
    writes: [],
    transfers: [],
    trades: [],
    audit: [],
  };

  const outcomes = submissions.map((submission): Outcome => {
    try {
      if (submission.isCalledBack?.(head)) throw new CalledBack();
      const replay = findAnswer(overlay, submission, now);
      if (replay) return { kind: "replayed", answer: replay };
      const { result, draft } = execute(overlay, commandOf(submission, now), now, ts);
      const sealed = draft.audit.length > 0;
      const seq = sealed ? batch.next.seq + BigInt(draft.audit.length) : undefined;
      const rendered = submission.render?.(result, seq);
      storeAnswer(draft, submission, rendered, now);
      if (!sealed)
        for (const { table } of draft.writes()) invariant(QUIET.has(table), `a change of ${table} has an audit entry`);
      const remarks = remarksOf(submission, { now, ts });
      append(batch, draft, { actor: submission.actor, remarks }, { ts: isoTs, key });
      for (const write of draft.writes()) {
        sealWrite(write, key);
        overlay.adopt(write);
      }
      return { kind: "done", result, rendered, entry: sealed ? batch.audit.at(-1) : undefined };
    } catch (fault) {
      return { kind: "refused", fault };
    }
  });
  const writes = overlay.writes();
  if (writes.length === 0 && isQuiet(batch)) return { outcomes, batch: null };
  // Every write moves the head, so that no other process keeps relying on its memory.
  if (isQuiet(batch)) batch.next = { ...head, epoch: quietEpoch(head, now) };
  return { outcomes, batch: { ...batch, writes } };
}

/**
 * An epoch that no other quiet batch has had, taken from the clock. With consecutive numbers, a failover that loses this
 * batch could make the next one leave the same head that other processes remember, and they would rely on lost rows.
 */
function quietEpoch({ epoch }: Head, now: number): bigint {
  return epoch < BigInt(now) ? BigInt(now) : epoch + 1n;
}

/** Additional fields of a command's entries; usually undefined. */
function remarksOf(
  { reason }: Submission,
  { now, ts }: { now: number; ts: number },
): { [key: string]: Json } | undefined {
  if (reason === undefined && now === ts) return undefined;
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(now === ts ? {} : { decidedAt: new Date(now).toISOString() }),
  };
}

/** A reason of the entry's own stays: an approver's says why the proposal was approved, and not why a market was voided. */
function remarked(payload: { [key: string]: Json | undefined }, remarks: { [key: string]: Json }) {
  const { reason = remarks.reason } = payload;
  return { ...payload, ...remarks, reason };
}

function append(
  batch: Batch,
  draft: Draft,
  { actor, remarks }: { actor: string; remarks: { [key: string]: Json } | undefined },
  { ts, key }: { ts: string; key: AuditKey },
): void {
  const { next } = batch;
  const firstSeq = next.seq + 1n;
  for (const { type, payload } of draft.audit) {
    const text: { [key: string]: Json | undefined } = remarks ? remarked(payload, remarks) : payload;
    const seq = next.seq + 1n;
    const entry: AuditEntry = { seq, type, actor, payloadText: canonicalJson(text), ts, keyId: key.id, hash: "" };
    entry.hash = auditHash(key, next.hash, auditLines(entry));
    batch.audit.push(entry);
    next.seq = seq;
    next.hash = entry.hash;
  }
  let leg = 0;
  for (const { debit, credit, amountMicro, entry } of draft.transfers) {
    invariant(entry < draft.audit.length, "each transfer has an audit entry");
    batch.transfers.push({ debit, credit, amountMicro, seq: firstSeq + BigInt(entry), leg });
    leg += 1;
  }
  for (const trade of draft.trades) batch.trades.push({ ...trade, seq: firstSeq });
  if (draft.before !== null && (batch.before === null || draft.before < batch.before)) batch.before = draft.before;
}

/** The command, with an id derived from the key for trades and operators' moves. Withdrawal ids stay: they sort by time. */
function commandOf({ command, idempotency }: Submission, now: number): Command {
  if (!idempotency) return command;
  switch (command.type) {
    case "placeTrade":
    case "sellShares":
    case "creditWallet":
    case "debitWallet": {
      const [prefix = ""] = command.id.split("_");
      return { ...command, id: keyedId(prefix, idempotency, now) };
    }
    default:
      return command;
  }
}

function findAnswer(state: Reader, { idempotency }: Submission, now: number): StoredAnswer | undefined {
  if (!idempotency) return undefined;
  const answer = state.get("storedAnswer", answerKey(idempotency.caller, idempotency.key));
  if (!answer || answer.createdAt <= now - ANSWER_LIFE_MS) return undefined;
  if (answer.requestHash !== idempotency.requestHash)
    throw new Fault("IDEMPOTENCY_MISMATCH", "Idempotency-Key was used with another request");
  return answer;
}

function storeAnswer(draft: Draft, { idempotency }: Submission, rendered: Rendered | undefined, now: number): void {
  if (!idempotency) return;
  invariant(rendered, "a request with an Idempotency-Key has an answer to repeat");
  const { caller, key, requestHash } = idempotency;
  const { status, body, repeatBody = body } = rendered;
  const answer = { caller, key, requestHash, status, body: repeatBody, createdAt: now };
  draft.put("storedAnswer", answerKey(caller, key), answer);
}
