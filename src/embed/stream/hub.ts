import type { StreamEvent, StreamEvents } from "../../contract/resources/stream.ts";
import { Connection } from "./connection.ts";
import type { HubMessage, LiveState, PageMessage, PageSession } from "./messages.ts";
import { expiryOf, userOf } from "./token.ts";

/** Pages that come and go within this time change the streams once. */
const SETTLE_MS = 100;
/** How long a stream goes on with markets that no page wants any more; each change costs a request. */
const NARROW_MS = 30_000;
const PING_MS = 30_000;
/** A page that is silent for so long is gone, without having said so. */
const GONE_MS = 100_000;
/** More would make an address that proxies refuse; the stream then has all markets. */
const MOST_MARKETS = 100;
/** Stands for the user of a stream without a token. */
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
  user: string | null;
  followers: Map<number, Follower>;
  /** The user whose stream it gets. */
  source: string | undefined;
  heardAtMs: number;
}

/** What a page, or what stands between it and the hub, holds of the hub. */
export interface HubPort {
  receive(message: PageMessage): void;
}

const NO_SESSION: PageSession = { serial: 0, apiKey: null, token: null };

/**
 * Holds the event stream for many pages: one for each user who is signed in, and one more only where no user is. A page
 * gets the public events of whichever stream there is, and those of a user only if that user is signed in on it.
 */
export class StreamHub {
  readonly #pages = new Set<Page>();
  readonly #streams = new Map<string, Connection>();
  #isOnline = true;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #narrowing: ReturnType<typeof setTimeout> | undefined;
  #pinging: ReturnType<typeof setInterval> | undefined;

  /** @param post reaches the page, which sends its first message when it is told `again` */
  join(post: (message: HubMessage) => void): HubPort {
    const page: Page = {
      post,
      session: NO_SESSION,
      user: null,
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
    page.session = { serial, apiKey, token };
    this.#pinging ??= setInterval(() => this.#ping(), PING_MS);
    const user = userOf(token);
    if (user === page.user) return;
    page.user = user;
    // Nothing of the user before reaches the next one, not even what is on its way.
    page.source = undefined;
    for (const follower of page.followers.values()) follower.told = undefined;
    this.#settleSoon();
  }

  #drop(page: Page): void {
    if (!this.#pages.delete(page)) return;
    page.followers.clear();
    page.user = null;
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
  #settle(mayNarrow = false): void {
    const watching = [...this.#pages].filter(({ followers }) => followers.size > 0);
    const users = [...new Set(watching.flatMap(({ user }) => (user === null ? [] : [user])))];
    const common = users[0] ?? ANONYMOUS;
    const wanted = watching.length === 0 ? [] : [common, ...users.slice(1)];
    for (const [user, stream] of this.#streams) {
      if (wanted.includes(user)) continue;
      stream.end();
      this.#streams.delete(user);
    }
    for (const page of this.#pages) {
      const source = page.user ?? common;
      if (source !== page.source) for (const follower of page.followers.values()) follower.told = undefined;
      page.source = source;
    }
    for (const user of wanted) this.#read(user, unionOf(watching.filter(({ source }) => source === user)), mayNarrow);
    for (const page of this.#pages) this.#greet(page);
  }

  #read(user: string, wanted: ReadonlySet<string> | undefined, mayNarrow: boolean): void {
    const stream = this.#streams.get(user);
    if (!stream) {
      const opened = new Connection(wanted, {
        headers: () => this.#headersOf(user),
        onEvent: (event) => this.#publish(user, event),
        onState: () => {
          for (const page of this.#fed(user)) this.#greet(page);
        },
        onRefused: (headers) => this.#refuse(user, headers.authorization),
      });
      this.#streams.set(user, opened);
      return;
    }
    const { markets } = stream;
    const isMore =
      markets === undefined
        ? // A stream of all markets begins with the state of those that close next; any other is asked for by name.
          wanted !== undefined && [...wanted].some((id) => !stream.knows(id))
        : wanted === undefined || [...wanted].some((id) => !markets.has(id));
    if (isMore) stream.read(wanted, true);
    else if (markets?.size === wanted?.size) return;
    else if (mayNarrow) stream.read(wanted, false);
    else
      this.#narrowing ??= setTimeout(() => {
        this.#narrowing = undefined;
        this.#settle(true);
      }, NARROW_MS);
  }

  /** The pages that get their events from this user's stream. */
  #fed(user: string): Page[] {
    return [...this.#pages].filter(({ source }) => source === user);
  }

  /** The token that lasts longest, of those that pages have for the user. */
  #headersOf(user: string): Record<string, string> {
    const tokens = [...this.#pages].flatMap((page) => (page.user === user ? (page.session.token ?? []) : []));
    const token = tokens.toSorted((one, other) => expiryOf(other) - expiryOf(one))[0];
    const apiKey = [...this.#pages].map(({ session }) => session.apiKey).find((key) => key !== null);
    return {
      ...(apiKey === undefined ? {} : { "x-api-key": apiKey as string }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
  }

  #refuse(user: string, authorization: string | undefined): void {
    for (const page of this.#pages) {
      const { serial, apiKey, token } = page.session;
      if (page.user !== user || authorization !== `Bearer ${token}`) continue;
      this.#enter(page, { serial, apiKey, token: null });
      page.post({ type: "refused", serial });
    }
  }

  #publish(user: string, event: StreamEvent): void {
    if (event.event === "resync") return;
    for (const page of this.#fed(user)) {
      if (event.event === "fill" && page.user !== user) continue;
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
