// Parts of pages, and the document around them.
import { escapeHtml as text } from "../../dist/server/pages/html.js";

export { text };

/** Escaped, with `code` between backticks. */
export function prose(value) {
  return text(value ?? "").replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** A phrase, such as the meaning of a refusal, as a sentence. */
export function sentence(phrase) {
  return `${phrase.charAt(0).toUpperCase()}${phrase.slice(1)}.`;
}

/** Paragraphs are parted by empty lines. */
export function paragraphs(value) {
  return value
    .split("\n\n")
    .filter((part) => part !== "")
    .map((part) => `<p class="soft">${prose(part)}</p>`)
    .join("");
}

/** Rows of cells that are HTML already; the first cell of a row is its heading. */
export function table(heads, rows) {
  const head = heads.map((cell) => `<th scope="col">${cell}</th>`).join("");
  const body = rows.map(
    ([first, ...cells]) => `<tr><th scope="row">${first}</th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`,
  );
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table>`;
}

/** A block of text as it is; it can be reached by keyboard, because it may have to be scrolled. */
export function block(content, label) {
  return `<pre tabindex="0" role="region" aria-label="${text(label)}"><code>${text(content)}</code></pre>`;
}

const STYLE = `:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606c;--line:#dfe3e8;--page:#fff;--card:#f6f7f9;--accent:#0b5cad;--on-accent:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#9aa4b1;--line:#2d343d;--page:#12161b;--card:#1a2027;--accent:#74b3f5;--on-accent:#0d1726}}
*{box-sizing:border-box}html{scroll-padding-block-start:1rem}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
.frame{display:grid;grid-template-columns:16rem minmax(0,1fr);max-width:78rem;margin:auto}
nav{position:sticky;inset-block-start:0;align-self:start;max-height:100vh;overflow:auto;padding:1.5rem 1rem;border-inline-end:1px solid var(--line);font-size:.92rem}
nav ul{list-style:none;margin:0;padding:0}nav ul ul{margin:.1rem 0 .5rem;padding-inline-start:.7rem;border-inline-start:2px solid var(--line)}
nav a{display:block;padding:.15rem .4rem;border-radius:5px;color:inherit;text-decoration:none;min-height:24px;overflow-wrap:anywhere}nav a:hover{background:var(--card)}
nav a[aria-current]{font-weight:650;color:var(--accent)}.name{text-transform:capitalize}
main{padding:1.5rem 2rem 6rem}a{color:var(--accent)}.jump{display:none}
[role=search]{display:flex;gap:.5rem;margin:0 0 1.6rem}[role=search] label{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden;white-space:nowrap}
input,select,button{font:inherit;padding:.4rem .7rem;border-radius:8px;border:1px solid var(--soft);min-height:40px}
input,select{flex:1;min-width:0;background:var(--page);color:inherit}button{background:var(--accent);border-color:var(--accent);color:var(--on-accent);font-weight:600;cursor:pointer}
h1{margin:0 0 .5rem;font-size:1.9rem;line-height:1.2}h2{margin:2.6rem 0 .6rem;padding-block-end:.2rem;border-block-end:1px solid var(--line)}
h3{margin:0;font-size:1.05rem;line-height:1.5}h4{margin:1.2rem 0 .3rem;font-size:.9rem;color:var(--soft)}
article{margin:1.2rem 0;padding:1.1rem 1.3rem;background:var(--card);border:1px solid var(--line);border-radius:10px}article:target,tr:target{outline:2px solid var(--accent)}
code,pre{font:13.5px/1.55 ui-monospace,monospace}code{overflow-wrap:anywhere}pre code{overflow-wrap:normal}
pre{margin:.4rem 0;padding:.8rem;overflow:auto;border:1px solid var(--line);border-radius:8px;background:var(--page)}
.method{display:inline-block;min-width:3.6rem;padding:0 .45rem;margin-inline-end:.5rem;border-radius:5px;background:var(--accent);color:var(--on-accent);font-size:.85rem;font-weight:650;text-align:center}
.mark{margin-inline-start:.5rem;padding:0 .4rem;border:1px solid var(--line);border-radius:5px;font-size:.78rem;color:var(--soft);white-space:nowrap}
table{width:100%;border-collapse:collapse;font-size:.93rem}th,td{padding:.4rem .8rem .4rem 0;border-block-start:1px solid var(--line);text-align:start;vertical-align:top}
thead th{border:0;font-size:.82rem;color:var(--soft);font-weight:600}tbody th{font-weight:600}td a,tbody th a,.codes a,.hits h2 a{display:inline-block;min-height:24px;min-width:24px;line-height:24px}
.codes{display:flex;flex-wrap:wrap;gap:.2rem .9rem;margin:.3rem 0;padding:0;list-style:none}.soft{color:var(--soft)}.hits article{margin:.7rem 0;padding:.7rem 1.1rem}.hits h2{margin:0;padding:0;border:0;font-size:1.05rem}.hits p{margin:.2rem 0 0}
@media(min-width:70rem){th code{white-space:nowrap}}
@media(max-width:52rem){.frame{display:flex;flex-direction:column-reverse}nav{position:static;max-height:none;border-inline-end:0;border-block-start:1px solid var(--line)}
.jump{display:inline-block;padding:.25rem 0}main{padding:1.2rem 1rem 3rem}article{padding:1rem}table,tbody{display:block}thead{display:none}th,td{display:block;padding:.1rem 0;border:0}tr{display:block;padding:.4rem 0;border-block-start:1px solid var(--line)}}
@media print{nav,form,.jump{display:none}.frame{display:block}article{break-inside:avoid}}`;

/**
 * A whole document around a page: its `path`, `title`, `content` (HTML), `parts` (links below its own in the menu), `style` (more
 * CSS) and `end` (HTML at the end of the document, such as scripts).
 */
export function documentOf(page, reference) {
  const title = page.path === "/docs" ? `${reference.title} API` : page.title;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${text(title)}${page.path === "/docs/embed" ? "" : " · API"}</title><style>${STYLE}</style>${page.style === undefined ? "" : `<style>${page.style}</style>`}</head>
<body><div class="frame">${menu(page, reference)}<main>${SEARCH}<h1>${text(title)}</h1><a class="jump" href="#contents">Contents</a>${page.content}</main></div>${page.end ?? ""}</body></html>`;
}

const SEARCH =
  '<form role="search" action="/docs" method="get"><label for="q">Search the reference</label><input id="q" name="q" type="search" maxlength="100" placeholder="Operation, field or refusal"><button>Search</button></form>';

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
    item("/docs/refusals", "refusals"),
    item("/docs/embed", "widget"),
    '<li><a href="/openapi.json">openapi.json</a></li>',
  ].join("")}</ul></nav>`;
}

/** The page of a group of operations. */
export function pathOf(group) {
  return `/docs/${group}`;
}
