/**
 * The script that a publisher includes. It mounts a frame of the tenant's own origin and passes messages; it has no
 * dependencies, keeps nothing, and never throws on the page that hosts it.
 */
import {
  CHANNEL,
  type Envelope,
  type EventName,
  type FrameMessage,
  type HostMessage,
  MAX_HEIGHT,
  MIN_HEIGHT,
  THEMES,
  type Theme,
  type View,
} from "./protocol.ts";

export interface EmbedOptions {
  view?: View;
  theme?: Theme;
  /** First height in CSS pixels, and the only one unless `autoHeight`. */
  height?: number;
  /** Which market the `market` view shows; the top trending one unless given. */
  marketId?: string;
  /** Lets the frame grow and shrink with what it shows. */
  autoHeight?: boolean;
  /** A JWT of the user who is signed in here, or nothing. Asked again before the token expires. */
  getToken?: () => string | null | undefined | Promise<string | null | undefined>;
  onEvent?: (event: { name: EventName | "ready"; detail: Record<string, unknown> }) => void;
}

export interface Embed {
  readonly iframe: HTMLIFrameElement | null;
  setTheme(theme: Theme): void;
  /** Asks `getToken` again: a user signed in or out, or something about the signed-in user changed. */
  refreshToken(): void;
  destroy(): void;
}

/** What assistive technology calls the frame of a view. */
const TITLES: Readonly<Record<View, string>> = {
  market: "Prediction market",
  markets: "Prediction markets",
  portfolio: "Your positions",
};
const VIEWS = Object.keys(TITLES);
const DEFAULT_HEIGHT = 600;
/** A frame whose document sends no message within this time was refused by the browser, or was not found. */
const SILENCE_MS = 3000;
/**
 * It runs scripts, calls its own origin and has a form; it opens no windows and cannot leave its frame. (Browsers remark
 * that scripts of one's own origin could undo this: true for pages of the tenant's own origin, which need no protection.)
 */
const SANDBOX = "allow-scripts allow-same-origin allow-forms";

const script = document.currentScript as HTMLScriptElement | null;
/** Of the file that was loaded, also as a module (`bin/script-and-module.js`); an inlined one has no address. */
const origin = new URL(import.meta.url || location.href, location.href).origin;
let count = 0;

function embed(selector: string | Element, options: EmbedOptions = {}): Embed {
  try {
    return mount(selector, options ?? {});
  } catch (error) {
    console.warn(`${globalName}.embed:`, error);
    return { iframe: null, setTheme() {}, refreshToken() {}, destroy() {} };
  }
}

function mount(selector: string | Element, options: EmbedOptions): Embed {
  const target = typeof selector === "string" ? document.querySelector(selector) : selector;
  if (!target) throw new Error(`nothing on this page matches ${String(selector)}`);
  count += 1;
  const id = `pm${count}`;
  let theme = oneOf(THEMES, options.theme, "dark") as Theme;
  const iframe = frameFor(id, theme, options);

  const send = (message: HostMessage): void => {
    const envelope: Envelope<HostMessage> = { channel: CHANNEL, id, ...message };
    iframe.contentWindow?.postMessage(envelope, origin);
  };
  const tell = (name: EventName | "ready", detail: Record<string, unknown> = {}): void => {
    try {
      options.onEvent?.({ name, detail });
    } catch (error) {
      console.warn(`${globalName}.embed: onEvent failed:`, error);
    }
  };
  const handToken = (): void => {
    askToken(options).then((token) => send({ type: "token", token }));
  };
  const silence = watchSilence(iframe, (message) => tell("error", { code: "FRAME_REFUSED", message }));
  const listen = (event: MessageEvent): void => {
    // Any window can post to this one; only messages of our frame, while it shows our origin, count.
    if (event.origin !== origin || event.source !== iframe.contentWindow) return;
    const message = event.data as Envelope<FrameMessage> | null;
    if (message?.channel !== CHANNEL || message.id !== id) return;
    if (message.type === "ready") {
      silence.isOver = true;
      // The page may have changed the theme while the frame was loading.
      send({ type: "theme", theme });
      tell("ready", { mayTrade: message.mayTrade });
    } else if (message.type === "token-needed") handToken();
    else if (message.type === "height" && options.autoHeight) iframe.style.height = `${clamp(message.height)}px`;
    else if (message.type === "event") tell(message.name, message.detail);
  };

  window.addEventListener("message", listen);
  target.append(iframe);
  return {
    iframe,
    setTheme(next) {
      if (!THEMES.includes(next)) return;
      theme = next;
      iframe.style.colorScheme = schemeOf(next);
      send({ type: "theme", theme });
    },
    refreshToken: handToken,
    destroy() {
      window.removeEventListener("message", listen);
      silence.end();
      iframe.remove();
    },
  };
}

/** The frame of a view; the caller puts it on the page. */
function frameFor(id: string, theme: Theme, options: EmbedOptions): HTMLIFrameElement {
  const view = oneOf(VIEWS, options.view, "markets") as View;
  const address = new URL(`/embed/${view}`, origin);
  address.searchParams.set("theme", theme);
  address.searchParams.set("frame", id);
  // Where the frame may send its messages; it ignores messages from other windows.
  address.searchParams.set("host", location.origin);
  if (options.marketId) address.searchParams.set("marketId", String(options.marketId));
  const iframe = document.createElement("iframe");
  iframe.title = TITLES[view];
  iframe.setAttribute("sandbox", SANDBOX);
  iframe.referrerPolicy = "origin";
  iframe.loading = "lazy";
  iframe.style.cssText = `display:block;width:100%;border:0;color-scheme:${schemeOf(theme)}`;
  iframe.style.height = `${clamp(options.height ?? DEFAULT_HEIGHT)}px`;
  iframe.src = address.href;
  return iframe;
}

/** The token of the page's `getToken`; null when it has none, or fails. */
async function askToken(options: EmbedOptions): Promise<string | null> {
  try {
    // In a turn of its own, because the caller may still be changing what `getToken` reads.
    const token = await Promise.resolve().then(() => options.getToken?.());
    return typeof token === "string" && token !== "" ? token : null;
  } catch (error) {
    console.warn(`${globalName}.embed: getToken failed:`, error);
    return null;
  }
}

/** Warns when a frame was loaded but its document sends no message. */
function watchSilence(iframe: HTMLIFrameElement, tell: (message: string) => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = { isOver: false, end: () => clearTimeout(timer) };
  iframe.onload = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (silence.isOver) return;
      const message = `no answer from ${origin}: are pages of ${location.origin} in its embed.allowedOrigins?`;
      console.warn(`${globalName}.embed: ${message}`);
      tell(message);
    }, SILENCE_MS);
  };
  return silence;
}

function schemeOf(theme: Theme): string {
  return theme === "auto" ? "light dark" : theme;
}

function oneOf(known: readonly string[], value: unknown, fallback: string): string {
  return typeof value === "string" && known.includes(value) ? value : fallback;
}

function clamp(height: number): number {
  return Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, Math.round(Number(height)) || DEFAULT_HEIGHT));
}

const globalName = script?.dataset.global || "PredictionMarkets";
// Reflect.set does not throw where the page has frozen that name; an assignment would.
Reflect.set(window, globalName, Object.freeze({ embed }));

export { embed };
