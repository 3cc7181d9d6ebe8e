import { reservedHeight } from "../../domain/embed/snippet.ts";
import { MAX_HEIGHT, MIN_HEIGHT } from "../protocol.ts";
import type { Settled } from "./options.ts";

/** Without `autoHeight` or a height of the page's own. */
const DEFAULT_PX = 600;
/** Heights of the last visit, by view, market and width. */
const STORE = "prediction-markets-heights";
const MOST_KEPT = 40;

/**
 * The height of one frame in the page. It grows at once, because otherwise something would be cut off. It gives back room only
 * where the reader sees nothing move, and not while they act in it.
 */
export class FrameHeight {
  readonly #iframe: HTMLIFrameElement;
  #settled: Settled;
  #wantedPx = 0;
  #stop = (): void => {};

  constructor(iframe: HTMLIFrameElement, settled: Settled) {
    this.#iframe = iframe;
    this.#settled = settled;
  }

  /** Takes over what the page asks for, and reserves the room for it. @param place where the frame is, for its width */
  reserve(settled: Settled, place: Element): void {
    this.#settled = settled;
    const { view, heightPx, autoHeight } = settled;
    if (!autoHeight) {
      this.end();
      this.#apply(heightPx ?? DEFAULT_PX);
      return;
    }
    const widthPx = place.clientWidth;
    const usual = reservedHeight(view, widthPx);
    const kept = settled.consent ? readKept()[this.#key(widthPx)] : undefined;
    // A reader who was signed out may be signed in now, with more to show.
    const least = view === "portfolio" ? usual : 0;
    this.#apply(Math.max(kept ?? Math.max(heightPx ?? 0, usual), least));
  }

  /** The frame says how much it needs. */
  want(heightPx: number, isBusy: boolean): void {
    if (!this.#settled.autoHeight || !Number.isFinite(heightPx)) return;
    this.#wantedPx = heightPx;
    if (heightPx >= this.#iframe.offsetHeight) {
      this.end();
      this.#apply(heightPx);
    } else if (!isBusy) this.#giveBack();
    if (!isBusy && this.#settled.consent) keep(this.#key(this.#iframe.clientWidth), heightPx);
  }

  /** Forgets what it meant to give back. */
  end(): void {
    this.#stop();
    this.#stop = () => {};
  }

  #key(widthPx: number): string {
    const { view, marketId = "" } = this.#settled;
    return `${view} ${marketId} ${Math.round(widthPx / 40)}`;
  }

  #apply(heightPx: number): void {
    this.#iframe.style.height = `${Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, heightPx))}px`;
  }

  /** What lies below the fold moves unseen: as far down as that the frame may end now, and the rest as the reader scrolls. */
  #giveBack(): void {
    this.end();
    const { top, bottom, height } = this.#iframe.getBoundingClientRect();
    const foldPx = window.innerHeight;
    if (bottom > foldPx) this.#apply(Math.max(this.#wantedPx, Math.min(height, Math.ceil(foldPx - top))));
    if (!this.#iframe.isConnected || this.#iframe.offsetHeight <= this.#wantedPx) return;
    const again = (): void => this.#giveBack();
    addEventListener("scroll", again, { passive: true, capture: true, once: true });
    this.#stop = () => removeEventListener("scroll", again, { capture: true });
  }
}

function readKept(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(STORE) ?? "{}");
  } catch {
    // Storage may be full, forbidden or another's.
    return {};
  }
}

function keep(key: string, heightPx: number): void {
  const { [key]: before, ...kept } = readKept();
  if (before === heightPx) return;
  try {
    const entries = [...Object.entries(kept).slice(1 - MOST_KEPT), [key, heightPx]];
    localStorage.setItem(STORE, JSON.stringify(Object.fromEntries(entries)));
  } catch {}
}
