const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A text as it may stand in an element or a quoted attribute. */
export function escapeHtml(value: unknown): string {
  return String(value ?? "").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

/** JSON between script tags: without `<` nothing in it can end the block or open another. */
export function jsonInScript(data: object): string {
  return JSON.stringify(data).replace(/</g, "\\u003c");
}

/**
 * The policy of a page whose one script and one style are inlined, named by a nonce, and that asks its own origin only.
 * @param ancestors sources of `frame-ancestors`
 * @param more directives beyond
 */
export function pagePolicy(nonce: string, ancestors: string, more: readonly string[] = []): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    ...more,
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors}`,
  ].join("; ");
}
