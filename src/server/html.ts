const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A text as it may stand in an element or a quoted attribute. */
export function escapeHtml(value: unknown): string {
  return String(value ?? "").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

/** JSON between script tags: without `<` nothing in it can end the block or open another. */
export function jsonInScript(data: object): string {
  return JSON.stringify(data).replace(/</g, "\\u003c");
}
