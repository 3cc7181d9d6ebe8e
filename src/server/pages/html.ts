import { createHash } from "node:crypto";

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A text, escaped for an element or a quoted attribute. */
export function escapeHtml(value: unknown): string {
  return String(value ?? "").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

/** JSON for a script element: without `<`, nothing in it can end the element or open another. */
export function jsonInScript(data: object): string {
  return JSON.stringify(data).replace(/</g, "\\u003c");
}

/** The source that allows exactly this inlined script or style (CSP 3, 6.7.3.3). */
export function hashSource(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** Sources by purpose, such as `'self'`, a hash or an origin. Everything unstated is blocked. */
export interface PageSources {
  scripts: readonly string[];
  styles: readonly string[];
  /** Who may show the page in a frame; `'none'` for no page. */
  ancestors: readonly string[];
  images?: readonly string[];
  fonts?: readonly string[];
  frames?: readonly string[];
  /** Where a form may lead; nowhere by default. */
  forms?: readonly string[];
}

/** The policy of a page that contacts only its own origin, and loads only the stated sources. */
export function pagePolicy(sources: PageSources): string {
  const { scripts, styles, images, fonts, frames, forms = ["'none'"], ancestors } = sources;
  const directives: [name: string, sources: readonly string[] | undefined][] = [
    ["default-src", ["'none'"]],
    ["script-src", scripts],
    ["style-src", styles],
    ["connect-src", ["'self'"]],
    ["img-src", images],
    ["font-src", fonts],
    ["frame-src", frames],
    ["base-uri", ["'none'"]],
    ["form-action", forms],
    ["frame-ancestors", ancestors],
  ];
  return directives
    .flatMap(([name, stated]) => (stated && stated.length > 0 ? [`${name} ${stated.join(" ")}`] : []))
    .join("; ");
}
