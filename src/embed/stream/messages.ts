import type { StreamEvent } from "../../contract/resources/stream.ts";

/**
 * The messages between pages of a browser and the hub that holds the event stream for all of them. They never leave the
 * tenant's origin; a token travels from a frame to the one that has the hub.
 */

export type LiveState = "connecting" | "live" | "offline";

/** Who looks at a page. */
export interface PageSession {
  /** Counts the sessions of a page, so that a refusal names the one that it is for. */
  serial: number;
  apiKey: string | null;
  token: string | null;
}

/** From a page to the hub. */
export type PageMessage =
  | ({ type: "session" } & PageSession)
  /** Wants the events of these markets, of all where none is named. The id is the page's own. */
  | { type: "follow"; id: number; markets: readonly string[] }
  | { type: "leave"; id: number }
  | { type: "online" }
  | { type: "offline" }
  /** The answer to `ping`. */
  | { type: "here" }
  /** The page is closed, or put away. */
  | { type: "bye" };

/** From the hub to a page. */
export type HubMessage =
  | { type: "state"; id: number; state: LiveState }
  | { type: "event"; ids: readonly number[]; event: StreamEvent }
  /** The server's time to a second, milliseconds since the epoch. */
  | { type: "clock"; serverMs: number }
  /** The server refuses the session's token. */
  | { type: "refused"; serial: number }
  | { type: "ping" }
  /** The hub does not know the page: it is new, or gave the page up. */
  | { type: "again" };
