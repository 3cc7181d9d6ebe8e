import { vi } from "vitest";
import { type DeliveryOptions, DeliveryWorker } from "../../../src/outgoing/delivery.ts";
import type { DeliveryResult, Receiver } from "../../../src/outgoing/receiver-queue.ts";
import { poolOf } from "../../support/pool.ts";
import { openTestTenant, type TestTenant } from "../../support/tenant.ts";
import { SECRET, TestReceiver } from "./receiver.ts";

export interface DeliveryRow {
  receiver: string;
  event_id: string;
  status: string;
  attempts: number;
  next_attempt_at: number;
  last_status: number | null;
  last_excerpt: string | null;
}

/** A tenant with receivers, in a time that only moves when it is told to. */
export class Stage {
  /** Ten minutes ahead, so that whatever a test causes lies in the past. */
  now = Date.now() + 600_000;
  readonly tenant: TestTenant;
  readonly results: [receiver: string, result: DeliveryResult][] = [];
  readonly #receivers: TestReceiver[] = [];
  readonly #workers: DeliveryWorker[] = [];

  static async open(): Promise<Stage> {
    const stage = new Stage(await openTestTenant());
    vi.useFakeTimers({ now: stage.now, toFake: ["Date"] });
    return stage;
  }

  private constructor(tenant: TestTenant) {
    this.tenant = tenant;
  }

  advance(ms: number): void {
    this.now += ms;
    vi.setSystemTime(this.now);
  }

  async receiver(secret = SECRET): Promise<TestReceiver> {
    const receiver = await new TestReceiver(secret).open();
    this.#receivers.push(receiver);
    return receiver;
  }

  /** Each worker stands for a process. */
  worker(receivers: readonly Receiver[], options: Partial<DeliveryOptions> = {}): DeliveryWorker {
    const worker = new DeliveryWorker({
      pool: poolOf(this.tenant.sql),
      isSealed: this.tenant.services.isSealed,
      receivers,
      network: { allowPrivate: ["127.0.0.0/8"] },
      clock: async () => this.now,
      random: () => 0,
      timeoutMs: 60_000,
      onResult: (...result) => this.results.push(result),
      ...options,
    });
    this.#workers.push(worker);
    return worker;
  }

  async deliveries(): Promise<DeliveryRow[]> {
    const rows = await this.tenant.sql`
      select receiver, event_id, status, attempts, next_attempt_at, last_status, last_excerpt
        from webhook_delivery order by receiver, seq`;
    return rows.map((row) => ({ ...row, next_attempt_at: Number(row.next_attempt_at) })) as DeliveryRow[];
  }

  async close(): Promise<void> {
    vi.useRealTimers();
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    await Promise.all(this.#receivers.map((receiver) => receiver.close()));
    await this.tenant.close();
  }
}

/** Wants everything that the tests cause. */
export function receiverAt(url: string, change: Partial<Receiver> = {}): Receiver {
  return { name: "crm", url, events: ["wallet.credited", "market.created"], secrets: [SECRET], ...change };
}
