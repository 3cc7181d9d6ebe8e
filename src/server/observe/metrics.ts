import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { AUTH_FAILURES, SECURITY_EVENTS, type SecurityEvent } from "../../domain/access/security.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { REFUSAL_REASONS, type RefusalReason } from "../connections/connection-refusals.ts";
import { RequestMetrics } from "./request-metrics.ts";

const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** Where the oracle's figures come from. */
export interface OracleSource {
  /** Null before the first sweep. */
  sweepAgeMs(): number | null;
  read(): Promise<{ held: number; feedAgesSec: ReadonlyMap<string, number> }>;
}

/** Where the figures of the audit log come from. */
export interface IntegritySource {
  isSound(): boolean;
  /** The newest anchor that is written down. */
  newest(): { seq: number; ts: string } | undefined;
}

/** What `/metrics` shows. Every name begins with pmctl_. */
export class Metrics {
  readonly requests = new RequestMetrics();
  readonly #registry = new Registry();
  readonly #batches: Histogram;
  readonly #deliveries: Counter;
  readonly #mismatches: Counter;
  readonly #securityEvents: Counter;
  readonly #authFailures: Counter;
  readonly #securityDropped: Counter;
  readonly #refused: Counter;
  #anchorFailures: Counter | undefined;
  #connections: () => Record<string, number> = () => ({});
  #streams: () => number = () => 0;
  #queueLength: () => number = () => 0;
  #oldestUndelivered: () => ReadonlyMap<string, number> = () => new Map();

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry, prefix: "pmctl_" });
    this.#batches = new Histogram({
      name: "pmctl_sequencer_batch_commands",
      help: "Commands per commit.",
      buckets: BATCH_BOUNDS,
      registers,
    });
    this.#deliveries = new Counter({
      name: "pmctl_webhook_deliveries_total",
      help: "Attempts to deliver an outgoing webhook, by what came of them.",
      labelNames: ["receiver", "result"],
      registers,
    });
    this.#mismatches = new Counter({
      name: "pmctl_contract_mismatches_total",
      help: "Answers given although they are not what the OpenAPI document says, by operationId.",
      labelNames: ["operation"],
      registers,
    });
    this.#securityEvents = new Counter({
      name: "pmctl_security_events_total",
      help: "What the security log noted; key.used once per key, address and hour.",
      labelNames: ["event"],
      registers,
    });
    for (const event of SECURITY_EVENTS) this.#securityEvents.inc({ event }, 0);
    this.#authFailures = new Counter({
      name: "pmctl_auth_failures_total",
      help: "Credentials that were refused, by what was wrong.",
      labelNames: ["reason"],
      registers,
    });
    for (const reason of AUTH_FAILURES) this.#authFailures.inc({ reason }, 0);
    this.#securityDropped = new Counter({
      name: "pmctl_security_events_dropped_total",
      help: "Events of which the security log has no entry, because the database was away for too long.",
      registers,
    });
    this.#refused = new Counter({
      name: "pmctl_connections_refused_total",
      help: "Connections, streams and bytes that are no request, refused or ended by a limit, by which one.",
      labelNames: ["reason"],
      registers,
    });
    for (const reason of REFUSAL_REASONS) this.#refused.inc({ reason }, 0);
    const connections = () => this.#connections();
    new Gauge({
      name: "pmctl_connections",
      help: "Open connections, by listener.",
      labelNames: ["listener"],
      registers,
      collect() {
        for (const [listener, open] of Object.entries(connections())) this.set({ listener }, open);
      },
    });
    const streams = () => this.#streams();
    new Gauge({
      name: "pmctl_streams",
      help: "Open streams of events.",
      registers,
      collect() {
        this.set(streams());
      },
    });
    const oldestUndelivered = () => this.#oldestUndelivered();
    new Gauge({
      name: "pmctl_webhook_oldest_undelivered_seconds",
      help: "How long the oldest event that a receiver has not taken has waited.",
      labelNames: ["receiver"],
      registers,
      collect() {
        this.reset();
        for (const [receiver, since] of oldestUndelivered())
          this.set({ receiver }, Math.max(0, (wallClockMs() - since) / 1000));
      },
    });
    const queueLength = () => this.#queueLength();
    new Gauge({
      name: "pmctl_sequencer_queue_length",
      help: "Commands waiting for a commit.",
      registers,
      collect() {
        this.set(queueLength());
      },
    });
  }

  /** For the sequencer: a commit carried this many commands. */
  observeBatch(commands: number): void {
    this.#batches.observe(commands);
  }

  /** How to read the length of the sequencer's queue when metrics are scraped. */
  setQueueLength(read: () => number): void {
    this.#queueLength = read;
  }

  /** For the delivery of webhooks: what came of an attempt. */
  countDelivery(receiver: string, result: "delivered" | "failed" | "dead"): void {
    this.#deliveries.inc({ receiver, result });
  }

  /** The security log noted something. */
  countSecurityEvent(event: SecurityEvent, reason: string, times: number): void {
    this.#securityEvents.inc({ event }, times);
    if (event === "auth.failed") this.#authFailures.inc({ reason }, times);
  }

  /** The security log lost something. */
  countSecurityEventsDropped(events: number): void {
    this.#securityDropped.inc(events);
  }

  /** A limit on connections was met. */
  countRefused(reason: RefusalReason): void {
    this.#refused.inc({ reason });
  }

  /** How to read the number of open connections of each listener, and of open streams. */
  setConnections(connections: () => Record<string, number>, streams: () => number): void {
    this.#connections = connections;
    this.#streams = streams;
  }

  /** An answer left its schema. */
  countMismatch(operation: string): void {
    this.#mismatches.inc({ operation });
  }

  /** How to read since when each receiver's oldest undelivered event waits, milliseconds since the epoch. */
  setOldestUndelivered(read: () => ReadonlyMap<string, number>): void {
    this.#oldestUndelivered = read;
  }

  /** Figures of the oracle, read when metrics are scraped; a database that is away leaves the last ones out. */
  setOracle({ sweepAgeMs, read }: OracleSource): void {
    const registers = [this.#registry];
    new Gauge({
      name: "pmctl_oracle_sweep_age_seconds",
      help: "Seconds since the oracle's sweep last ran to its end in this process.",
      registers,
      collect() {
        const age = sweepAgeMs();
        if (age !== null) this.set(age / 1000);
      },
    });
    const heldMarkets = new Gauge({
      name: "pmctl_oracle_held_markets",
      help: "Markets that the oracle holds.",
      registers,
    });
    new Gauge({
      name: "pmctl_oracle_feed_age_seconds",
      help: "Age of the youngest observation, of the last day.",
      labelNames: ["feed"],
      registers,
      async collect() {
        this.reset();
        const figures = await read().catch(() => undefined);
        if (!figures) return;
        heldMarkets.set(figures.held);
        for (const [feed, ageSec] of figures.feedAgesSec) this.set({ feed }, ageSec);
      },
    });
  }

  /** Whether the audit log holds, and how far it is anchored; read when the metrics are asked for. */
  setIntegrity({ isSound, newest }: IntegritySource): void {
    const registers = [this.#registry];
    new Gauge({
      name: "pmctl_integrity_ok",
      help: "1 while nothing is found wrong with the audit log, else 0.",
      registers,
      collect() {
        this.set(isSound() ? 1 : 0);
      },
    });
    new Gauge({
      name: "pmctl_audit_anchor_seq",
      help: "The newest entry that an anchor is written down of.",
      registers,
      collect() {
        this.set(newest()?.seq ?? 0);
      },
    });
    new Gauge({
      name: "pmctl_audit_anchor_age_seconds",
      help: "Seconds since that entry was written.",
      registers,
      collect() {
        const ts = newest()?.ts;
        if (ts !== undefined) this.set(Math.max(0, (wallClockMs() - Date.parse(ts)) / 1000));
      },
    });
    this.#anchorFailures = new Counter({
      name: "pmctl_audit_anchor_failures_total",
      help: "Anchors that a target did not take, by its kind.",
      labelNames: ["target"],
      registers,
    });
  }

  /** A target did not take an anchor. */
  countAnchorFailure(target: string): void {
    this.#anchorFailures?.inc({ target });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The Prometheus text format. */
  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${this.requests.text()}`;
  }
}
