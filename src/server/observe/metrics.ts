import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { AUTH_FAILURES, SECURITY_EVENTS, type SecurityEvent } from "../../domain/access/security.ts";
import type { DatabaseState } from "../../domain/durability.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { REFUSAL_REASONS, type RefusalReason } from "../connections/connection-refusals.ts";
import { RequestMetrics } from "./request-metrics.ts";

const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** The source of the oracle's figures. */
export interface OracleSource {
  /** Null before the first sweep. */
  sweepAgeMs(): number | null;
  read(): Promise<{ held: number; feedAgesSec: ReadonlyMap<string, number> }>;
}

/** The source of the database's figures. */
export interface DatabaseSource {
  /** Null while the database is away. */
  read(): Promise<Pick<DatabaseState, "synchronousStandbys" | "standbys"> | null>;
  connections(): number;
  /** The number of failovers at the last `read`. */
  failovers(): number;
}

/** The source of the audit log's figures. */
export interface IntegritySource {
  isSound(): boolean;
  /** The newest written anchor. */
  newest(): { seq: number; ts: string } | undefined;
}

type Promised<Value> = Value | Promise<Value>;

/** The metrics of `/metrics`. Every name begins with pmctl_. */
export class Metrics {
  readonly requests = new RequestMetrics();
  readonly #registry = new Registry();
  readonly #batches = new Histogram({
    name: "pmctl_sequencer_batch_commands",
    help: "Commands per commit, including rejected and repeated ones.",
    buckets: BATCH_BOUNDS,
    registers: [this.#registry],
  });
  readonly #deliveries = this.#counter(
    "pmctl_webhook_deliveries_total",
    "Attempts to deliver outgoing webhooks, by result.",
    ["receiver", "result"],
  );
  readonly #mismatches = this.#counter(
    "pmctl_contract_mismatches_total",
    "Responses that do not match the OpenAPI document, by operationId.",
    ["operation"],
  );
  readonly #securityEvents = this.#counter(
    "pmctl_security_events_total",
    "Events of the security log; key.used counts once per key, address and hour.",
    ["event"],
    SECURITY_EVENTS,
  );
  readonly #authFailures = this.#counter(
    "pmctl_auth_failures_total",
    "Rejected credentials, by reason.",
    ["reason"],
    AUTH_FAILURES,
  );
  readonly #securityDropped = this.#counter(
    "pmctl_security_events_dropped_total",
    "Events missing in the security log because the database was unreachable for too long.",
  );
  readonly #refused = this.#counter(
    "pmctl_connections_refused_total",
    "Connections and streams that a limit refused or ended, and connections without a valid request, by reason.",
    ["reason"],
    REFUSAL_REASONS,
  );
  #anchorFailures: Counter | undefined;

  /** @param ofProcess whether to include the process's own figures, which do not belong to one tenant among several */
  constructor(ofProcess = true) {
    if (ofProcess) collectDefaultMetrics({ register: this.#registry, prefix: "pmctl_" });
  }

  /** @param known values of the single label that are shown from the start */
  #counter(name: string, help: string, labelNames: string[] = [], known: readonly string[] = []): Counter {
    const counter = new Counter({ name, help, labelNames, registers: [this.#registry] });
    for (const value of known) counter.labels(value).inc(0);
    return counter;
  }

  /** @param read called at each scrape; undefined keeps the last figure */
  #gauge(name: string, help: string, read: () => Promised<number | undefined>): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      async collect() {
        const figure = await read();
        if (figure !== undefined) this.set(figure);
      },
    });
  }

  /** A gauge with one figure for each value of a label. */
  #gaugeBy(
    label: string,
    name: string,
    help: string,
    read: () => Promised<Iterable<readonly [value: string, figure: number]>>,
  ): void {
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.#registry],
      async collect() {
        const figures = await read();
        this.reset();
        for (const [value, figure] of figures) this.set({ [label]: value }, figure);
      },
    });
  }

  /** Called by the sequencer with the number of commands of each commit. */
  observeBatch(commands: number): void {
    this.#batches.observe(commands);
  }

  /** Sets how to read the length of the sequencer's queue at a scrape. */
  setQueueLength(read: () => number): void {
    this.#gauge("pmctl_sequencer_queue_length", "Commands waiting for a commit.", read);
  }

  /** Called after each delivery attempt of an outgoing webhook. */
  countDelivery(receiver: string, result: "delivered" | "failed" | "dead"): void {
    this.#deliveries.inc({ receiver, result });
  }

  /** Called for each security event. */
  countSecurityEvent(event: SecurityEvent, reason: string): void {
    this.#securityEvents.inc({ event });
    if (event === "auth.failed") this.#authFailures.inc({ reason });
  }

  /** Called when the security log drops events. */
  countSecurityEventsDropped(events: number): void {
    this.#securityDropped.inc(events);
  }

  /** Called when a limit refuses or ends a connection. */
  countRefused(reason: RefusalReason): void {
    this.#refused.inc({ reason });
  }

  /** Sets how to read the number of open connections of each listener, and of open streams. */
  setConnections(connections: () => Record<string, number>, streams: () => number): void {
    this.#gaugeBy("listener", "pmctl_connections", "Open connections, by listener.", () =>
      Object.entries(connections()),
    );
    this.#gauge("pmctl_streams", "Open streams of events.", streams);
  }

  /** Sets how to read whether the server is about to end. */
  setDraining(isDraining: () => boolean): void {
    this.#gauge("pmctl_draining", "1 while the server shuts down, else 0.", () => (isDraining() ? 1 : 0));
  }

  /** Sets how to read the leases that this server holds. A lease is work that one server of a tenant does at a time. */
  setLeases(read: () => (readonly [work: string, held: number])[]): void {
    this.#gaugeBy("work", "pmctl_lease_held", "1 while this server holds the lease of the work, else 0.", read);
  }

  /** Called when an answer does not fit its schema. */
  countMismatch(operation: string): void {
    this.#mismatches.inc({ operation });
  }

  /** Sets how to read since when each receiver's oldest undelivered event waits, in milliseconds since the epoch. */
  setOldestUndelivered(read: () => ReadonlyMap<string, number>): void {
    this.#gaugeBy(
      "receiver",
      "pmctl_webhook_oldest_undelivered_seconds",
      "Waiting time of the receiver's oldest undelivered event.",
      () => [...read()].map(([receiver, since]) => [receiver, secondsSince(since)]),
    );
  }

  /** Figures of the oracle, read at each scrape. While the database is away, the ages of feeds are omitted. */
  setOracle({ sweepAgeMs, read }: OracleSource): void {
    this.#gauge(
      "pmctl_oracle_sweep_age_seconds",
      "Seconds since the last completed sweep of the oracle in this process.",
      () => {
        const age = sweepAgeMs();
        return age === null ? undefined : age / 1000;
      },
    );
    const heldMarkets = new Gauge({
      name: "pmctl_oracle_held_markets",
      help: "Markets that the oracle holds.",
      registers: [this.#registry],
    });
    this.#gaugeBy(
      "feed",
      "pmctl_oracle_feed_age_seconds",
      "Age of the feed's newest observation within the last day.",
      async () => {
        const figures = await read().catch(() => undefined);
        if (figures) heldMarkets.set(figures.held);
        return figures?.feedAgesSec ?? [];
      },
    );
  }

  /** Figures of the database, read at each scrape. */
  setDatabase({ read, connections, failovers }: DatabaseSource): void {
    this.#gauge(
      "pmctl_database_connections",
      "Connections of this server to its database, including abandoned ones that the database has not closed.",
      connections,
    );
    new Counter({
      name: "pmctl_database_failovers_total",
      help: "Changes of the primary that this server has seen.",
      registers: [this.#registry],
      async collect() {
        await read();
        this.reset();
        this.inc(failovers());
      },
    });
    this.#gauge(
      "pmctl_database_synchronous_standbys",
      "Available standbys that each commit waits for; 0 while the database is unreachable.",
      async () => (await read())?.synchronousStandbys ?? 0,
    );
    this.#gaugeBy(
      "standby",
      "pmctl_replication_lag_bytes",
      "Bytes of the database's log (WAL) that the standby has not yet written to disk.",
      async () =>
        ((await read())?.standbys ?? []).flatMap(({ name, lagBytes }) =>
          lagBytes === null ? [] : [[name, lagBytes] as const],
        ),
    );
  }

  /** Whether the audit log is sound, and how far it is anchored; read at each scrape. */
  setIntegrity({ isSound, newest }: IntegritySource): void {
    this.#gauge("pmctl_integrity_ok", "1 while no error is known in the audit log and the ledger, else 0.", () =>
      isSound() ? 1 : 0,
    );
    this.#gauge("pmctl_audit_anchor_seq", "Number of the newest anchored entry.", () => newest()?.seq ?? 0);
    this.#gauge("pmctl_audit_anchor_age_seconds", "Seconds since the newest anchored entry was written.", () => {
      const ts = newest()?.ts;
      return ts === undefined ? undefined : secondsSince(Date.parse(ts));
    });
    this.#anchorFailures = this.#counter("pmctl_audit_anchor_failures_total", "Failed anchors, by kind of target.", [
      "target",
    ]);
  }

  /** Sets how to read when every row of the ledger was last compared, in milliseconds. */
  setLedgerVerified(read: () => number | undefined): void {
    this.#gauge("pmctl_ledger_verified_age_seconds", "Seconds since the last full check of the ledger.", () => {
      const at = read();
      return at === undefined ? undefined : secondsSince(at);
    });
  }

  /** Called when a target does not accept an anchor. */
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

/** @param since milliseconds since the epoch */
function secondsSince(since: number): number {
  return Math.max(0, (wallClockMs() - since) / 1000);
}
