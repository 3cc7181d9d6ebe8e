import { useEffect, useState } from "preact/hooks";
import type { StreamEvent } from "../../contract/resources/stream.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { Api } from "../api.ts";
import type { HubPort } from "../stream/hub.ts";
import type { HubMessage, LiveState } from "../stream/messages.ts";
import { Pauses } from "../stream/pauses.ts";
import type { Viewer } from "./viewer.ts";

export type { LiveState } from "../stream/messages.ts";

interface LiveHandlers {
  onEvent(event: StreamEvent): void;
  onState(state: LiveState): void;
  /** The server refuses the credentials. */
  onRefused(): void;
}

interface Follower extends LiveHandlers {
  markets: readonly string[];
}

/** One for each `Api`, and so for each frame. */
const lives = new WeakMap<Api, Live>();

/** Whether what a view shows is as it is now. */
export interface Liveness {
  live: LiveState;
  /** When prices were last known to be current, milliseconds since the epoch by the reader's clock. */
  heardAt: number;
}

/** Follows the events of these markets, or of all where none is named, once the frame knows who is signed in. */
export function useLive(
  { api, bridge, settled, dropToken }: Viewer,
  markets: readonly string[],
  onEvent: (event: StreamEvent) => void,
  isWanted = true,
): Liveness {
  const [live, setLive] = useState<LiveState>("connecting");
  const [heardAt, setHeardAt] = useState(wallClockMs);
  useEffect(() => {
    if (!settled || !isWanted) return;
    return followLive(api, markets, {
      onEvent,
      onRefused: dropToken,
      onState(state) {
        setLive(state);
        if (state !== "offline") return;
        setHeardAt(wallClockMs());
        bridge.tell("error", {
          code: "UNREACHABLE",
          message: "The stream of events is interrupted",
        });
      },
    });
  }, [api, markets.join(), settled, isWanted, dropToken]);
  return { live, heardAt };
}

/**
 * Follows the events of markets, of all where none is named. All frames of a browser share one stream, which comes back
 * by itself after an interruption and begins with a snapshot.
 * @returns stops following
 */
function followLive(api: Api, markets: readonly string[], handlers: LiveHandlers): () => void {
  const live = lives.get(api) ?? new Live(api);
  lives.set(api, live);
  return live.follow({ markets, ...handlers, onState: onceEach(handlers.onState) });
}

/** Reports each new state once, however often the connection is tried again. */
function onceEach(tell: (state: LiveState) => void): (next: LiveState) => void {
  let state: LiveState | undefined;
  return (next) => {
    if (next === state || (next === "connecting" && state === "offline")) return;
    state = next;
    tell(next);
  };
}

/** A page's side of the messages between it and the hub of streams. */
class Live {
  readonly #api: Api;
  readonly #followers = new Map<number, Follower>();
  readonly #hub: HubPort;
  #count = 0;
  #serial = 0;
  #isKnown = false;

  constructor(api: Api) {
    this.#api = api;
    this.#hub = reachHub((message) => this.#hear(message));
    api.onToken = () => {
      this.#serial += 1;
      this.#sendSession();
    };
    window.addEventListener("online", () => this.#hub.receive({ type: "online" }));
    window.addEventListener("offline", () => this.#hub.receive({ type: "offline" }));
    // A pause between attempts ends early when the reader looks at the page again.
    document.addEventListener("visibilitychange", () => {
      if (navigator.onLine && !document.hidden) this.#hub.receive({ type: "online" });
    });
    window.addEventListener("pagehide", () => this.#hub.receive({ type: "bye" }));
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted) this.#sendAll();
    });
    // A frozen page relays nothing to other pages.
    document.addEventListener("freeze", () => this.#hub.receive({ type: "bye" }));
    document.addEventListener("resume", () => this.#sendAll());
  }

  follow(follower: Follower): () => void {
    this.#count += 1;
    const id = this.#count;
    this.#followers.set(id, follower);
    follower.onState("connecting");
    if (this.#isKnown) this.#hub.receive({ type: "follow", id, markets: follower.markets });
    return () => {
      this.#followers.delete(id);
      this.#hub.receive({ type: "leave", id });
    };
  }

  #hear(message: HubMessage): void {
    if (message.type === "again") this.#sendAll();
    else if (message.type === "ping") this.#hub.receive({ type: "here" });
    else if (message.type === "clock") this.#api.clock.correct(message.serverMs);
    else if (message.type === "state") this.#followers.get(message.id)?.onState(message.state);
    else if (message.type === "event") for (const id of message.ids) this.#followers.get(id)?.onEvent(message.event);
    else if (message.type === "refused" && message.serial === this.#serial)
      for (const { onRefused } of [...this.#followers.values()]) onRefused();
  }

  #sendAll(): void {
    this.#isKnown = true;
    this.#sendSession();
    for (const [id, { markets }] of this.#followers) this.#hub.receive({ type: "follow", id, markets });
  }

  #sendSession(): void {
    const { apiKey, token } = this.#api;
    this.#hub.receive({ type: "session", serial: this.#serial, apiKey, token });
  }
}

/**
 * The connection to the hub, whose script loads after the first contents. Messages sent before that are lost.
 * @param listen receives `again` when everything has to be sent: at first, and whenever the hub is another one
 */
function reachHub(listen: (message: HubMessage) => void): HubPort {
  let port: HubPort | undefined;
  loadHub().then((joinHub) => {
    port = joinHub(listen);
    listen({ type: "again" });
  });
  return { receive: (message) => port?.receive(message) };
}

/** The script may be missing for as long as the server is. */
async function loadHub(): Promise<typeof import("../stream/shared-hub.ts").joinHub> {
  const pauses = new Pauses();
  for (let attempts = 0; ; attempts += 1) {
    try {
      // Browsers remember that a module could not be loaded, by its address.
      const part = attempts === 0 ? STREAM_PART : `${STREAM_PART}?${attempts}`;
      return ((await import(part)) as typeof import("../stream/shared-hub.ts")).joinHub;
    } catch {
      await pauses.wait(undefined);
    }
  }
}
