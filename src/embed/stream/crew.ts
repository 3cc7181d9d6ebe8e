import { type HubPort, StreamHub } from "./hub.ts";
import type { HubMessage, PageMessage, PageSession } from "./messages.ts";
import { userOf } from "./token.ts";

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
 * The frames of one user elect a leader, which has the hub and opens the stream with its own token: tokens are not sent
 * from frame to frame. When the leader closes, the next in line takes over.
 */
class Crew implements HubPort {
  readonly #listen: Listen;
  readonly #page = Array.from(crypto.getRandomValues(new Uint32Array(2))).join("-");
  #session: PageSession | undefined;
  /** Whose crew it is in; undefined for none. */
  #user: string | null | undefined;
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
      const user = userOf(message.token);
      const isElsewhere = user !== this.#user;
      const isMove = isElsewhere && this.#user !== undefined;
      if (isElsewhere) this.#enter(user);
      for (const port of this.#ports()) port.receive(message);
      if (isMove) this.#listen({ type: "again" });
      return;
    }
    if (this.#own) this.#own.receive(message);
    else this.#post({ to: "leader", page: this.#page, message });
    if (message.type === "bye") this.#quit();
  }

  #enter(user: string | null): void {
    this.#quit();
    const name = `pm-stream ${user ?? ""}`;
    const line = new AbortController();
    this.#user = user;
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
    this.#user = undefined;
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
