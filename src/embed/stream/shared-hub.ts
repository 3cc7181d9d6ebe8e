import { type HubPort, StreamHub } from "./hub.ts";
import type { HubMessage, PageMessage } from "./messages.ts";

type Listen = (message: HubMessage) => void;

/** Of the lock and of the channel, which only the frames of this origin on one publisher's site share. */
const NAME = "pm-stream";

type ChannelMessage =
  | { to: "leader"; page: string; message: PageMessage }
  | { to: "page"; page: string; message: HubMessage }
  | { to: "all"; message: HubMessage };

/**
 * The hub that all frames of this browser and publisher have in common. In a browser without locks, as in a page without TLS,
 * each frame has a hub of its own.
 */
export function joinHub(listen: Listen): HubPort {
  return "locks" in navigator && "BroadcastChannel" in window ? new SharedHub(listen) : new StreamHub().join(listen);
}

/**
 * A frame's end of the common hub. The frames queue for a lock: who holds it has the hub and its streams, and the others
 * reach it by a channel. When that frame closes or is frozen, the next in line takes over. Neither lock nor channel stores
 * anything. A frame without a listener loses what it is sent, so each sends everything when it is told `again`.
 */
class SharedHub implements HubPort {
  readonly #listen: Listen;
  readonly #page = Array.from(crypto.getRandomValues(new Uint32Array(2))).join("-");
  #channel: BroadcastChannel | undefined;
  #leaveLine = (): void => {};
  /** Of the leader only, with a port for each page. */
  #hub: StreamHub | undefined;
  readonly #ports = new Map<string, HubPort>();

  constructor(listen: Listen) {
    this.#listen = listen;
  }

  receive(message: PageMessage): void {
    if (message.type === "bye") {
      this.#toHub(message);
      this.#quit();
      return;
    }
    if (!this.#channel) this.#enter();
    this.#toHub(message);
  }

  #toHub(message: PageMessage): void {
    if (this.#hub) this.#portOf(this.#page, this.#hub).receive(message);
    else this.#post({ to: "leader", page: this.#page, message });
  }

  #enter(): void {
    this.#channel = new BroadcastChannel(NAME);
    this.#channel.onmessage = ({ data }: MessageEvent<ChannelMessage>) => this.#hear(data);
    const { promise: left, resolve } = Promise.withResolvers<void>();
    const line = new AbortController();
    this.#leaveLine = () => {
      line.abort();
      resolve();
    };
    // Rejects when it leaves the queue.
    navigator.locks.request(NAME, { signal: line.signal }, () => this.#lead(left)).catch(() => {});
  }

  /** @returns the promise with which the lock ends */
  #lead(left: Promise<void>): Promise<void> {
    this.#hub = new StreamHub();
    this.#listen({ type: "again" });
    this.#post({ to: "all", message: { type: "again" } });
    return left;
  }

  #quit(): void {
    for (const port of this.#ports.values()) port.receive({ type: "bye" });
    this.#ports.clear();
    this.#hub = undefined;
    this.#leaveLine();
    this.#channel?.close();
    this.#channel = undefined;
  }

  #hear(data: ChannelMessage): void {
    if (data.to !== "leader") {
      if (data.to === "all" || data.page === this.#page) this.#listen(data.message);
    } else if (this.#hub) this.#portOf(data.page, this.#hub).receive(data.message);
  }

  #portOf(page: string, hub: StreamHub): HubPort {
    const known = this.#ports.get(page);
    if (known) return known;
    const port = hub.join((message) => {
      if (page === this.#page) this.#listen(message);
      else this.#post({ to: "page", page, message });
    });
    this.#ports.set(page, port);
    return port;
  }

  #post(message: ChannelMessage): void {
    this.#channel?.postMessage(message);
  }
}
