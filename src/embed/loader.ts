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
  /** Asks `getToken` again: somebody signed in or out, or something about the signed-in user changed. */
  refreshToken(): void;
  destroy(): void;
}

const VIEWS: readonly string[] = ["market", "markets", "portfolio"];
const DEFAULT_HEIGHT = 600;
/** A frame whose document has not spoken this long after it was loaded was refused by the browser, or never came. */
const SILENCE_MS = 3000;
/**
 * It runs scripts, calls its own origin and has a form; it opens no windows and cannot leave its frame. (Browsers remark
 * that scripts of one's own origin could undo this: true for pages of the tenant's own origin, which need no protection.)
 */
const SANDBOX = "allow-scripts allow-same-origin allow-forms";

const script = document.currentScript as HTMLScriptElement | null;
const origin = new URL(script?.src || location.href, location.href).origin;
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
  const view = oneOf(VIEWS, options.view, "markets");
  const theme = oneOf(THEMES, options.theme, "dark") as Theme;
  let current = theme;
  count += 1;
  const id = `pm${count}`;

  const address = new URL(`/embed/${view}`, origin);
  address.searchParams.set("theme", theme);
  address.searchParams.set("frame", id);
  // Where the frame may send its messages; it hears nobody else.
  address.searchParams.set("host", location.origin);
  if (options.marketId) address.searchParams.set("marketId", String(options.marketId));
  const iframe = document.createElement("iframe");
  iframe.title = { market: "Prediction market", markets: "Prediction markets", portfolio: "Your positions" }[
    view as View
  ];
  iframe.setAttribute("sandbox", SANDBOX);
  iframe.referrerPolicy = "origin";
  iframe.loading = "lazy";
  iframe.style.cssText = `display:block;width:100%;border:0;color-scheme:${theme === "auto" ? "light dark" : theme}`;
  iframe.style.height = `${clamp(options.height ?? DEFAULT_HEIGHT)}px`;
  iframe.src = address.href;

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
    // A promise turns what getToken throws into a rejection, too.
    Promise.resolve()
      .then(() => options.getToken?.())
      .then((token) => send({ type: "token", token: typeof token === "string" && token !== "" ? token : null }))
      .catch((error) => {
        console.warn(`${globalName}.embed: getToken failed:`, error);
        send({ type: "token", token: null });
      });
  };
  let spoke = false;
  let silence: ReturnType<typeof setTimeout> | undefined;
  iframe.onload = () => {
    clearTimeout(silence);
    silence = setTimeout(() => {
      if (spoke) return;
      const message = `no answer from ${origin}: are pages of ${location.origin} in its embed.allowedOrigins?`;
      console.warn(`${globalName}.embed: ${message}`);
      tell("error", { code: "FRAME_REFUSED", message });
    }, SILENCE_MS);
  };
  const listen = (event: MessageEvent): void => {
    // Anybody can post to this window; only our frame, showing our origin, is listened to.
    if (event.origin !== origin || event.source !== iframe.contentWindow) return;
    const message = event.data as Envelope<FrameMessage> | null;
    if (message?.channel !== CHANNEL || message.id !== id) return;
    if (message.type === "ready") {
      spoke = true;
      // The page may have changed it while the frame was loading.
      send({ type: "theme", theme: current });
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
      current = next;
      iframe.style.colorScheme = next === "auto" ? "light dark" : next;
      send({ type: "theme", theme: next });
    },
    refreshToken: handToken,
    destroy() {
      window.removeEventListener("message", listen);
      clearTimeout(silence);
      iframe.remove();
    },
  };
}

function oneOf(known: readonly string[], value: unknown, fallback: string): string {
  return typeof value === "string" && known.includes(value) ? value : fallback;
}

function clamp(height: number): number {
  return Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, Math.round(Number(height)) || DEFAULT_HEIGHT));
}

const globalName = script?.dataset.global || "PredictionMarkets";
// Quietly: where the page has frozen that name, assigning would throw.
Reflect.set(window, globalName, Object.freeze({ embed }));
