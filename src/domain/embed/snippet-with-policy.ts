import { createHash } from "node:crypto";
import { SCRIPT_PATH, type SnippetForm, type SnippetTerms, snippetPolicy, writeSnippet } from "./snippet.ts";

/** The HTML that a publisher pastes into a page. */
export interface Snippet {
  html: string[];
  /** Directives that a strict policy of the page needs. */
  csp: string;
  scriptUrl: string;
}

/** A few lines of HTML whose script stays at its address through upgrades, so that it has no integrity value. */
export function snippetWithPolicy(form: SnippetForm, terms: SnippetTerms): Snippet {
  const { html, call } = writeSnippet(form, terms);
  const callHash = call === undefined ? undefined : createHash("sha256").update(call).digest("base64");
  return { html, csp: snippetPolicy(form, terms.origin, callHash), scriptUrl: terms.origin + SCRIPT_PATH };
}
