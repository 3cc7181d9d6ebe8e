import { isPassing } from "./api.ts";
import { tellOnce, warn } from "./host/warn.ts";
import {
  type Brand,
  CHANNEL,
  type Envelope,
  type EventDetails,
  type EventName,
  type FrameMessage,
  type HostMessage,
  type Shown,
  THEMES,
  type Theme,
  VIEWS,
  type Written,
} from "./protocol.ts";
import { isOfTheUser } from "./words.ts";

export interface BridgeHandlers {
  /** What the host page's `getToken` answered, as text; null when no user is signed in there. Never called where trading is not allowed. */
  onToken(token: string | null): void;
  onTheme(theme: Theme): void;
  /** The page's brand, unchecked: the page may send anything. null restores the tenant's look. */
  onBrand?(brand: Brand | null): void;
  /** What the page wrote about the widget, to be checked for mistakes. */
  onWritten?(written: Written): void;
  /** The page wants this frame to show something else. */
  onUpdate?(shown: Shown): void;
}

/** The frame's side of the messages between it and the page around. */
export interface Bridge {
  /** Whether the page around may trade here. */
  readonly mayTrade: boolean;
  /** The origin of the page around, as the loader stated it; undefined without a loader. */
  readonly host: string | undefined;
  /** Whether readers can sign in on the page around. */
  readonly signsIn: boolean;
  needToken(reason: "start" | "expiring" | "refused"): void;
  tell<Name extends EventName>(name: Name, detail: EventDetails[Name]): void;
  /** Asks the page to scroll to the frame's top, or back to the reader's place before that. */
  scroll(to: "top" | "back"): void;
}

/** For so long after the last touch or key of a person, the frame does not shrink. */
const BUSY_MS = 4000;

/**
 * Exchanges messages with the page that the loader named, and with no other: a message counts only if its source is the parent
 * window and its origin is that page's. Where trading is not allowed, the frame neither asks for a token nor reads one.
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
    // If the parent has another origin than the loader stated, the browser delivers nothing.
    window.parent.postMessage(envelope, host);
  };

  window.addEventListener("message", (event: MessageEvent) => {
    if (event.source !== window.parent || event.origin !== host) return;
    const message = event.data as Partial<Envelope<HostMessage>> | null;
    if (message?.channel !== CHANNEL || message.id !== id) return;
    if (message.type === "theme" && THEMES.some((theme) => theme === message.theme))
      handlers.onTheme(message.theme as Theme);
    else if (message.type === "token" && mayTrade)
      handlers.onToken(typeof message.token === "string" ? message.token.trim() : null);
    else if (message.type === "brand") handlers.onBrand?.(message.brand ?? null);
    else if (message.type === "written" && Array.isArray(message.written)) handlers.onWritten?.(message.written);
    else if (message.type === "update") handlers.onUpdate?.(shownBy(message));
  });

  const tellHeight = watchHeight((height, busy) => send({ type: "height", height, busy }));
  send({ type: "ready", view: viewOf(location.pathname), mayTrade, title: document.title });
  return {
    mayTrade,
    host: isFramed ? host : undefined,
    signsIn: query.get("signIn") !== "0",
    needToken: (reason) => send({ type: "token-needed", reason }),
    tell(name, detail) {
      // The page's author has to mend what does not pass by itself.
      if (name === "error" && "code" in detail && !isPassing(detail)) warn(detail.code, detail.message);
      else if ("stage" in detail && isOfTheUser(detail)) sayReadOnly(`${detail.code}: ${detail.message}`);
      send({ type: "event", name, detail });
    },
    scroll(to) {
      // The reader's place may lie beyond the page's end until the frame has its full height again.
      if (to === "back") tellHeight();
      send({ type: "scroll", to });
    },
  };
}

/** Tells the page's author once why this reader cannot trade here. @param level `info` for what may be meant so */
export function sayReadOnly(why: string, level: "info" | "warn" = "info"): void {
  tellOnce(level, "cannot trade", why);
}

/** The view of a frame's address, `/embed/<view>`. */
function viewOf(path: string): Shown["view"] {
  return VIEWS.find((view) => path.endsWith(`/${view}`)) ?? "markets";
}

/** The valid fields of an update. */
function shownBy({ view, marketId, marketIds, locale }: Partial<Shown>): Shown {
  return {
    view: VIEWS.find((one) => one === view) ?? "markets",
    marketId: typeof marketId === "string" ? marketId : undefined,
    marketIds: Array.isArray(marketIds) ? marketIds.map(String) : undefined,
    locale: typeof locale === "string" ? locale : undefined,
  };
}

/**
 * Reports the document's height whenever it changes, and once more when the person in it rests.
 * @returns reports it now
 */
function watchHeight(tell: (height: number, busy: boolean) => void): () => void {
  let last = 0;
  let actedAtMs = Number.NEGATIVE_INFINITY;
  let rest: ReturnType<typeof setTimeout> | undefined;
  const measure = (): number => Math.ceil(document.documentElement.getBoundingClientRect().height);
  const act = (): void => {
    // The page may be about to give back room.
    if (performance.now() - actedAtMs >= BUSY_MS) tell(measure(), true);
    actedAtMs = performance.now();
    clearTimeout(rest);
    rest = setTimeout(() => tell(measure(), false), BUSY_MS);
  };
  for (const name of ["pointerdown", "keydown", "input"]) addEventListener(name, act, { capture: true, passive: true });
  const look = (): void => {
    const height = measure();
    if (height === last) return;
    last = height;
    tell(height, performance.now() - actedAtMs < BUSY_MS);
  };
  new ResizeObserver(look).observe(document.documentElement);
  return look;
}
