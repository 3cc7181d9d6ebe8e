import type { Input, Result } from "../../contract/operations.ts";
import { NO_ORIGIN } from "../../domain/access/security.ts";
import { type AuditEntry, payloadOf } from "../../domain/audit/audit-link.ts";
import { type ChainBreak, GENESIS } from "../../domain/audit/chain-walk.ts";
import { sentenceOf } from "../../domain/audit/sentence.ts";
import type { AnchorStanding } from "../../domain/audit/set-back.ts";
import { Fault } from "../../domain/fault.ts";
import { usdFromMicro } from "../../domain/money.ts";
import { listSecurityRows } from "../../ledger/unchained/security-log.ts";
import { withinDeadline } from "../../postgres/client.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { boundsOf, earlier, findAuditEntry, later, readQuestions, searchAudit } from "../../queries/audit.ts";
import { discrepancyOf, type ExplainedCheck, isCount } from "../../queries/reconcile/checks.ts";
import { type ServiceContext, submit } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";

const FLUSH_TIMEOUT_MS = 1_000;

/** The audit log, the security log and the check of the ledger. */
export function recordHandlers(context: ServiceContext) {
  return {
    listAudit: (input) => listAudit(context, input),
    getAuditEntry: (input) => getAuditEntry(context, input),
    listAnchors: () => listAnchors(context),
    getAuditStatus: (_, caller) => getAuditStatus(context, caller),
    listSecurityEvents: (input) => listSecurityEvents(context, input),
    reconcile: (input, caller) => reconcile(context, input, caller),
    explainLedger: async ({ failing }, caller) => {
      const { ledger } = context.recordWatch;
      const checks = await (failing === "true" ? ledger.failing() : ledger.explain());
      if (discrepancyOf(checks) !== 0n) noteDiscrepancy(context, caller);
      return checks.map(ledgerCheck);
    },
  } satisfies Handlers;
}

/** Newest first or, with `after`, oldest first, which is the order of verification and exports. */
async function listAudit({ pool, cursors }: ServiceContext, input: Input<"listAudit">): Promise<Result<"listAudit">> {
  const { limit, cursor: _, after: given, since, until, ...filter } = input;
  const list = cursors.list("listAudit", input);
  const [place] = list.reached(["number"]) ?? [];
  const reached = place === undefined ? undefined : BigInt(place);
  const oldestFirst = given !== undefined;
  return pool.read(async (sql) => {
    const within = await boundsOf(sql, { since, until });
    const after = oldestFirst ? later(within.after, reached ?? BigInt(given)) : within.after;
    const before = oldestFirst ? within.before : earlier(within.before, reached);
    const found = await searchAudit(sql, { ...filter, after, before, oldestFirst, limit: limit + 1 });
    const { page, nextCursor } = list.page(found.entries, limit, (last) => [Number(last.seq)]);
    const cursor = nextCursor ?? (found.reached === undefined ? null : list.cursorAt([Number(found.reached)]));
    const questions = Object.fromEntries(await questionsOf(sql, page));
    return { entries: page.map(auditItem), cursor, questions };
  });
}

/** The questions of the markets named by entries. */
async function questionsOf(sql: ReadSql, entries: readonly AuditEntry[]): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(entries.map((entry) => payloadOf(entry).marketId).filter((id) => typeof id === "string"));
  return ids.size === 0 ? new Map() : readQuestions(sql, [...ids]);
}

async function getAuditEntry(
  { pool }: ServiceContext,
  { seq }: Input<"getAuditEntry">,
): Promise<Result<"getAuditEntry">> {
  return pool.read(async (sql) => {
    const entry = await findAuditEntry(sql, BigInt(seq));
    if (!entry) throw new Fault("NOT_FOUND", `The audit log has no entry ${seq}`);
    const [question] = (await questionsOf(sql, [entry])).values();
    return { ...auditItem(entry), sentence: sentenceOf(entry, question) };
  });
}

/** An entry in wire form: the hashed text and its parsed value. */
export function auditItem({ seq, ...entry }: AuditEntry): Result<"listAudit">["entries"][number] {
  return { ...entry, seq: Number(seq), payload: payloadOf(entry) as Result<"listAudit">["entries"][number]["payload"] };
}

const MOST_ANCHORS = 100;

async function listAnchors({ evidence }: ServiceContext): Promise<Result<"listAnchors">> {
  const { known, anchors: counting, log } = await evidence.look();
  const anchors = [...Map.groupBy(known.anchors, ({ seq, hash }) => `${seq} ${hash}`).values()].map((same) => {
    const [{ seq, hash } = GENESIS] = same;
    const counts = same.some((each) => counting.includes(each));
    const standing: AnchorStanding = log.hashes.get(seq) === hash ? "held" : counts ? "missing" : "given up";
    const ts = same.find((each) => each.ts !== undefined)?.ts ?? null;
    const places = [...new Set(same.map(({ source }) => evidence.placeOf(source)))];
    return { seq: Number(seq), hash, ts, places, standing };
  });
  return {
    anchors: anchors.toSorted((one, other) => other.seq - one.seq).slice(0, MOST_ANCHORS),
    ignored: known.faults.map((fault) => evidence.placeOf(fault)),
  };
}

async function getAuditStatus(
  { recordWatch, security }: ServiceContext,
  { onVerified, origin = NO_ORIGIN }: Caller,
): Promise<Result<"getAuditStatus">> {
  const { verified, head, count, verifiedAt, problem, anchor } = await recordWatch.status();
  onVerified?.(verifiedAt);
  if (problem) security.note("integrity.failed", problem.kind, origin);
  return {
    verified,
    head,
    count: Number(count),
    problem: problem ? problemItem(problem) : null,
    anchor: anchor ? { seq: Number(anchor.seq), hash: anchor.hash, ts: anchor.ts } : null,
  };
}

function problemItem({ kind, seq, problem: text, sealedWith }: ChainBreak) {
  return { kind, seq: Number(seq), text, ...(sealedWith === undefined ? {} : { sealedWith }) };
}

async function listSecurityEvents(
  { pool, cursors, security }: ServiceContext,
  input: Input<"listSecurityEvents">,
): Promise<Result<"listSecurityEvents">> {
  const { event, since, limit } = input;
  const list = cursors.list("listSecurityEvents", input);
  const [ts, id] = list.reached(["number", "string"]) ?? [];
  // The first page must include events that this process has not written yet.
  await withinDeadline(security.flush(), FLUSH_TIMEOUT_MS).catch(() => {});
  const before = ts === undefined || id === undefined ? undefined : { ts, id };
  const rows = await pool.read((sql) => listSecurityRows(sql, { event, since, before, limit: limit + 1 }));
  const { page, nextCursor } = list.page(rows, limit, (last) => [last.ts, last.id]);
  return { entries: page.map(({ id: _, ...entry }) => entry), cursor: nextCursor };
}

/** The comparison only reads; the command records that it ran and its result. */
async function reconcile(context: ServiceContext, { full }: Input<"reconcile">, caller: Caller) {
  const { checks, verifiedAt } = await context.recordWatch.ledger.reconcile({ full: full === "true" });
  const discrepancyMicro = discrepancyOf(checks);
  const ok = discrepancyMicro === 0n;
  if (!ok) noteDiscrepancy(context, caller);
  caller.onVerified?.(verifiedAt);
  return submit(
    context,
    "reconcile",
    { type: "recordReconciliation", ok, discrepancyMicro },
    caller,
    ({ checkedAt }) => ({ ok, discrepancy: discrepancyMicro, checkedAt, verifiedAt }),
  );
}

function noteDiscrepancy({ security }: ServiceContext, { origin = NO_ORIGIN }: Caller): void {
  security.note("integrity.failed", "reconciliation", origin);
}

function ledgerCheck(check: ExplainedCheck): Result<"explainLedger">[number] {
  const { name, rows, differenceMicro, statedMicro, expectedMicro, places } = check;
  const sums = (stated: bigint, expected: bigint, discrepancy: bigint) => ({
    discrepancy: usdFromMicro(discrepancy),
    stated: usdFromMicro(stated),
    expected: usdFromMicro(expected),
  });
  return {
    name,
    unit: isCount(name) ? "count" : "usd",
    ok: differenceMicro === 0n,
    ...sums(statedMicro, expectedMicro, differenceMicro),
    rows,
    places: places.map((at) => ({
      place: at.place,
      ...sums(at.statedMicro, at.expectedMicro, at.differenceMicro),
      ...(at.held === null && at.said === null ? {} : { held: at.held, said: at.said }),
    })),
  };
}
