import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { escapeHtml } from "../../server/pages/html.ts";
import { renderMarkdown } from "./markdown.ts";

/** The package's folder, three levels above `src/app/docs` and `dist/app/docs`. */
const ROOT = join(import.meta.dirname, "../../..");
const MAP = "docs/README.md";

/** Other files that documents show or link. An installed package has no pictures. */
const OTHERS = "docs/**/*.{svg,png,jpg,py,mjs,go}";

interface Document {
  /** Relative to the package, such as `docs/start/first-market.md`. */
  source: string;
  /** Relative to the site, such as `docs/start/first-market.html`. */
  path: string;
  /** HTML text. */
  title: string;
  /** The heading above the document in the map of the documents. */
  group: string;
}

/** All documents as static pages. Links are relative, so the site also works from a folder. */
export class DocumentSite {
  readonly documents: readonly Document[];
  readonly #others: ReadonlySet<string>;

  constructor() {
    const listed = [
      ["pmctl", "README.md"],
      ["pmctl", MAP],
      ...listedIn(read(MAP)),
      ["Project", "CHANGELOG.md"],
      ["Project", "CONTRIBUTING.md"],
    ] as const;
    const groups = new Map<string, string>();
    for (const [group, source] of listed)
      if (!groups.has(source) && existsSync(join(ROOT, source))) groups.set(source, group);
    this.documents = [...groups].map(([source, group]) => {
      const [, heading = source] = /^# (.+)$/m.exec(read(source)) ?? [];
      return { source, path: pathOf(source), title: renderMarkdown(`# ${heading}`).title, group };
    });
    this.#others = new Set(["LICENSE", ...globSync(OTHERS, { cwd: ROOT })]);
  }

  get paths(): string[] {
    return [...this.documents.map(({ path }) => path), ...Object.keys(this.#made), ...this.#others];
  }

  /** A file of the site; undefined where there is none. */
  file(path: string): string | Uint8Array | undefined {
    const document = this.documents.find((each) => each.path === path);
    if (document) return this.#page(document);
    const made = Object.hasOwn(this.#made, path) ? this.#made[path] : undefined;
    if (made) return made();
    return this.#others.has(path) ? readFileSync(join(ROOT, path)) : undefined;
  }

  readonly #made: Record<string, () => string> = {
    "search.html": () => this.#search(),
    "search-index.js": () => `globalThis.pmctlIndex=${JSON.stringify(this.#index())}`,
    "site.css": () => read("dist/assets/documents.css"),
    "search.js": () => read("dist/assets/search.js"),
  };

  #page({ source, path, title }: Document): string {
    const { headings, html } = this.#render(source);
    const parts = headings.filter(({ depth }) => depth === 2);
    const id = headings[0]?.id ?? "";
    return this.#frame(path, title, `<h1 id="${escapeHtml(id)}">${title}</h1>${JUMP}${scrollable(html)}`, parts);
  }

  #search(): string {
    const content = `<h1>Search</h1>${JUMP}<p><a data-all href="docs/index.html">All documents</a></p><noscript><p>The search needs scripts.</p></noscript>`;
    return this.#frame("search.html", "Search", content, [], SEARCH_SCRIPTS);
  }

  /** Each section of each document for the search: its heading and its text. */
  #index(): object[] {
    return this.documents.flatMap(({ source, path, title }) => {
      const { headings, html } = this.#render(source);
      return html.split(/(?=<h[1-6] id=")/).flatMap((section) => {
        const [, id] = /^<h\d id="([^"]*)"/.exec(section) ?? [];
        const heading = headings.find((each) => each.id === id);
        const text = textOf(section.replace(/^<h\d.*?<\/h\d>/s, ""));
        if (heading === undefined && text === "") return [];
        const kind = heading === undefined ? source : title;
        const href = id === undefined ? path : `${path}#${id}`;
        return [
          {
            title: textOf(heading?.title ?? title),
            kind: textOf(kind),
            href,
            summary: text.length > 200 ? `${text.slice(0, 199)}…` : text,
            names: text,
          },
        ];
      });
    });
  }

  #render(source: string) {
    return renderMarkdown(read(source), (href) => this.#placeOf(source, href));
  }

  /** The target of a document's link on a page; undefined where the site does not have it. */
  #placeOf(source: string, href: string): string | undefined {
    if (/^([a-z]+:|#)/i.test(href)) return href;
    const [file = "", anchor] = href.split("#");
    const target = posix.join(posix.dirname(source), file);
    const document = this.documents.find((each) => each.source === target);
    if (!document && !this.#others.has(target)) return undefined;
    const place = posix.relative(posix.dirname(source), document?.path ?? target);
    return anchor === undefined ? place : `${place}#${anchor}`;
  }

  #frame(
    path: string,
    title: string,
    content: string,
    parts: readonly { id: string; title: string }[],
    end = "",
  ): string {
    const up = "../".repeat(path.split("/").length - 1);
    const here = this.documents.find((each) => each.path === path)?.group ?? "pmctl";
    const own = parts.map(({ id, title: part }) => `<li><a href="#${escapeHtml(id)}">${withoutLinks(part)}</a></li>`);
    const items = (group: readonly Document[]) =>
      group.map((each) => {
        const isHere = each.path === path;
        const below = isHere && own.length > 0 ? `<ul>${own.join("")}</ul>` : "";
        return `<li><a href="${up}${each.path}"${isHere ? ' aria-current="page"' : ""}>${withoutLinks(each.title)}</a>${below}</li>`;
      });
    const groups = [...Map.groupBy(this.documents, ({ group }) => group)].map(
      ([group, documents]) =>
        `<details${[here, "pmctl", "Start"].includes(group) ? " open" : ""}><summary>${escapeHtml(group)}</summary><ul>${items(documents).join("")}</ul></details>`,
    );
    return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${textOf(title)} · pmctl</title><link rel="icon" href="data:,"><link rel="stylesheet" href="${up}site.css"></head>
<body class="prose"><div class="frame"><nav id="contents" aria-label="Contents">${groups.join("")}</nav><main><form role="search" action="${up}search.html" method="get"><label for="q">Search the documents</label><input id="q" name="q" type="search" maxlength="100" placeholder="Command, key, error or word"><button>Search</button></form>${content}</main></div>${end}</body></html>
`;
  }
}

const JUMP = '<a class="jump" href="#contents">Contents</a>';
const SEARCH_SCRIPTS = '<script src="search-index.js"></script><script src="search.js"></script>';

/** Wide tables scroll on a small screen; narrow tables put cells below each other there. */
function scrollable(html: string): string {
  return html.replace(/<table>\s*<thead>(.*?)<\/thead>.*?<\/table>/gs, (table, head: string) =>
    head.split("<th").length > 4 ? `<div class="wide" tabindex="0">${table}</div>` : table,
  );
}

/** The documents of the map, each with the heading above it. */
function listedIn(map: string): [group: string, source: string][] {
  return map
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [group = ""] = section.split("\n", 1);
      return [...section.matchAll(/\]\(([\w./-]+\.md)\)/g)].map(([, link = ""]): [string, string] => [
        group,
        posix.join("docs", link),
      ]);
    });
}

function read(source: string): string {
  return readFileSync(join(ROOT, source), "utf8");
}

function pathOf(source: string): string {
  return source.replace(/README\.md$/, "index.md").replace(/\.md$/, ".html");
}

const ENTITIES: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" };

function textOf(html: string): string {
  const text = html
    .replace(/<!--.*?-->|<[^>]*>/gs, " ")
    .replace(/&(lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? "");
  return text.replace(/\s+/g, " ").trim();
}

function withoutLinks(html: string): string {
  return html.replace(/<\/?a\b[^>]*>/g, "");
}
