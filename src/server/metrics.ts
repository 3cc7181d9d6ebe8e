import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { FaultCode } from "../domain/fault.ts";

/** Records the requests of one route. */
export interface RouteMetrics {
  /** @param code the refusal, if it was one */
  observe(status: number, seconds: number, code: FaultCode | undefined): void;
}

const DURATION_BUCKETS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** What `/metrics` shows. Every name begins with pmctl_. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<"route" | "method" | "status">;
  readonly #durations: Histogram<"route" | "method">;
  readonly #trades: Counter<"result">;
  readonly #batches: Histogram;
  #queueLength: () => number = () => 0;

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry, prefix: "pmctl_" });
    this.#requests = new Counter({
      name: "pmctl_http_requests_total",
      help: "HTTP requests answered.",
      labelNames: ["route", "method", "status"],
      registers,
    });
    this.#durations = new Histogram({
      name: "pmctl_http_request_duration_seconds",
      help: "Time from the request's headers to its answer.",
      labelNames: ["route", "method"],
      buckets: DURATION_BUCKETS_SEC,
      registers,
    });
    this.#trades = new Counter({
      name: "pmctl_trades_total",
      help: "Trades asked for over HTTP, by result: filled, or the refusal's code.",
      labelNames: ["result"],
      registers,
    });
    this.#batches = new Histogram({
      name: "pmctl_sequencer_batch_commands",
      help: "Commands per commit.",
      buckets: BATCH_BUCKETS,
      registers,
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

  /** How to read the sequencer's queue when somebody asks. */
  setQueueLength(read: () => number): void {
    this.#queueLength = read;
  }

  /** Binds the labels of a route once, because every request records three metrics. */
  forRoute(route: string, method: string, trades: boolean): RouteMetrics {
    const duration = this.#durations.labels(route, method);
    const byStatus = new Map<number, Counter.Internal>();
    const byResult = new Map<string, Counter.Internal>();
    return {
      observe: (status, seconds, code) => {
        duration.observe(seconds);
        cached(byStatus, status, () => this.#requests.labels(route, method, String(status))).inc();
        if (!trades) return;
        const result = code?.toLowerCase() ?? "filled";
        cached(byResult, result, () => this.#trades.labels(result)).inc();
      },
    };
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The Prometheus text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}

function cached<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
