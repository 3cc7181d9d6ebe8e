import { createHash } from "node:crypto";
import type { Input, Result } from "../../contract/operations.ts";
import { type AuditEntry, payloadOf } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { formatTimestamp } from "../../domain/time/timestamp.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { boundsOf, listAuditEntries } from "../../queries/audit.ts";
import { findInbound, type InboundRow, listInbound } from "../../queries/inbound.ts";
import type { ServiceContext } from "../context.ts";
import type { Handlers } from "../invoke.ts";

/** What providers sent, for operators. */
export function inboundListHandlers(context: ServiceContext) {
  return {
    listInboundWebhooks: (input) => list(context, input),
    getInboundWebhook: (input) => find(context, input),
  } satisfies Handlers;
}

async function find({ pool }: ServiceContext, input: Input<"getInboundWebhook">): Promise<Result<"getInboundWebhook">> {
  return pool.snapshot(async (sql) => {
    const row = await findInbound(sql, input);
    if (!row) throw new Fault("NOT_FOUND", "No accepted webhook of this provider has this hash");
    const isOriginal = row.body !== null && createHash("sha256").update(row.body).digest("hex") === row.sha256;
    const sequence = (await sequencesOf(sql, [row])).get(row) ?? null;
    return { ...row, body: isOriginal ? row.body : null, sequence };
  });
}

async function list(
  { pool, cursors }: ServiceContext,
  input: Input<"listInboundWebhooks">,
): Promise<Result<"listInboundWebhooks">> {
  const { provider, limit } = input;
  const list = cursors.list("listInboundWebhooks", input);
  const reached = list.reached(["number", "string", "string"]);
  const after = reached && { receivedAt: reached[0], provider: reached[1], sha256: reached[2] };
  return pool.snapshot(async (sql) => {
    const rows = await listInbound(sql, { provider, after, limit: limit + 1 });
    const { page, nextCursor } = list.page(rows, limit, (last) => [last.receivedAt, last.provider, last.sha256]);
    const sequences = await sequencesOf(sql, page);
    return { items: page.map((row) => ({ ...row, sequence: sequences.get(row) ?? null })), nextCursor };
  });
}

/** One webhook causes a few entries at most. */
const MOST_ENTRIES = 4;

/**
 * The first entry that each webhook caused. No row names it: a webhook and its entries have one time, one actor and one
 * user. The page is a whole span of time, so the provider's entries within it are those of the page.
 */
async function sequencesOf(sql: ReadSql, page: readonly InboundRow[]): Promise<ReadonlyMap<InboundRow, number>> {
  if (page.length === 0) return new Map();
  const times = page.map(({ receivedAt }) => receivedAt);
  const within = await boundsOf(sql, { since: Math.min(...times), until: Math.max(...times) + 1 });
  const limit = MOST_ENTRIES * page.length;
  const byActor = new Map<string, AuditEntry[]>();
  for (const actor of new Set(page.map(actorOf)))
    byActor.set(actor, await listAuditEntries(sql, { actor, ...within, limit, oldestFirst: true }));
  const caused = (row: InboundRow) => {
    const fitting = byActor.get(actorOf(row))?.filter((entry) => isCause(row, entry)) ?? [];
    // Several deposits of one user may be of one moment.
    return fitting.find((entry) => payloadOf(entry).txRef === row.reference) ?? fitting[0];
  };
  return new Map(
    page.flatMap((row) => {
      const entry = caused(row);
      return entry ? [[row, Number(entry.seq)]] : [];
    }),
  );
}

/** As the provider's commands are recorded, unless an operator acted for it. */
const actorOf = ({ provider }: InboundRow): string => `provider:${provider.replace(/^kyc:/, "")}`;

function isCause({ receivedAt, outcome, userId }: InboundRow, entry: AuditEntry): boolean {
  return (
    entry.ts === formatTimestamp(receivedAt) &&
    outcome.split(", ").includes(entry.type) &&
    (userId === null || payloadOf(entry).userId === userId)
  );
}
