/**
 * Where this script came from, which is where its frames are. `bin/assets.js` puts a line before the bundle that only a module
 * reads: it declares this object, with the module's own address. A classic script has `document.currentScript` instead, which
 * is null in a module.
 */
declare const pmctlModule: { url: string; exports?: object } | undefined;

const module = typeof pmctlModule === "undefined" ? undefined : pmctlModule;
const script = module ? null : (document.currentScript as HTMLScriptElement | null);

export const ORIGIN = new URL(module?.url ?? (script?.src || location.href), location.href).origin;

/** `data-global` of the script's element: the name of the global. */
export const GLOBAL_NAME = script?.dataset.global || "PredictionMarkets";

/** The nonce by which the page's policy lets this script load more of its own origin. */
export const NONCE = script?.nonce ?? "";

/** Sets the exports of this script for an `import`. */
export function exportToModule(exports: object): void {
  if (module) module.exports = exports;
}
