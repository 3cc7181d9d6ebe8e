import type { StreamEvent, StreamEvents } from "../../contract/resources/stream.ts";
import { EventReader } from "../../domain/event-reader.ts";
import type { LiveState } from "./messages.ts";
import { Pauses } from "./pauses.ts";

/** Where a frame's events come from. */
const STREAM_PATH = "/embed/stream";
/** The server sends a heartbeat every 15 s; after three missed ones the connection is dead, although no error was reported. */
const SILENCE_MS = 45_000;

type Known = StreamEvents["snapshot"]["markets"][number];

export interface ConnectionHandlers {
  /** Asked before each attempt. */
  headers(): Record<string, string>;
  onEvent(event: StreamEvent): void;
  onState(): void;
  /** The server refuses these headers. */
  onRefused(): void;
}

/**
 * One event stream, read with fetch, because an EventSource cannot send a key. After an interruption it reconnects, and
 * resumes after the last event it has seen.
 */
export class Connection {
  readonly #handlers: ConnectionHandlers;
  readonly #pauses = new Pauses();
  readonly #known = new Map<string, Known>();
  #reader = new EventReader<StreamEvent>();
  #markets: ReadonlySet<string> | undefined;
  #state: LiveState = "connecting";
  #isOnline = true;
  #isRestarting = false;
  #isBeginning = true;
  #serverAheadMs = Number.NaN;
  #hasEnded = false;
  #abort = new AbortController();

  /** @param markets whose events are wanted; undefined for all */
  constructor(markets: ReadonlySet<string> | undefined, handlers: ConnectionHandlers) {
    this.#markets = markets;
    this.#handlers = handlers;
    this.#run();
  }

  get state(): LiveState {
    return this.#state;
  }

  /** The markets whose events it reads; undefined for all. */
  get markets(): ReadonlySet<string> | undefined {
    return this.#markets;
  }

  /** The markets as they stand now, as far as the server has named them. */
  get snapshot(): Known[] {
    return [...this.#known.values()];
  }

  /** Whether it does not know yet how the markets stand. */
  get isBeginning(): boolean {
    return this.#isBeginning;
  }

  /** The server's time to a second, milliseconds since the epoch; not a number before the first answer. */
  get serverMs(): number {
    return this.#serverAheadMs + performance.now();
  }

  knows(marketId: string): boolean {
    return this.#known.has(marketId);
  }

  /** Reads the events of other markets from now on; it begins with how they stand. */
  read(markets: ReadonlySet<string> | undefined): void {
    this.#markets = markets;
    this.#reader = new EventReader();
    this.#isBeginning = true;
    this.#isRestarting = true;
    this.#abort.abort();
    this.#pauses.hurry();
  }

  /** A machine that says it is offline is; attempts wait until it says otherwise. */
  set isOnline(isOnline: boolean) {
    this.#isOnline = isOnline;
    if (isOnline) this.#pauses.hurry();
    else this.#abort.abort();
  }

  end(): void {
    this.#hasEnded = true;
    this.#abort.abort();
    this.#pauses.end();
  }

  async #run(): Promise<void> {
    while (!this.#hasEnded) {
      this.#isRestarting = false;
      const askedMs = await this.#readOnce().catch(() => undefined);
      if (this.#hasEnded) return;
      if (this.#isRestarting) continue;
      this.#enter("offline");
      do await this.#pauses.wait(askedMs);
      while (!this.#isOnline && !this.#hasEnded);
    }
  }

  #enter(state: LiveState): void {
    this.#state = state;
    this.#handlers.onState();
  }

  /** Resolves, when the stream has ended, to the pause that the server asks for: 0 if the stream was open. */
  async #readOnce(): Promise<number | undefined> {
    const abort = new AbortController();
    this.#abort = abort;
    const reader = this.#reader;
    reader.reset();
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    heard();
    try {
      const headers = this.#handlers.headers();
      const query = this.#markets && new URLSearchParams({ markets: [...this.#markets].join(",") });
      const response = await fetch(query ? `${STREAM_PATH}?${query}` : STREAM_PATH, {
        headers: { ...headers, ...(reader.lastId === undefined ? {} : { "last-event-id": reader.lastId }) },
        credentials: "omit",
        signal: abort.signal,
      });
      if (response.status === 401) this.#handlers.onRefused();
      if (!response.ok || !response.body) return Number(response.headers.get("retry-after")) * 1000 || undefined;
      this.#serverAheadMs = Date.parse(response.headers.get("date") ?? "") - performance.now();
      // What was resumed is current; otherwise the first event says how things stand.
      if (reader.lastId !== undefined) this.#enter("live");
      const body = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await body.read().catch(() => ({ done: true, value: undefined }));
        if (done || value === undefined || abort.signal.aborted) return 0;
        heard();
        for (const event of reader.read(value)) this.#take(event);
      }
    } finally {
      clearTimeout(silence);
    }
  }

  #take(event: StreamEvent): void {
    if (event.event === "snapshot") {
      this.#isBeginning = false;
      this.#known.clear();
      for (const market of event.data.markets) this.#known.set(market.marketId, market);
      this.#handlers.onEvent(event);
      this.#enter("live");
      return;
    }
    const before = "marketId" in event.data && this.#known.get(event.data.marketId);
    if (before) this.#known.set(before.marketId, { ...before, ...nowOf(event, before) });
    this.#handlers.onEvent(event);
  }
}

/** What an event changes of what a snapshot says. */
function nowOf({ event, data }: StreamEvent, { clarifications }: Known): Partial<Known> {
  switch (event) {
    case "price":
      return { yesPrice: data.yesPrice, noPrice: data.noPrice };
    case "market":
      return { status: data.status };
    case "clarification":
      return { clarifications: clarifications + 1 };
    case "proposal":
      return { proposalId: data.status === "pending" ? data.proposalId : undefined };
    default:
      return {};
  }
}
