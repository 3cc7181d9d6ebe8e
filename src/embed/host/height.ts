import { reservedHeight } from "../../domain/embed/snippet.ts";
import { MAX_HEIGHT, MIN_HEIGHT } from "../protocol.ts";
import type { Settled } from "./options.ts";

/** The height where the page states neither `autoHeight` nor a height. */
const DEFAULT_PX = 600;
/** Heights of the last visit, by view, market and width. */
const STORE = "prediction-markets-heights";
const MOST_KEPT = 40;
/** For so long after the reader moves to another view, the frame follows its height. */
const FOLLOW_MS = 1500;
/** After so long without a sign of the reader, even a large blank in sight is given back. */
const IDLE_MS = 4000;
const LARGE_BLANK_PX = 120;
const SIGNS = ["scroll", "pointerdown", "keydown"];

/**
 * The height of one frame in the page. The frame grows at once, or its contents would be cut off. It shrinks out of the reader's
 * sight and never while they act in it. It shrinks at once when they move to another view, and by a large blank in sight after a
 * while without a sign of them.
 */
export class FrameHeight {
  readonly #iframe: HTMLIFrameElement;
  #settled: Settled;
  #wantedPx = 0;
  /** The reader opened another view than the page's, so the height is not kept for the page's view. */
  #isAway = false;
  /** By `performance.now()`. */
  #followUntilMs = 0;
  #stop = (): void => {};

  constructor(iframe: HTMLIFrameElement, settled: Settled) {
    this.#iframe = iframe;
    this.#settled = settled;
  }

  /** Reserves the height that the page asks for. @param place around the frame, for its width */
  reserve(settled: Settled, place: Element): void {
    this.#settled = settled;
    this.#isAway = false;
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

  /** The frame reports the height of its contents. */
  want(heightPx: number, isBusy: boolean): void {
    if (!this.#settled.autoHeight || !Number.isFinite(heightPx)) return;
    this.#wantedPx = heightPx;
    this.end();
    if (heightPx >= this.#iframe.offsetHeight || performance.now() < this.#followUntilMs) this.#apply(heightPx);
    else if (!isBusy) this.#giveBack();
    if (!isBusy && !this.#isAway && this.#settled.consent) keep(this.#key(this.#iframe.clientWidth), heightPx);
  }

  /** The reader moved to another view: the frame takes its height at once. @param isAway not the page's own view */
  follow(isAway: boolean): void {
    this.#isAway = isAway;
    this.#followUntilMs = performance.now() + FOLLOW_MS;
    if (!this.#settled.autoHeight || this.#wantedPx === 0) return;
    this.end();
    this.#apply(this.#wantedPx);
  }

  /** Cancels a pending change. */
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

  /** Shrinks the frame below the fold, which the reader does not see, and the rest as the reader scrolls. */
  #giveBack(): void {
    this.end();
    const { top, bottom, height } = this.#iframe.getBoundingClientRect();
    const foldPx = innerHeight;
    if (bottom > foldPx) this.#apply(Math.max(this.#wantedPx, Math.min(height, Math.ceil(foldPx - top))));
    if (!this.#iframe.isConnected || this.#iframe.offsetHeight <= this.#wantedPx) return;
    const again = (): void => this.#giveBack();
    // Each sign of the reader restarts the wait.
    for (const name of SIGNS) addEventListener(name, again, true);
    const isLarge = this.#iframe.offsetHeight - this.#wantedPx > LARGE_BLANK_PX;
    const timer = setTimeout(() => isLarge && this.#apply(this.#wantedPx), IDLE_MS);
    this.#stop = () => {
      clearTimeout(timer);
      for (const name of SIGNS) removeEventListener(name, again, true);
    };
  }
}

function readKept(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(STORE) ?? "{}");
  } catch {
    // Storage may be full, forbidden, or written by another program.
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
