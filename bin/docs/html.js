// Parts of pages, and the HTML document around them.
import { escapeHtml as text } from "../../dist/server/pages/html.js";

export { text };

/** Escaped, with `code` between backticks. */
export function prose(value) {
  return text(value ?? "").replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** Turns a phrase, such as the meaning of an error, into a sentence. */
export function sentence(phrase) {
  return `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;
}

/** Turns text with empty lines between paragraphs into HTML. */
export function paragraphs(value) {
  return value
    .split("\n\n")
    .filter((part) => part !== "")
    .map((part) => `<p class="soft">${prose(part)}</p>`)
    .join("");
}

/** A table of cells that contain HTML; the first cell of a row is its heading. */
export function table(heads, rows) {
  const head = heads.map((cell) => `<th scope="col">${cell}</th>`).join("");
  const body = rows.map(
    ([first, ...cells]) => `<tr><th scope="row">${first}</th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`,
  );
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table>`;
}

/** A block of preformatted text, reachable by keyboard because it may need scrolling. */
export function block(content, label) {
  return `<pre tabindex="0" role="region" aria-label="${text(label)}"><code>${text(content)}</code></pre>`;
}

/**
 * The HTML document around a page, with `common` as its style. A page has `path`, `title`, `content` (HTML), `parts`
 * (links below its own in the menu), `style` (more CSS) and `end` (HTML at the end of the document, such as scripts).
 */
export function documentOf(page, reference, common) {
  const title = page.path === "/docs" ? `${reference.title} API` : page.title;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${text(title)}${page.path === "/docs/embed" ? "" : " · API"}</title><style>${common}</style>${page.style === undefined ? "" : `<style>${page.style}</style>`}</head>
<body><div class="frame">${menu(page, reference)}<main>${SEARCH}<h1>${text(title)}</h1><a class="jump" href="#contents">Contents</a>${page.content}</main></div>${page.end ?? ""}</body></html>`;
}

const SEARCH =
  '<form role="search" action="/docs" method="get"><label for="q">Search the reference</label><input id="q" name="q" type="search" maxlength="100" placeholder="Operation, field or error"><button>Search</button></form>';

function menu(page, { groups }) {
  const parts = (page.parts ?? []).map(({ href, label }) => `<li><a href="${text(href)}">${text(label)}</a></li>`);
  const item = (path, label) => {
    const isHere = path === page.path;
    return `<li><a class="name" href="${path}"${isHere ? ' aria-current="page"' : ""}>${text(label)}</a>${
      isHere && parts.length > 0 ? `<ul>${parts.join("")}</ul>` : ""
    }</li>`;
  };
  return `<nav id="contents" aria-label="Contents"><ul>${[
    item("/docs", "overview"),
    ...groups.map(({ name }) => item(pathOf(name), name)),
    item("/docs/webhooks", "webhooks"),
    item("/docs/refusals", "errors"),
    item("/docs/embed", "widget"),
    '<li><a href="/openapi.json">openapi.json</a></li>',
  ].join("")}</ul></nav>`;
}

/** The page of a group of operations. */
export function pathOf(group) {
  return `/docs/${group}`;
}
