import {
  ACTIONS,
  CHANNEL,
  type EmbedEvent,
  type Envelope,
  type EventDetails,
  type EventName,
  type FrameMessage,
  type HostMessage,
  THEMES,
  type Theme,
} from "../protocol.ts";
import { FrameHeight } from "./height.ts";
import { addressOf, settle } from "./options.ts";
import { ORIGIN } from "./origin.ts";
import { Reach } from "./reach.ts";
import type { Embed, EmbedOptions } from "./types.ts";
import { attempt, warn } from "./warn.ts";
import { hostWords } from "./words.ts";

interface Mounted {
  readonly handle: Embed;
  readonly iframe: HTMLIFrameElement;
  hear(message: FrameMessage): void;
}

/** Each place keeps its widget alive: a page that drops the place drops the widget. */
const mounts = new WeakMap<Element, Mounted>();
const byId = new Map<string, WeakRef<Mounted>>();
let count = 0;

/**
 * It runs scripts, calls its own origin, has a form, and opens links of a market's source in a new tab; it cannot leave its
 * frame. Pages of the frame's own origin have no sandbox: a script of the same origin could end it, as browsers warn.
 */
const SANDBOX = "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox";

/** Puts a widget into the place, or changes the one that is there. */
export function mountAt(place: Element, options: EmbedOptions): Embed {
  const known = mounts.get(place);
  if (known) {
    known.handle.update(options);
    return known.handle;
  }
  if (count === 0) addEventListener("message", dispatch);
  count += 1;
  for (const [id, mounted] of byId) if (!mounted.deref()) byId.delete(id);
  const mounted = mountNew(`pm${count}`, place, options);
  return mounted.handle;
}

/** @returns whether there was a widget in the place */
export function unmountAt(place: Element): boolean {
  const known = mounts.get(place);
  known?.handle.destroy();
  return known !== undefined;
}

function dispatch(event: MessageEvent): void {
  const message = event.data as Partial<Envelope<FrameMessage>> | null;
  if (event.origin !== ORIGIN || message?.channel !== CHANNEL) return;
  // Any window can post to this one: only messages of our frame count, while it shows our origin.
  const mounted = byId.get(String(message.id))?.deref();
  if (mounted && event.source === mounted.iframe.contentWindow) mounted.hear(message as FrameMessage);
}

function mountNew(id: string, place: Element, first: EmbedOptions): Mounted {
  let options = { ...first };
  let settled = settle(options, place);
  /** The address of the current options. */
  let address = addressOf(id, settled);
  let hasSpoken = false;
  let isOver = false;
  /** The frame's top in the window before each move to another view. */
  const left: number[] = [];
  const iframe = document.createElement("iframe");
  const height = new FrameHeight(iframe, settled);

  const send = (message: HostMessage): void => {
    const envelope: Envelope<HostMessage> = { channel: CHANNEL, id, ...message };
    iframe.contentWindow?.postMessage(envelope, ORIGIN);
  };
  const tell = <Name extends EventName>(name: Name, detail: EventDetails[Name]): void => {
    attempt("onEvent", () => options.onEvent?.({ name, detail } as EmbedEvent));
    const action = ACTIONS.find((one) => one === name);
    if (action) attempt("onAction", () => options.onAction?.({ ...detail, name: action }));
  };
  const handToken = (): void => {
    askToken(options).then((token) => send({ type: "token", token }));
  };
  const sendLook = (): void => {
    send({ type: "theme", theme: settled.theme });
    send({ type: "written", written: settled.written });
  };
  const show = (): void => {
    iframe.loading = settled.loading;
    iframe.style.colorScheme = schemeOf(settled.theme);
    height.reserve(settled, place);
  };
  const update = (changes: EmbedOptions): void => {
    if (isOver) return;
    const before = settled;
    const hadToken = options.getToken !== undefined;
    options = { ...options, ...changes };
    settled = settle(options, place);
    address = addressOf(id, settled);
    const isElsewhere = address !== addressOf(id, { ...before, theme: settled.theme });
    if (isElsewhere || before.heightPx !== settled.heightPx || before.autoHeight !== settled.autoHeight) show();
    iframe.style.colorScheme = schemeOf(settled.theme);
    if (!hasSpoken || before.consent !== settled.consent) {
      if (isElsewhere) iframe.src = address;
    } else if (isElsewhere) send({ type: "update", ...settled });
    if (hasSpoken) sendLook();
    if (JSON.stringify(before.brand) !== JSON.stringify(settled.brand)) send({ type: "brand", brand: settled.brand });
    if (hadToken !== (options.getToken !== undefined)) handToken();
  };
  const reach = new Reach(iframe, {
    look: () => ({ locale: settled.locale ?? "", colorScheme: schemeOf(settled.theme) }),
    onTrouble: (problem) => tell("error", problem),
  });
  const hearReady = (message: FrameMessage & { type: "ready" }): void => {
    reach.hear();
    if (message.title) iframe.title = message.title;
    // The page may have changed its options while the frame was loading.
    sendLook();
    if (settled.brand) send({ type: "brand", brand: settled.brand });
    // A frame that was moved in the page begins at its first address again, and a loading frame received no update.
    if (address !== iframe.src) send({ type: "update", ...settled });
    hasSpoken = true;
    tell("ready", { view: message.view, mayTrade: message.mayTrade });
  };
  const hear = (message: FrameMessage): void => {
    if (message.type === "ready") hearReady(message);
    else if (message.type === "token-needed") handToken();
    else if (message.type === "height") {
      height.want(message.height, message.busy === true);
      tell("height", { height: message.height });
    } else if (message.type === "scroll") {
      scroll(iframe, left, message.to);
      height.follow(left.length > 0);
    } else if (message.type === "event") tell(message.name, message.detail as EventDetails[EventName]);
  };

  if (ORIGIN !== location.origin) iframe.setAttribute("sandbox", SANDBOX);
  iframe.referrerPolicy = "origin";
  iframe.title = hostWords(settled.locale ?? "").title;
  iframe.style.cssText = "display:block;width:100%;border:0";
  show();
  iframe.src = address;
  const handle: Embed = {
    iframe,
    setTheme: (theme) => {
      if (THEMES.includes(theme)) update({ theme });
    },
    refreshToken: handToken,
    update(changes) {
      attempt("update", () => update(changes ?? {}));
    },
    destroy() {
      isOver = true;
      reach.end();
      height.end();
      iframe.remove();
      byId.delete(id);
      if (mounts.get(place) === mounted) mounts.delete(place);
    },
  };
  const mounted: Mounted = { handle, iframe, hear };
  mounts.set(place, mounted);
  byId.set(id, new WeakRef(mounted));
  place.append(iframe);
  return mounted;
}

/** What the page's `getToken` answers, as text, whose mistakes the frame names; null where it answers nothing or fails. */
async function askToken(options: EmbedOptions): Promise<string | null> {
  try {
    // In a later turn, because the caller may still be changing what `getToken` reads.
    const token = await Promise.resolve().then(() => options.getToken?.());
    return token ? `${token}` : null;
  } catch (error) {
    warn("getToken", error);
    return null;
  }
}

/** Keeps the reader's place in an article while the frame moves between views. */
function scroll(iframe: HTMLIFrameElement, left: number[], to: "top" | "back"): void {
  const { top } = iframe.getBoundingClientRect();
  if (to === "top") {
    left.push(top);
    if (top < 0) scrollBy(0, top);
    return;
  }
  const before = left.pop();
  if (before !== undefined) scrollBy(0, top - before);
}

function schemeOf(theme: Theme): string {
  return theme === "auto" ? "light dark" : theme;
}
