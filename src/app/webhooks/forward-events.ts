import { createHmac } from "node:crypto";
import { connectionFailure } from "../../client/http-answer.ts";
import { rounds } from "../../client/pace.ts";
import type { Api } from "../../contract/operations.ts";
import type { WebhookEventType } from "../../contract/resources/webhooks.ts";
import { contentOf } from "../../domain/audit/audit-payloads.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { signMessage } from "../../outgoing/sign.ts";
import {
  bodyOf,
  eventNamesOf,
  marketOf,
  type OutgoingEvent,
  outgoingEventsOf,
} from "../../services/webhooks/outgoing-events.ts";
import { type Entry, entriesAfter } from "../audit/walk-log.ts";

export interface ForwardOptions {
  forwardTo: string;
  events: readonly WebhookEventType[];
  secret: string;
  /** The pause between two reads of the log. */
  pollMs: number;
  /** Whether an entry would survive the loss of the database's server. */
  isConfirmed: (entry: Pick<Entry, "seq" | "hash">) => Promise<boolean>;
  signal: AbortSignal;
}

const TIMEOUT_MS = 10_000;

/** Derived, so that a program under development is configured once. No receiver of the tenant file has this secret. */
export function listenSecret(auditSecret: string): string {
  return `whsec_${createHmac("sha256", auditSecret).update("pmctl webhook listen v1").digest("base64")}`;
}

export interface Forwarded {
  id: string;
  type: string;
  /** Null if the receiver did not respond. */
  status: number | null;
  problem?: string;
}

/**
 * Forwards new events in order, each once and without a second attempt: for development. Leaves an entry that only the
 * primary has to a later round, because it could be lost with the primary and replaced by others.
 */
export async function* forwardEvents(options: ForwardOptions, api: Api): AsyncGenerator<Forwarded> {
  const { events, pollMs, signal, isConfirmed } = options;
  const questions = new Map<string, string>();
  let position: number | undefined;
  for await (const _ of rounds(pollMs, signal)) {
    if (position === undefined) {
      const [head] = (await api.listAudit({ limit: 1 })).entries;
      if (!head || (await isConfirmed(head))) position = head?.seq ?? 0;
    } else {
      for await (const page of entriesAfter(api, BigInt(position))) {
        const last = page.at(-1);
        if (last && !(await isConfirmed(last))) break;
        for (const entry of page) {
          for (const event of await eventsIn(entry, api, questions))
            if (events.includes(event.type) && !signal.aborted) yield await forward(event, options);
          position = entry.seq;
        }
      }
    }
  }
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
