import { createHash } from "node:crypto";
import { SCRIPT_PATH, type SnippetForm, type SnippetTerms, writeSnippet } from "../../domain/embed/snippet.ts";

/** The HTML that a publisher pastes into a page. */
export interface Snippet {
  html: string[];
  /** Directives that a strict policy of the page needs. */
  csp: string;
  scriptUrl: string;
}

type Asked = Omit<SnippetTerms, "origin"> & {
  /** The tenant's own address. */
  baseUrl: string;
};

/**
 * A few lines of HTML whose script stays at its address through upgrades, so that it has no integrity value. The hash of the
 * call's text allows the call without 'unsafe-inline' (CSP 3, 6.7.3.3).
 */
export function snippetFor(form: SnippetForm, { baseUrl, ...asked }: Asked): Snippet {
  const { origin } = new URL(baseUrl);
  // Of its own for each widget, so that several snippets on one page fill places of their own.
  const place = `prediction-${asked.view}-${hash("hex", JSON.stringify(asked)).slice(0, 8)}`;
  const { html, call } = writeSnippet(form, place, { origin, ...asked });
  const scripts = call === undefined ? origin : `${origin} 'sha256-${hash("base64", call)}'`;
  return {
    html,
    csp: form === "iframe" ? `frame-src ${origin}` : `script-src ${scripts}; frame-src ${origin}`,
    scriptUrl: origin + SCRIPT_PATH,
  };
}

function hash(encoding: "hex" | "base64", text: string): string {
  return createHash("sha256").update(text).digest(encoding);
}
