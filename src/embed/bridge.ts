import {
  CHANNEL,
  type Envelope,
  type EventName,
  type FrameMessage,
  type HostMessage,
  THEMES,
  type Theme,
} from "./protocol.ts";

export interface BridgeHandlers {
  /** A token from the host page, null when no user is signed in there. Never called where trading is not allowed. */
  onToken(token: string | null): void;
  onTheme(theme: Theme): void;
}

/** The frame's end of the conversation with the page around it. */
export interface Bridge {
  /** Whether the page around may trade here. */
  readonly mayTrade: boolean;
  needToken(reason: "start" | "expiring" | "refused"): void;
  tell(name: EventName, detail?: Record<string, unknown>): void;
}

/**
 * Speaks with the page that the loader named, and with no other: a message counts only when it comes from the window
 * around this one and from that origin. Where trading is not allowed, a token is neither asked for nor looked at.
 */
export function openBridge(isTrusted: boolean, handlers: BridgeHandlers): Bridge {
  const query = new URLSearchParams(location.search);
  const id = query.get("frame") ?? "";
  const host = query.get("host") ?? "";
  const isFramed = window.parent !== window && URL.canParse(host);
  const mayTrade = isFramed && isTrusted;
  const send = (message: FrameMessage): void => {
    if (!isFramed) return;
    const envelope: Envelope<FrameMessage> = { channel: CHANNEL, id, ...message };
    // If the page around is of another origin than the loader stated, the browser delivers nothing.
    window.parent.postMessage(envelope, host);
  };

  window.addEventListener("message", (event: MessageEvent) => {
    if (event.source !== window.parent || event.origin !== host) return;
    const message = event.data as Partial<Envelope<HostMessage>> | null;
    if (message?.channel !== CHANNEL || message.id !== id) return;
    if (message.type === "theme" && THEMES.some((theme) => theme === message.theme))
      handlers.onTheme(message.theme as Theme);
    else if (message.type === "token" && mayTrade)
      handlers.onToken(typeof message.token === "string" ? message.token : null);
  });

  let lastHeight = 0;
  new ResizeObserver(() => {
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
    if (height === lastHeight) return;
    lastHeight = height;
    send({ type: "height", height });
  }).observe(document.documentElement);

  send({ type: "ready", mayTrade });
  return {
    mayTrade,
    needToken: (reason) => send({ type: "token-needed", reason }),
    tell: (name, detail = {}) => send({ type: "event", name, detail }),
  };
}
