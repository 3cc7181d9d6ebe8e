/**
 * The script that a publisher includes. It mounts frames of the tenant's own origin and passes messages; it has no
 * dependencies, and never throws on the page that hosts it.
 */
import { defineElement } from "./host/element.ts";
import { mountAt, unmountAt } from "./host/mount.ts";
import { exportToModule, GLOBAL_NAME } from "./host/origin.ts";
import type { Embed, EmbedOptions, PredictionMarkets } from "./host/types.ts";
import { attempt } from "./host/warn.ts";

/** Replaced by `bin/assets.js`. */
declare const PMCTL_VERSION: string;

/** What a page gets where nothing can be mounted. */
const NOTHING: Embed = { iframe: null, setTheme() {}, refreshToken() {}, update() {}, destroy() {} };

function embed(selector: string | Element, options: EmbedOptions = {}): Embed {
  const made = attempt(`${GLOBAL_NAME}.embed`, () => {
    const place = typeof selector === "string" ? document.querySelector(selector) : selector;
    if (!(place instanceof Element)) throw new Error(`nothing on this page matches ${String(selector)}`);
    return mountAt(place, options ?? {});
  });
  return made ?? NOTHING;
}

const api: PredictionMarkets = Object.freeze({
  embed,
  mount: embed,
  unmount: unmountAt,
  version: PMCTL_VERSION,
});
// Reflect.set does not throw where the page has frozen that name; an assignment would.
Reflect.set(window, GLOBAL_NAME, api);
exportToModule(api);
defineElement();
