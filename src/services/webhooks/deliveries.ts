import type { Input, Result } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type DeliveryRow, enableReceiver, replayDeliveries } from "../../ledger/unchained/webhook-replay.ts";
import {
  ENTRIES_ABOUT_USER,
  findDelivery,
  listDeliveries,
  listEntriesAbout,
  listReceivers,
  type ReceiverRow,
} from "../../queries/deliveries.ts";
import { makeOnce, type ServiceContext, submit } from "../context.ts";
import type { Caller, Handlers } from "../invoke.ts";
import { bodyOf } from "./outgoing-events.ts";
import { anchorsOf, readEvents } from "./read-events.ts";

/** Outgoing webhooks for operators. The delivery worker sends them when it sees the rows change. */
export function deliveryHandlers(context: ServiceContext) {
  return {
    listWebhookDeliveries: (input) => list(context, input),
    getWebhookDelivery: ({ id }) => find(context, id),
    replayWebhook: ({ id }, caller) => makeOnce(context, "replayWebhook", caller, () => replay(context, id)),
    listWebhookReceivers: async () => (await context.pool.read((sql) => listReceivers(sql))).map(receiverView),
    enableWebhookReceiver: ({ name }, caller) =>
      makeOnce(context, "enableWebhookReceiver", caller, () => enable(context, name)),
    testWebhookReceiver: ({ name }, caller) => sendTest(context, name, caller),
  } satisfies Handlers;
}

async function list(
  { pool, cursors }: ServiceContext,
  input: Input<"listWebhookDeliveries">,
): Promise<Result<"listWebhookDeliveries">> {
  const { receiver, status, userId, limit } = input;
  const list = cursors.list("listWebhookDeliveries", input);
  const reached = list.reached(["number", "string", "string"]);
  const after = reached && { seq: reached[0], receiver: reached[1], eventId: reached[2] };
  const seqs = userId === undefined ? undefined : await pool.read((sql) => listEntriesAbout(sql, userId, after?.seq));
  const rows = await pool.read((sql) => listDeliveries(sql, { receiver, status, seqs, after, limit: limit + 1 }));
  const { page, nextCursor } = list.page(rows, limit, (last) => [last.seq, last.receiver, last.eventId]);
  const items = page.map(deliveryView);
  if (nextCursor !== null || seqs?.length !== ENTRIES_ABOUT_USER) return { items, nextCursor };
  // Earlier entries may have deliveries too.
  return { items, nextCursor: list.cursorAt([Number(seqs.at(-1)), "", ""]) };
}

/** An event's id contains no dot; the receiver's name after it may. */
const DELIVERY_ID = /^([^.]+)(?:\.(.+))?$/s;

const UNKNOWN = "No delivery with this id: delivered ones are kept for a week, others for a month";

/** The body is made from the log, as for every attempt. */
async function find(context: ServiceContext, id: string): Promise<Result<"getWebhookDelivery">> {
  const { pool, isSealed } = context;
  const [, eventId = "", receiver = ""] = DELIVERY_ID.exec(id) ?? [];
  const row = await pool.read((sql) => findDelivery(sql, { eventId, receiver }));
  if (!row) throw new Fault("NOT_FOUND", UNKNOWN);
  const source = { pool, isSealed, anchorOf: anchorsOf(context) };
  const event = (await readEvents(source, [{ eventId, seq: BigInt(row.seq) }])).get(eventId);
  return { ...deliveryView(row), body: event ? bodyOf(event) : null };
}

async function replay({ pool }: ServiceContext, id: string) {
  const [, eventId = "", receiver] = DELIVERY_ID.exec(id) ?? [];
  const rows = await pool.write((sql) => replayDeliveries(sql, { eventId, receiver }));
  if (rows.length === 0) throw new Fault("NOT_FOUND", UNKNOWN);
  const receivers = rows.map((row) => row.receiver);
  return {
    result: { replayed: rows.map(deliveryView) },
    act: { type: "webhook.replayed", payload: { eventId, receivers } } as const,
  };
}

async function enable({ pool }: ServiceContext, name: string) {
  await pool.write((sql) => enableReceiver(sql, name));
  const result = receiverView(await requireReceiver(pool, name));
  return { result, act: { type: "webhook.enabled", payload: { receiver: name } } as const };
}

/** The entry causes the event, which the delivery worker then sends as every other one. */
async function sendTest(context: ServiceContext, name: string, caller: Caller) {
  await requireReceiver(context.pool, name);
  const act = { type: "webhook.tested", payload: { receiver: name } } as const;
  return submit(context, "testWebhookReceiver", { type: "recordAct", act }, caller, (_, seq) => ({
    receiver: name,
    sequence: Number(seq),
  }));
}

/** @throws Fault NOT_FOUND */
async function requireReceiver(pool: ServiceContext["pool"], name: string): Promise<ReceiverRow> {
  const [receiver] = await pool.read((sql) => listReceivers(sql, name));
  if (receiver) return receiver;
  throw new Fault(
    "NOT_FOUND",
    "No receiver with this name: receivers appear once a server with their tenant file has started",
  );
}

function deliveryView(row: DeliveryRow): Result<"replayWebhook">["replayed"][number] {
  const { receiver, eventId, seq, type, status, attempts, createdAt, nextAttemptAt } = row;
  const { lastAttemptAt, lastStatus, lastExcerpt } = row;
  return {
    deliveryId: `${eventId}.${receiver}`,
    receiver,
    eventId,
    type,
    sequence: seq,
    status,
    attempts,
    createdAt,
    nextAttemptAt: status === "pending" ? nextAttemptAt : null,
    lastAnswer:
      lastAttemptAt === null || lastExcerpt === null
        ? null
        : { at: lastAttemptAt, status: lastStatus, excerpt: lastExcerpt },
  };
}

function receiverView({ position, ...row }: ReceiverRow) {
  return { ...row, enabled: row.disabledAt === null, sequence: position };
}
