import type { ReferenceMember } from "../../assets.ts";
import { escapeHtml as text } from "../../html.ts";
import { prose, table } from "../html.ts";

/** Text that a reader copies; a script adds the button. @param attributes of the block, as HTML */
export function codeBlock(content: string, label: string, attributes = ""): string {
  return `<div class="code"><pre tabindex="0" role="region" aria-label="${text(label)}"${attributes && ` ${attributes}`}>${text(content)}</pre></div>`;
}

/** Members of an interface as a table. */
export function memberTable(members: readonly ReferenceMember[]): string {
  return table(
    ["Name", "Type", "Meaning"],
    members.map(({ name, type, text: words }) => [
      `<code>${text(name)}</code>`,
      `<code>${text(type)}</code>`,
      prose(words),
    ]),
  );
}

/** Rows of prose, the first cell of each as it is written. */
export function proseTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return table(
    heads,
    rows.map((cells) => cells.map(prose)),
  );
}

export function paragraph(words: string): string {
  return `<p>${prose(words)}</p>`;
}
