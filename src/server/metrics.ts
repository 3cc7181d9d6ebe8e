import { collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { RequestMetrics } from "./request-metrics.ts";

const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** What `/metrics` shows. Every name begins with pmctl_. */
export class Metrics {
  readonly requests = new RequestMetrics();
  readonly #registry = new Registry();
  readonly #batches: Histogram;
  #queueLength: () => number = () => 0;

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry, prefix: "pmctl_" });
    this.#batches = new Histogram({
      name: "pmctl_sequencer_batch_commands",
      help: "Commands per commit.",
      buckets: BATCH_BOUNDS,
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

  /** How to read the length of the sequencer's queue when somebody asks. */
  setQueueLength(read: () => number): void {
    this.#queueLength = read;
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The Prometheus text format. */
  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${this.requests.text()}`;
  }
}
