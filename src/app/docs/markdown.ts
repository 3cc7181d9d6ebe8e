import { Marked } from "marked";
import { escapeHtml } from "../../server/pages/html.ts";

export interface Heading {
  depth: number;
  id: string;
  /** As HTML. */
  title: string;
}

export interface Rendered {
  /** The first heading of the first rank; `html` is without it. */
  title: string;
  headings: Heading[];
  html: string;
}

/** What of HTML the documents use: a picture by colour scheme, and places that the build fills. All else is shown as text. */
const ALLOWED_HTML =
  /^(<picture>|<\/picture>|<source media="[\w\s:()-]+" srcset="[\w./-]+">|<img src="[\w./-]+" alt="[^"<>]*">|<!-- \w+ -->\s*)$/;

/**
 * Markdown as HTML, the same everywhere: on the site, offline and at `/docs/embed`.
 * @param place where a link or a picture leads, given what the document states; undefined: its text stands alone
 */
export function renderMarkdown(text: string, place: (href: string) => string | undefined = (href) => href): Rendered {
  const headings: Heading[] = [];
  const slugs = new Map<string, number>();
  const markdown = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const title = this.parser.parseInline(tokens);
        const id = slugOf(this.parser.parseInline(tokens, this.parser.textRenderer), slugs);
        const isTitle = depth === 1 && headings.length === 0;
        headings.push({ depth, id, title });
        return isTitle ? "" : `<h${depth} id="${escapeHtml(id)}">${title}</h${depth}>\n`;
      },
      code: ({ text: code, lang = "" }) => {
        const [language = "", ...label] = lang.split(" ");
        if (language === "mermaid")
          return `<figure><figcaption>Diagram, as Mermaid</figcaption>${codeBlock(code)}</figure>`;
        return codeBlock(code, label.join(" "));
      },
      link({ href, tokens }) {
        const inside = this.parser.parseInline(tokens);
        const target = /^(https?:|mailto:|(?![a-z]+:))/i.test(href) ? place(href) : undefined;
        return target === undefined ? inside : `<a href="${escapeHtml(target)}">${inside}</a>`;
      },
      image({ href, text: alt }) {
        const source = place(href);
        return source === undefined ? escapeHtml(alt) : `<img src="${escapeHtml(source)}" alt="${escapeHtml(alt)}">`;
      },
      checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
      html({ text: html }) {
        if (!ALLOWED_HTML.test(html)) return escapeHtml(html);
        const [, source] = /(?:src|srcset)="([^"]+)"/.exec(html) ?? [];
        if (source === undefined) return html;
        const target = place(source);
        return target === undefined ? "" : html.replace(source, escapeHtml(target));
      },
    },
  });
  const html = markdown.parse(text, { async: false });
  return { title: headings[0]?.title ?? "", headings, html };
}

/** Text that a reader copies. With a label it is a region that a script may give a button. @param attributes as HTML */
export function codeBlock(code: string, label = "", attributes = ""): string {
  const region = label === "" ? "" : ` role="region" aria-label="${escapeHtml(label)}"`;
  return `<div class="code"><pre tabindex="0"${region}${attributes && ` ${attributes}`}>${escapeHtml(code)}</pre></div>\n`;
}

/** The anchor that GitHub gives a heading: https://github.com/Flet/github-slugger describes the rule. */
function slugOf(heading: string, taken: Map<string, number>): string {
  const slug = heading
    .toLowerCase()
    .trim()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");
  const count = taken.get(slug);
  taken.set(slug, (count ?? 0) + 1);
  return count === undefined ? slug : slugOf(`${slug}-${count}`, taken);
}
