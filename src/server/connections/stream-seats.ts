import type { ConnectionLimits } from "../../domain/access/connection-limits.ts";
import { Fault } from "../../domain/fault.ts";

export type StreamLimits = Pick<ConnectionLimits, "streams" | "streamsPerAddress" | "streamsPerUser">;

/** The client of a stream. */
export interface StreamCaller {
  /** As the rate limit counts it. */
  address: string;
  userId: string | undefined;
}

const RETRY_AFTER_SEC = 10;

/** The number of open event streams: in total, and by address and user. */
export class StreamSeats {
  readonly #limits: StreamLimits;
  readonly #byAddress = new Map<string, number>();
  readonly #byUser = new Map<string, number>();
  #taken = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  get taken(): number {
    return this.#taken;
  }

  /** @throws Fault OVERLOADED */
  requireRoom({ address, userId }: StreamCaller): void {
    const { streams, streamsPerAddress, streamsPerUser } = this.#limits;
    const isFull =
      this.#taken >= streams ||
      (this.#byAddress.get(address) ?? 0) >= streamsPerAddress ||
      (userId !== undefined && (this.#byUser.get(userId) ?? 0) >= streamsPerUser);
    if (isFull) throw new Fault("OVERLOADED", "Too many streams: try again later", { retryAfterSec: RETRY_AFTER_SEC });
  }

  take(caller: StreamCaller): void {
    this.#change(caller, 1);
  }

  leave(caller: StreamCaller): void {
    this.#change(caller, -1);
  }

  #change({ address, userId }: StreamCaller, change: 1 | -1): void {
    this.#taken += change;
    add(this.#byAddress, address, change);
    if (userId !== undefined) add(this.#byUser, userId, change);
  }
}

function add(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const count = (counts.get(name) ?? 0) + change;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
