import { NONCE, ORIGIN } from "./origin.ts";
import { warn } from "./warn.ts";
import { hostWords } from "./words.ts";

/** A loaded frame that sends no message within this time was refused by the browser, or was not found. */
const SILENCE_MS = 3000;
/** A frame in sight that is not loaded after this time gives way to the card. */
const LOAD_TIMEOUT_MS = 15_000;
const FIRST_RETRY_MS = 5000;
const LONGEST_RETRY_MS = 60_000;

interface ReachHandlers {
  /** The language of the page, and the scheme of colours that the frame has there. */
  look(): { locale: string; colorScheme: string };
  onTrouble(problem: { code: string; message: string; retryInMs: number }): void;
}

/**
 * Notices that a frame does not load, shows a card in its place, and loads it again at growing intervals. A browser shows an error
 * page in the frame and does not tell the page around.
 */
export class Reach {
  readonly #iframe: HTMLIFrameElement;
  readonly #handlers: ReachHandlers;
  readonly #sight: IntersectionObserver;
  readonly #card = document.createElement("div");
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The document sent a message before its load event. */
  #isReady = false;
  /** The load event came before any message of the document. */
  #isSilent = false;
  #failures = 0;
  #isOver = false;

  constructor(iframe: HTMLIFrameElement, handlers: ReachHandlers) {
    this.#iframe = iframe;
    this.#handlers = handlers;
    this.#sight = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      this.#sight.disconnect();
      if (this.#timer === undefined) this.#wait(LOAD_TIMEOUT_MS, () => this.#fail());
    });
    this.#sight.observe(iframe);
    iframe.onload = () => {
      // The script usually runs before the load event, and each document that the frame loads has to send a message.
      this.#isSilent = !this.#isReady;
      this.#isReady = false;
      if (this.#isSilent) this.#wait(SILENCE_MS, () => this.#fail());
    };
  }

  /** The frame's document sent a message. */
  hear(): void {
    this.#isReady = !this.#isSilent;
    this.#isSilent = false;
    this.#sight.disconnect();
    this.#wait();
    this.#failures = 0;
    this.#card.remove();
    this.#iframe.style.display = "block";
  }

  end(): void {
    this.#isOver = true;
    this.#wait();
    this.#sight.disconnect();
    this.#iframe.onload = null;
    this.#card.remove();
  }

  #wait(ms?: number, work?: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = work && setTimeout(work, ms);
  }

  async #fail(): Promise<void> {
    if (!this.#iframe.isConnected) return;
    const isAway = !(await answers());
    if (this.#isOver || !this.#iframe.isConnected) return;
    const message = isAway
      ? `no answer from ${ORIGIN}`
      : `no frame from ${ORIGIN}: is ${location.origin} in its embed.allowedOrigins?`;
    // Many pages that lost a server must not all return in the same second.
    const retryInMs = Math.round(
      Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures) * (0.8 + Math.random() * 0.4),
    );
    const code = isAway ? "UNREACHABLE" : "FRAME_REFUSED";
    // Once for each outage.
    if (this.#failures === 0) warn(code, message);
    this.#failures += 1;
    this.#showCard();
    this.#wait(retryInMs, () => this.#retry());
    this.#handlers.onTrouble({ code, message, retryInMs });
  }

  /** Takes the frame out and puts it in again: so it loads without a step in the page's history. */
  #retry(): void {
    if (!this.#iframe.isConnected) return;
    this.#isReady = false;
    this.#isSilent = false;
    // A hidden frame never loads lazily.
    this.#iframe.loading = "eager";
    this.#iframe.before(this.#iframe);
    this.#wait(LOAD_TIMEOUT_MS, () => this.#fail());
  }

  /** Sets styles by the `style` property alone, which a strict policy of the page allows. */
  #showCard(): void {
    const { locale, colorScheme } = this.#handlers.look();
    const words = hostWords(locale);
    const card = this.#card;
    card.dataset.pm = "unavailable";
    card.lang = words.locale;
    card.dir = "auto";
    card.setAttribute("role", "status");
    card.textContent = words.unavailable;
    card.style.cssText = `all:initial;display:grid;place-items:center;box-sizing:border-box;min-height:${this.#iframe.style.height};padding:1rem;border:1px solid GrayText;border-radius:8px;font:15px/1.5 system-ui,sans-serif;text-align:center;color:CanvasText;background:Canvas;color-scheme:${colorScheme}`;
    this.#iframe.style.display = "none";
    if (!card.isConnected) this.#iframe.after(card);
  }
}

/**
 * Whether the origin answers at all. It preloads this script, which the page's policy allows; a preloaded module does not run.
 */
function answers(): Promise<boolean> {
  return new Promise((resolve) => {
    const link = document.createElement("link");
    const end = (result: boolean) => () => {
      link.remove();
      clearTimeout(timer);
      resolve(result);
    };
    const timer = setTimeout(end(false), SILENCE_MS);
    link.rel = "modulepreload";
    link.nonce = NONCE;
    link.onload = end(true);
    link.onerror = end(false);
    // A new address each time, or a cache would answer.
    link.href = `${ORIGIN}/assets/v1/embed.js?${Math.random()}`;
    document.head.append(link);
  });
}
