import type { WebhookEventType } from "../contract/resources/webhooks.ts";
import {
  type ClaimedDelivery,
  claimDeliveries,
  countUntried,
  disableReceiver,
  fanOut,
  type NewDelivery,
  readReceiver,
  recordAttempt,
  recordFailure,
  recordSuccess,
} from "../ledger/unchained/webhook-queue.ts";
import type { Pool } from "../postgres/pool.ts";
import { readEntriesAfter } from "../queries/stream.ts";
import { bodyOf, eventNamesOf, type OutgoingEvent } from "../services/webhooks/outgoing-events.ts";
import { type EventSource, readEvents } from "../services/webhooks/read-events.ts";
import { OutgoingFailure, type OutgoingHttp } from "./guarded-fetch.ts";
import { type AttemptResult, evaluateAttempt, type Verdict } from "./retry.ts";
import { signMessage } from "./sign.ts";

/** A receiver of events. */
export interface Receiver {
  /** Unique; deliveries are stored under it. */
  name: string;
  url: string;
  events: readonly WebhookEventType[];
  /** Every active signing secret. */
  secrets: readonly string[];
}

export type DeliveryResult = "delivered" | "failed" | "dead";

/** The context of a queue. */
export interface QueueContext extends EventSource {
  pool: Pool;
  outgoing: OutgoingHttp;
  /** Milliseconds since the epoch by the database's clock, on which all processes agree. */
  clock: () => Promise<number>;
  /** From 0 to 1. */
  random: () => number;
  timeoutMs: number;
  onResult: (receiver: string, result: DeliveryResult) => void;
}

/** Simultaneous attempts for one receiver. A receiver that hangs blocks only its own. */
const CONCURRENCY = 8;
/** The most new deliveries that wait for their first attempt; further events stay in the log. */
const MAX_UNTRIED = 1000;
const PAGE = 500;
/** Added to the timeout for a slow database: a process that needs longer for an attempt counts as lost. */
const LEASE_SLACK_MS = 5000;
/** After this many failures in a row, a receiver pauses between new events, so that an outage leaves few retries. */
const TOLERATED_FAILURES = 20;
const PAUSE_MS = 10_000;
const LIMIT_BYTES = 16 * 1024;
const EXCERPT_CHARACTERS = 200;

/** The deliveries of one receiver in this process. Other processes may handle the same receiver. */
export class ReceiverQueue {
  readonly #receiver: Receiver;
  readonly #context: QueueContext;
  readonly #underWay = new Set<Promise<void>>();

  constructor(receiver: Receiver, context: QueueContext) {
    this.#receiver = receiver;
    this.#context = context;
  }

  /**
   * Creates the deliveries of new log entries, and starts the due attempts.
   * @param onSettled called when an attempt has ended, with an error if its result could not be stored; the attempt is
   * then repeated after its lease
   * @returns whether there may be more to do at once
   */
  async round(onSettled: (error?: unknown) => void): Promise<boolean> {
    const { pool } = this.#context;
    const state = await pool.read((sql) => readReceiver(sql, this.#receiver.name));
    if (!state || state.disabled) return false;
    const hasMore = await this.#fanOut(state.position);
    const free = CONCURRENCY - this.#underWay.size;
    if (free === 0) return false;
    const now = await this.#context.clock();
    const leaseMs = this.#context.timeoutMs + LEASE_SLACK_MS;
    const claims = await pool.write((sql) => claimDeliveries(sql, this.#receiver.name, { now, leaseMs, limit: free }));
    if (claims.length === 0) return hasMore;
    const events = await readEvents(this.#context, claims);
    for (const claim of claims) {
      const attempt = this.#attempt(claim, events.get(claim.eventId), now)
        .then(
          () => undefined,
          (error: unknown) => error,
        )
        .then((error) => {
          this.#underWay.delete(attempt);
          onSettled(error);
        });
      this.#underWay.add(attempt);
    }
    return hasMore || claims.length === free;
  }

  /** Resolves when this process has no attempt in progress. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** @returns whether the log has more than this page */
  async #fanOut(position: bigint): Promise<boolean> {
    const { pool, isSealed } = this.#context;
    const entries = await pool.read((sql) => readEntriesAfter(sql, { after: position, limit: PAGE }, isSealed));
    const last = entries.at(-1);
    if (!last) return false;
    const untried = await pool.read((sql) => countUntried(sql, this.#receiver.name, MAX_UNTRIED));
    if (untried >= MAX_UNTRIED) return false;
    const deliveries = entries.flatMap((entry) => this.#deliveriesOf(entry));
    await pool.write((sql) => fanOut(sql, this.#receiver.name, { from: position, to: last.seq }, deliveries));
    return entries.length === PAGE;
  }

  #deliveriesOf(entry: Parameters<typeof eventNamesOf>[0]): NewDelivery[] {
    return eventNamesOf(entry)
      .filter(({ type, to }) => (to === undefined ? this.#receiver.events.includes(type) : to === this.#receiver.name))
      .map(({ id, type }) => ({ eventId: id, seq: entry.seq, type, createdAt: Date.parse(entry.ts) }));
  }

  async #attempt(claim: ClaimedDelivery, event: OutgoingEvent | undefined, now: number): Promise<void> {
    const { pool, clock, random, onResult } = this.#context;
    const { name } = this.#receiver;
    // The entry may have been altered, or a database restored to an older state may lack it.
    const result = event
      ? await this.#send(event, now)
      : { status: null, excerpt: "The log does not contain this event in its sealed form" };
    const endedAt = await clock();
    const verdict = evaluateAttempt(result, claim.attempts, endedAt, random());
    await pool.write((sql) => recordAttempt(sql, name, claim, recordOf(verdict, result)));
    if (verdict.kind === "delivered") await pool.write((sql) => recordSuccess(sql, name));
    else {
      const failure = { now: endedAt, tolerated: TOLERATED_FAILURES, pauseMs: PAUSE_MS };
      await pool.write((sql) => recordFailure(sql, name, failure));
    }
    if (verdict.kind === "dead" && verdict.disables) await pool.write((sql) => disableReceiver(sql, name, endedAt));
    onResult(name, verdict.kind === "retry" ? "failed" : verdict.kind);
  }

  async #send(event: OutgoingEvent, now: number): Promise<AttemptResult> {
    const { outgoing, timeoutMs } = this.#context;
    const body = bodyOf(event);
    try {
      const answer = await outgoing.request(this.#receiver.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "user-agent": "pmctl",
          ...signMessage(event.id, body, now, this.#receiver.secrets),
        },
        body,
        timeoutMs,
        limitBytes: LIMIT_BYTES,
        cut: true,
      });
      const retryAfter = answer.headers["retry-after"];
      return {
        status: answer.status,
        excerpt: excerptOf(answer.body),
        retryAfter: typeof retryAfter === "string" ? retryAfter : undefined,
      };
    } catch (error) {
      if (!(error instanceof OutgoingFailure)) throw error;
      return { status: null, excerpt: error.message };
    }
  }
}

function recordOf(verdict: Verdict, { status, excerpt }: AttemptResult) {
  return {
    status: verdict.kind === "retry" ? ("pending" as const) : verdict.kind,
    nextAttemptAt: verdict.kind === "retry" ? verdict.atMs : null,
    lastStatus: status,
    lastExcerpt: excerpt,
  };
}

/** The beginning of an untrusted answer, as one line for a terminal. */
function excerptOf(body: Buffer): string {
  const text = body.toString("utf8", 0, 4 * EXCERPT_CHARACTERS).replace(/[\p{Cc}\p{Cf}\s]+/gu, " ");
  return text.trim().slice(0, EXCERPT_CHARACTERS).toWellFormed();
}
