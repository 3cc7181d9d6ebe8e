import type { Api } from "../../contract/operations.ts";
import { consolePath } from "../place.ts";
import { Refused } from "../refused.ts";
import { takePlace } from "./places.ts";

const HEAD_MS = 2000;
const RECONNECT_MS = 3000;
/** After so long without an answer, the connection counts as lost. */
export const PATIENCE_MS = 10_000;
/** A stream without a filter begins with every open market. A view that shows none asks for an id that no market has. */
const NO_MARKET = "mkt_none";
const MOST_MARKETS = 100;
const EVENTS = ["price", "trade", "market", "clarification", "proposal", "resync"];

/**
 * Says when the tenant may have changed. Every change is an audit entry, so the newest entry is asked for every two
 * seconds. In the few windows with a stream it says it sooner for the markets on the page, and an open stream is one
 * more sign that the server is there. A hidden page has no stream and asks nothing.
 */
export class Changes {
  /** Whether figures may be out of date because the server cannot be reached. */
  isLost = false;
  /** When it could be reached again, as `performance.now()`. What was read before may be out of date. */
  foundAtMs = 0;
  readonly #background: Api;
  readonly #listeners = new Set<() => void>();
  #markets = NO_MARKET;
  #leave = (): void => {};
  #stream: EventSource | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #newest: number | undefined;
  #isStreamLost = false;
  #isHeadLost = false;
  #askedAtMs: number | undefined;
  readonly #timer: ReturnType<typeof setInterval>;

  /** @param background sends requests that do not prolong the session */
  constructor(background: Api) {
    this.#background = background;
    this.#timer = setInterval(() => void this.#askHead(), HEAD_MS);
    addEventListener("online", this.#reopen);
    document.addEventListener("visibilitychange", this.#look);
    this.#look();
  }

  /** Streams events of these markets from now on. */
  watch(markets: readonly string[]): void {
    const wanted = markets.slice(0, MOST_MARKETS).join(",") || NO_MARKET;
    if (wanted === this.#markets) return;
    this.#markets = wanted;
    this.#reopen();
  }

  /** @param listener called after each change, and when the connection is lost or found */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Says that something changed, such as by an action of this page. */
  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#close();
    removeEventListener("online", this.#reopen);
    document.removeEventListener("visibilitychange", this.#look);
  }

  readonly #reopen = (): void => {
    if (this.#stream) this.#open();
  };

  readonly #look = (): void => {
    this.#close();
    if (isHidden()) {
      this.#note({ isStreamLost: false, isHeadLost: true });
      return;
    }
    this.#leave = takePlace(this.#open);
    void this.#askHead();
  };

  #close(): void {
    this.#leave();
    clearTimeout(this.#retry);
    this.#stream?.close();
    this.#stream = undefined;
  }

  readonly #open = (): void => {
    clearTimeout(this.#retry);
    this.#stream?.close();
    const stream = new EventSource(consolePath(`/api/v1/stream?${new URLSearchParams({ markets: this.#markets })}`));
    this.#stream = stream;
    stream.onopen = () => this.#note({ isStreamLost: false });
    stream.onerror = () => {
      this.#note({ isStreamLost: true });
      // After an answer that is no stream the browser gives up.
      if (stream.readyState === EventSource.CLOSED) this.#retry = setTimeout(this.#reopen, RECONNECT_MS);
    };
    for (const name of EVENTS) stream.addEventListener(name, () => this.tell());
  };

  async #askHead(): Promise<void> {
    if (isHidden()) return;
    if (this.#askedAtMs !== undefined) {
      if (performance.now() - this.#askedAtMs > PATIENCE_MS) this.#note({ isHeadLost: true });
      return;
    }
    this.#askedAtMs = performance.now();
    try {
      const { entries } = await this.#background.listAudit({ limit: 1 });
      const seq = entries[0]?.seq ?? 0;
      // The first number counts as a change too: a view may have read before it.
      const isNew = seq !== this.#newest;
      this.#newest = seq;
      this.#note({ isHeadLost: isHidden() });
      if (isNew) this.tell();
    } catch (error) {
      const isAway = error instanceof Refused && error.code === "UNREACHABLE";
      this.#note({ isHeadLost: isAway || isHidden() });
      // A key without the scope `read` has the stream alone; a window without a stream then reads every time.
      if (!isAway && !this.#stream) this.tell();
    } finally {
      this.#askedAtMs = undefined;
    }
  }

  #note({ isStreamLost = this.#isStreamLost, isHeadLost = this.#isHeadLost }): void {
    this.#isStreamLost = isStreamLost;
    this.#isHeadLost = isHeadLost;
    const isLost = isStreamLost || isHeadLost;
    if (isLost === this.isLost) return;
    this.isLost = isLost;
    if (!isLost) this.foundAtMs = performance.now();
    this.tell();
  }
}

const isHidden = (): boolean => document.visibilityState === "hidden";
