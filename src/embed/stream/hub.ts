import type { StreamEvent, StreamEvents } from "../../contract/resources/stream.ts";
import { Connection } from "./connection.ts";
import type { HubMessage, LiveState, PageMessage, PageSession } from "./messages.ts";

/** Pages that come and go within this time change the streams once. */
const SETTLE_MS = 100;
const PING_MS = 30_000;
/** A page that is silent for so long is gone, without having said so. */
const GONE_MS = 100_000;
/** More would make an address that proxies refuse; the stream then has all markets. */
const MOST_MARKETS = 100;
/** Stands for the token of a stream without a token. */
const ANONYMOUS = "";

interface Follower {
  /** Undefined for all. */
  markets: ReadonlySet<string> | undefined;
  told: LiveState | undefined;
}

/** A page as the hub knows it. */
interface Page {
  post(message: HubMessage): void;
  session: PageSession;
  followers: Map<number, Follower>;
  /** The token whose stream it gets. */
  source: string | undefined;
  heardAtMs: number;
}

/** What a page, or what stands between it and the hub, holds of the hub. */
export interface HubPort {
  receive(message: PageMessage): void;
}

const NO_SESSION: PageSession = { serial: 0, apiKey: null, token: null };

/**
 * Holds the event stream for many pages: one for each token that they have, and one more only where the server has accepted
 * none yet. A page gets its token's events; one without a token gets the public ones of any stream that was accepted. Users
 * are not told apart by what a token claims, because a page may send a forged one: that has a stream of its own, which the
 * server refuses.
 */
export class StreamHub {
  readonly #pages = new Set<Page>();
  /** By token. */
  readonly #streams = new Map<string, Connection>();
  /** Tokens with which the server has opened their stream. */
  readonly #accepted = new Set<string>();
  #isOnline = true;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #pinging: ReturnType<typeof setInterval> | undefined;

  /** @param post reaches the page, which sends its first message when it is told `again` */
  join(post: (message: HubMessage) => void): HubPort {
    const page: Page = {
      post,
      session: NO_SESSION,
      followers: new Map(),
      source: undefined,
      heardAtMs: performance.now(),
    };
    return { receive: (message) => this.#receive(page, message) };
  }

  #receive(page: Page, message: PageMessage): void {
    page.heardAtMs = performance.now();
    if (message.type === "bye") this.#drop(page);
    else if (message.type === "session") this.#enter(page, message);
    else if (!this.#pages.has(page)) page.post({ type: "again" });
    else if (message.type === "follow") {
      const markets = message.markets.length === 0 ? undefined : new Set(message.markets);
      page.followers.set(message.id, { markets, told: undefined });
      this.#greet(page);
      this.#settleSoon();
    } else if (message.type === "leave") {
      page.followers.delete(message.id);
      this.#settleSoon();
    } else if (message.type === "online" || message.type === "offline") {
      this.#isOnline = message.type === "online";
      for (const stream of this.#streams.values()) stream.isOnline = this.#isOnline;
    }
  }

  #enter(page: Page, { serial, apiKey, token }: PageSession): void {
    this.#pages.add(page);
    const { token: former } = page.session;
    page.session = { serial, apiKey, token };
    this.#pinging ??= setInterval(() => this.#ping(), PING_MS);
    if (token === former) return;
    // Nothing of the user before reaches the next one, not even what is on its way.
    page.source = undefined;
    for (const follower of page.followers.values()) follower.told = undefined;
    this.#settleSoon();
  }

  #drop(page: Page): void {
    if (!this.#pages.delete(page)) return;
    page.followers.clear();
    page.session = NO_SESSION;
    if (this.#pages.size === 0) {
      clearInterval(this.#pinging);
      this.#pinging = undefined;
    }
    this.#settleSoon();
  }

  #ping(): void {
    const now = performance.now();
    for (const page of this.#pages) {
      if (now - page.heardAtMs > GONE_MS) this.#drop(page);
      else page.post({ type: "ping" });
    }
  }

  #settleSoon(): void {
    this.#settling ??= setTimeout(() => {
      this.#settling = undefined;
      this.#settle();
    }, SETTLE_MS);
  }

  /** Opens the streams that are wanted, ends the others, and gives each page its source. */
  #settle(): void {
    const watching = [...this.#pages].filter(({ followers }) => followers.size > 0);
    const tokens = new Set(watching.flatMap(({ session }) => session.token ?? []));
    const common = [...tokens].find((token) => this.#accepted.has(token)) ?? ANONYMOUS;
    const wanted = watching.some(({ session }) => session.token === null) ? new Set([...tokens, common]) : tokens;
    for (const [token, stream] of this.#streams) {
      if (wanted.has(token)) continue;
      stream.end();
      this.#streams.delete(token);
      this.#accepted.delete(token);
    }
    for (const page of this.#pages) {
      const source = page.session.token ?? common;
      if (source !== page.source) for (const follower of page.followers.values()) follower.told = undefined;
      page.source = source;
    }
    for (const token of wanted) this.#read(token, unionOf(watching.filter(({ source }) => source === token)));
    for (const page of this.#pages) this.#greet(page);
  }

  #read(token: string, wanted: ReadonlySet<string> | undefined): void {
    const stream = this.#streams.get(token);
    if (!stream) {
      const opened = new Connection(wanted, {
        headers: () => this.#headersOf(token),
        onEvent: (event) => this.#publish(token, event),
        onState: () => {
          if (opened.state === "live") this.#accept(token);
          for (const page of this.#fed(token)) this.#greet(page);
        },
        onRefused: () => this.#refuse(token),
      });
      this.#streams.set(token, opened);
      return;
    }
    const { markets } = stream;
    const isMore =
      markets === undefined
        ? // A stream of all markets begins with the state of those that close next; any other is asked for by name.
          wanted !== undefined && [...wanted].some((id) => !stream.knows(id))
        : wanted === undefined || [...wanted].some((id) => !markets.has(id));
    // One that tells more than is wanted goes on so until more is wanted: each change costs a request.
    if (isMore) stream.read(wanted);
  }

  /** From now on pages without a token may have the public events of its stream. */
  #accept(token: string): void {
    if (token === ANONYMOUS || this.#accepted.has(token)) return;
    this.#accepted.add(token);
    if (this.#streams.has(ANONYMOUS)) this.#settleSoon();
  }

  /** The pages that get their events from this token's stream. */
  #fed(token: string): Page[] {
    return [...this.#pages].filter(({ source }) => source === token);
  }

  #headersOf(token: string): Record<string, string> {
    const sessions = [...this.#pages].map(({ session }) => session);
    const { apiKey } = sessions.find((each) => each.token === token && each.apiKey !== null) ??
      sessions.find((each) => each.apiKey !== null) ?? { apiKey: null };
    return {
      ...(apiKey === null ? {} : { "x-api-key": apiKey }),
      ...(token === ANONYMOUS ? {} : { authorization: `Bearer ${token}` }),
    };
  }

  #refuse(token: string): void {
    this.#accepted.delete(token);
    for (const page of this.#pages) {
      const { serial, apiKey } = page.session;
      if (page.session.token !== token) continue;
      this.#enter(page, { serial, apiKey, token: null });
      page.post({ type: "refused", serial });
    }
  }

  #publish(token: string, event: StreamEvent): void {
    if (event.event === "resync") return;
    for (const page of this.#fed(token)) {
      if (event.event === "fill" && page.session.token !== token) continue;
      const live = [...page.followers].filter(([, { told }]) => told === "live");
      if (event.event === "snapshot")
        for (const [id, { markets }] of live) page.post(snapshotFor(id, markets, event.data.markets));
      else {
        const ids = live.filter(([, { markets }]) => markets?.has(event.data.marketId) ?? true).map(([id]) => id);
        if (ids.length > 0) page.post({ type: "event", ids, event });
      }
    }
  }

  /** Tells a page's followers how their stream stands, and those that come to it while it is live what was before. */
  #greet(page: Page): void {
    const stream = page.source === undefined ? undefined : this.#streams.get(page.source);
    for (const [id, follower] of page.followers) {
      const isWaiting = stream === undefined || (stream.isBeginning && follower.told !== "live");
      const state = isWaiting && stream?.state !== "offline" ? "connecting" : (stream?.state ?? "connecting");
      if (state === follower.told) continue;
      follower.told = state;
      if (stream && state === "live") {
        page.post({ type: "clock", serverMs: stream.serverMs });
        page.post(snapshotFor(id, follower.markets, stream.snapshot));
      }
      page.post({ type: "state", id, state });
    }
  }
}

type Markets = StreamEvents["snapshot"]["markets"];

function snapshotFor(id: number, wanted: ReadonlySet<string> | undefined, all: Markets): HubMessage {
  const markets = wanted ? all.filter(({ marketId }) => wanted.has(marketId)) : all;
  return { type: "event", ids: [id], event: { event: "snapshot", data: { markets } } };
}

/** What these pages follow together; undefined for all markets. */
function unionOf(pages: readonly Page[]): ReadonlySet<string> | undefined {
  const each = pages.flatMap(({ followers }) => [...followers.values()]);
  if (each.some(({ markets }) => markets === undefined)) return undefined;
  const union = new Set(each.flatMap(({ markets }) => [...(markets ?? [])]));
  return union.size > MOST_MARKETS ? undefined : union;
}
