import { createHmac } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { connectionFailure } from "../../client/http-answer.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import type { WebhookEventType } from "../../contract/resources/webhooks.ts";
import { contentOf } from "../../domain/audit/audit-payloads.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { bodyOf, eventNamesOf, marketOf, type OutgoingEvent, outgoingEventsOf } from "../../outgoing/events.ts";
import { signMessage } from "../../outgoing/sign.ts";

type Entry = WireResult<"listAudit">["entries"][number];

export interface ForwardOptions {
  forwardTo: string;
  events: readonly WebhookEventType[];
  secret: string;
  /** How often the log is looked at. */
  pollMs: number;
  /** Ends the listening. */
  signal: AbortSignal;
}

/** As many as one page of the interface holds. */
const PAGE = 200;
const TIMEOUT_MS = 10_000;

/** The same whenever it is asked for, so that a program under development is configured once. It is no receiver's. */
export function listenSecret(auditSecret: string): string {
  return `whsec_${createHmac("sha256", auditSecret).update("pmctl webhook listen v1").digest("base64")}`;
}

/** What became of one event. */
export interface Forwarded {
  id: string;
  type: string;
  /** Null when no answer came. */
  status: number | null;
  problem?: string;
}

/** Forwards what happens from now on, in order, each event once: this is for looking, deliveries are the server's. */
export async function* forwardEvents(options: ForwardOptions, api: Api): AsyncGenerator<Forwarded> {
  const { events, pollMs, signal } = options;
  const questions = new Map<string, string>();
  let position = (await api.listAudit({ limit: 1 })).entries[0]?.seq ?? 0;
  while (!signal.aborted) {
    for (const entry of await entriesAfter(api, position)) {
      for (const event of await eventsIn(entry, api, questions))
        if (events.includes(event.type) && !signal.aborted) yield await forward(event, options);
      position = entry.seq;
    }
    await delay(pollMs, undefined, { signal }).catch(() => {});
  }
}

/** Oldest first. The interface lists the newest first, so it walks back to where it was. */
async function entriesAfter(api: Api, position: number): Promise<Entry[]> {
  const found: Entry[] = [];
  let cursor: string | undefined;
  do {
    const page = await api.listAudit({ limit: PAGE, cursor });
    const fresh = page.entries.filter(({ seq }) => seq > position);
    found.push(...fresh);
    cursor = fresh.length === PAGE ? (page.cursor ?? undefined) : undefined;
  } while (cursor !== undefined);
  return found.reverse();
}

async function eventsIn(entry: Entry, api: Api, questions: Map<string, string>): Promise<OutgoingEvent[]> {
  const followed = { ...entry, seq: BigInt(entry.seq), content: contentOf(entry) };
  const id = eventNamesOf(followed).length > 0 ? marketOf(followed) : undefined;
  if (id !== undefined && !questions.has(id)) questions.set(id, (await api.getMarket({ id })).question);
  return outgoingEventsOf(followed, questions.get(id ?? ""));
}

async function forward(event: OutgoingEvent, { forwardTo, secret }: ForwardOptions): Promise<Forwarded> {
  const { id, type } = event;
  const body = bodyOf(event);
  const headers = { "content-type": "application/json", ...signMessage(id, body, wallClockMs(), [secret]) };
  try {
    const response = await fetch(forwardTo, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    return { id, type, status: response.status };
  } catch (error) {
    return { id, type, status: null, problem: connectionFailure(error).reason };
  }
}
