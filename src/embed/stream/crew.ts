import { type HubPort, StreamHub } from "./hub.ts";
import type { HubMessage, PageMessage, PageSession } from "./messages.ts";

type Listen = (message: HubMessage) => void;

/** The way to the hub for a page whose browser has no shared worker for it: in one of the open frames, or in each. */
export function hubInPage(listen: Listen): HubPort {
  return typeof BroadcastChannel !== "undefined" && navigator.locks ? new Crew(listen) : new StreamHub().join(listen);
}

/** Between the pages of a crew. */
type CrewMessage =
  | { to: "leader"; page: string; message: PageMessage }
  | { to: "page"; page: string; message: HubMessage }
  | { to: "all"; message: HubMessage };

/**
 * The frames that have the same token, or none, elect a leader, which has the hub and opens the stream: tokens are not sent
 * from frame to frame, only their hash names the crew. When the leader closes, the next in line takes over.
 */
class Crew implements HubPort {
  readonly #listen: Listen;
  readonly #page = Array.from(crypto.getRandomValues(new Uint32Array(2))).join("-");
  #session: PageSession | undefined;
  /** The token whose crew it is in, or enters; undefined for none. */
  #token: string | null | undefined;
  #channel: BroadcastChannel | undefined;
  #line = new AbortController();
  /** Only the leader has a hub: its own port there, and those of the others by page. */
  #hub: StreamHub | undefined;
  #own: HubPort | undefined;
  readonly #others = new Map<string, HubPort>();

  constructor(listen: Listen) {
    this.#listen = listen;
  }

  receive(message: PageMessage): void {
    if (message.type === "session") {
      this.#session = message;
      if (message.token !== this.#token) void this.#move(message.token);
      for (const port of this.#ports()) port.receive(message);
      return;
    }
    if (this.#own) this.#own.receive(message);
    else this.#post({ to: "leader", page: this.#page, message });
    if (message.type === "bye") this.#quit();
  }

  async #move(token: string | null): Promise<void> {
    this.#quit();
    this.#token = token;
    const crew = token === null ? "" : ((await hashOf(token)) ?? this.#page);
    if (this.#token !== token || this.#channel) return;
    this.#enter(crew);
    // What was sent meanwhile is lost.
    this.#listen({ type: "again" });
  }

  #enter(crew: string): void {
    const name = `pm-stream ${crew}`;
    const line = new AbortController();
    this.#line = line;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<CrewMessage>) => this.#hear(data);
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    line.signal.onabort = () => leave();
    // Rejects when it leaves while it stands in line.
    navigator.locks.request(name, { signal: line.signal }, () => this.#lead(left)).catch(() => {});
  }

  /** @returns the promise with which the lock ends */
  #lead(left: Promise<void>): Promise<void> {
    this.#hub = new StreamHub();
    this.#own = this.#hub.join(this.#listen);
    this.#listen({ type: "again" });
    this.#post({ to: "all", message: { type: "again" } });
    return left;
  }

  #quit(): void {
    for (const port of this.#ports()) port.receive({ type: "bye" });
    this.#others.clear();
    this.#own = undefined;
    this.#hub = undefined;
    this.#line.abort();
    this.#channel?.close();
    this.#channel = undefined;
    this.#token = undefined;
  }

  #hear(data: CrewMessage): void {
    if (data.to === "leader") this.#portOf(data.page)?.receive(data.message);
    else if (data.to === "all" || data.page === this.#page) this.#listen(data.message);
  }

  /** Of another page; undefined unless this one leads. */
  #portOf(page: string): HubPort | undefined {
    const known = this.#others.get(page);
    if (known || !this.#hub || !this.#session) return known;
    const port = this.#hub.join((message) => {
      // The leader's token was refused, not theirs.
      if (message.type !== "refused") this.#post({ to: "page", page, message });
    });
    port.receive({ type: "session", ...this.#session });
    this.#others.set(page, port);
    return port;
  }

  #ports(): HubPort[] {
    return [...(this.#own ? [this.#own] : []), ...this.#others.values()];
  }

  #post(message: CrewMessage): void {
    this.#channel?.postMessage(message);
  }
}

/** Undefined where the browser has no hashes, as on pages without TLS: such a frame shares with no other. */
async function hashOf(token: string): Promise<string | undefined> {
  const hash = await crypto.subtle?.digest("SHA-256", new TextEncoder().encode(token));
  return hash && Array.from(new Uint8Array(hash)).join(".");
}
