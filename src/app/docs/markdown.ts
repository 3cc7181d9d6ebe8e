import { Marked } from "marked";
import { escapeHtml } from "../../server/pages/html.ts";

export interface Heading {
  depth: number;
  id: string;
  /** HTML text. */
  title: string;
}

export interface Rendered {
  /** The first heading of level 1; `html` is without it. */
  title: string;
  headings: Heading[];
  html: string;
}

/** The HTML that documents use: pictures by colour scheme, and places that the build fills. The rest is text. */
const ALLOWED_HTML =
  /^(<picture>|<\/picture>|<source media="[\w\s:()-]+" srcset="[\w./-]+">|<img src="[\w./-]+" alt="[^"<>]*">|<!-- \w+ -->\s*)$/;

/**
 * Renders Markdown as HTML, the same on the site, offline and at `/docs/embed`.
 * @param place returns the target of a link or picture of the document; without a target only the text is shown
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

/** Text for copying. A label makes it a region to which a script may add a button. @param attributes as HTML */
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
