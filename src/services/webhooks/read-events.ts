import type { WebhookData } from "../../contract/resources/webhooks.ts";
import { signAnchor } from "../../domain/audit/anchor.ts";
import type { IsSealed } from "../../domain/audit/seal.ts";
import type { Pool } from "../../postgres/pool.ts";
import { readQuestions } from "../../queries/audit.ts";
import { type FollowedEntry, readEntries } from "../../queries/stream.ts";
import type { ServiceContext } from "../context.ts";
import { anchorEvent, anchorEventId, marketOf, type OutgoingEvent, outgoingEventsOf } from "./outgoing-events.ts";

/** Where the bodies of events come from: the log. */
export interface EventSource {
  pool: Pick<Pool, "read">;
  /** Whether the audit key sealed an entry: nothing is said of others. */
  isSealed: IsSealed;
  /** The signed anchor of an entry, for `audit.anchored`; undefined for an entry that fails verification. */
  anchorOf?: ((entry: FollowedEntry) => Promise<WebhookData["audit.anchored"] | undefined>) | undefined;
}

/** The events of deliveries, by their ids. An event is missing if the log does not contain its entry in sealed form. */
export async function readEvents(
  { pool, anchorOf, isSealed }: EventSource,
  deliveries: readonly { eventId: string; seq: bigint }[],
): Promise<Map<string, OutgoingEvent>> {
  const seqs = deliveries.map(({ seq }) => seq);
  const entries = await pool.read((sql) => readEntries(sql, seqs, isSealed));
  const markets = new Set(entries.flatMap((entry) => marketOf(entry) ?? []));
  const questions = markets.size === 0 ? new Map() : await pool.read((sql) => readQuestions(sql, [...markets]));
  const events = entries.flatMap((entry) => outgoingEventsOf(entry, questions.get(marketOf(entry) ?? "")));
  const known = new Map(events.map((event): [string, OutgoingEvent] => [event.id, event]));
  const asked = new Set(deliveries.map(({ eventId }) => eventId));
  for (const entry of anchorOf ? entries.filter((each) => asked.has(anchorEventId(each))) : []) {
    const line = await anchorOf?.(entry);
    if (line) known.set(anchorEventId(entry), anchorEvent(entry, line));
  }
  return known;
}

/** Signs anchors of entries that this process has verified. */
export function anchorsOf({
  tenantId,
  recordWatch,
  auditKey,
}: Pick<ServiceContext, "tenantId" | "recordWatch" | "auditKey">): NonNullable<EventSource["anchorOf"]> {
  return async (entry) =>
    (await recordWatch.chain.verifiedHead.holds(entry)) ? signAnchor(tenantId, entry, auditKey) : undefined;
}
