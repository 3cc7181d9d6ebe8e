import { escapeHtml as text } from "../html.ts";

/** Escaped, with `code` between backticks. */
export function prose(value: unknown): string {
  return text(value ?? "").replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** A phrase, such as the meaning of a refusal, as a sentence. */
export function sentence(phrase: string): string {
  return `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;
}

/** Paragraphs are parted by empty lines. */
export function paragraphs(value: string): string {
  return value
    .split("\n\n")
    .filter((part) => part !== "")
    .map((part) => `<p class="soft">${prose(part)}</p>`)
    .join("");
}

/** Rows of cells that are HTML already; the first cell of a row is its heading. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((cell) => `<th scope="col">${cell}</th>`).join("");
  const body = rows.map(
    ([first, ...cells]) => `<tr><th scope="row">${first}</th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`,
  );
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table>`;
}

/** A block of text as it is; it can be reached by keyboard, because it may have to be scrolled. */
export function block(content: string, label: string): string {
  return `<pre tabindex="0" role="region" aria-label="${text(label)}"><code>${text(content)}</code></pre>`;
}
