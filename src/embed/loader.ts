/**
 * The script that a publisher includes. It mounts frames of the tenant's own origin and passes messages; it has no
 * dependencies, and never throws on the page that hosts it.
 */
import { defineElement } from "./host/element.ts";
import { type Embed, mountAt, unmountAt } from "./host/mount.ts";
import type { EmbedOptions } from "./host/options.ts";
import { exportToModule, GLOBAL_NAME } from "./host/origin.ts";
import { warn } from "./host/warn.ts";

export type { Embed } from "./host/mount.ts";
export type { EmbedOptions } from "./host/options.ts";

/** What the script puts on the page, under the name that the page chose. */
export interface PredictionMarkets {
  /** Mounts a widget at the first element that matches. */
  embed(selector: string | Element, options?: EmbedOptions): Embed;
  /** Mounts a widget in the element; again on the same element, changes it and answers the same handle. */
  mount(element: Element, options?: EmbedOptions): Embed;
  /** Takes the widget out of the element again. @returns whether there was one */
  unmount(element: Element): boolean;
  /** Of the service that this script came from. */
  readonly version: string;
}

/** Replaced by `bin/assets.js`. */
declare const PMCTL_VERSION: string;

/** What a page gets where nothing can be mounted. */
const NOTHING: Embed = { iframe: null, setTheme() {}, refreshToken() {}, update() {}, destroy() {} };

function embed(selector: string | Element, options: EmbedOptions = {}): Embed {
  try {
    const place = typeof selector === "string" ? document.querySelector(selector) : selector;
    if (!(place instanceof Element)) throw new Error(`nothing on this page matches ${String(selector)}`);
    return mountAt(place, options ?? {});
  } catch (error) {
    warn(`${GLOBAL_NAME}.embed`, error);
    return { ...NOTHING };
  }
}

const api: PredictionMarkets = Object.freeze({
  embed,
  mount: embed,
  unmount: (element: Element) => element instanceof Element && unmountAt(element),
  version: PMCTL_VERSION,
});
// Reflect.set does not throw where the page has frozen that name; an assignment would.
Reflect.set(window, GLOBAL_NAME, api);
exportToModule(api);
defineElement();
