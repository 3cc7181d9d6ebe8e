/**
 * The messages that the host page's loader and the frame send each other with `postMessage`. Each side checks the origin and the
 * source of every message, and names the exact origin that may read it.
 */
export const CHANNEL = "pmctl-embed/1";

export type View = "market" | "markets" | "portfolio";
export const THEMES = ["dark", "light", "auto"] as const;
export type Theme = (typeof THEMES)[number];

/** From the frame to the page around it. */
export type FrameMessage =
  /** The document is loaded; whether it trades. */
  | { type: "ready"; mayTrade: boolean }
  /** The height of the frame's content, CSS pixels. */
  | { type: "height"; height: number }
  /** The frame needs a user token: none was given yet, or the last one is about to expire or was refused. */
  | { type: "token-needed"; reason: "start" | "expiring" | "refused" }
  /** For the host's `onEvent`: the user wants to sign in, traded, opened a market, or needs money. */
  | { type: "event"; name: EventName; detail: Record<string, unknown> };

export type EventName =
  | "auth-required"
  | "trade"
  | "navigate"
  | "deposit-requested"
  | "suitability-required"
  | "verification-required"
  | "error";

/** From the page around it to the frame. */
export type HostMessage = { type: "token"; token: string | null } | { type: "theme"; theme: Theme };

export type Envelope<Message> = { channel: typeof CHANNEL; id: string } & Message;

/** Height in CSS pixels within which a frame may size itself. */
export const MIN_HEIGHT = 120;
export const MAX_HEIGHT = 4000;
