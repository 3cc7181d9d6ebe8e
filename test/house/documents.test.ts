import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { marked, type Tokens } from "marked";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { renderMarkdown } from "../../src/app/docs/markdown.ts";
import { DocumentSite } from "../../src/app/docs/site.ts";

const ROOT = new URL("../../", import.meta.url);
const DOCS = new URL("docs/", ROOT);

const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".md"))
  .map((name) => ({ name, url: new URL(name, DOCS), text: readFileSync(new URL(name, DOCS), "utf8") }));

const readSource = (source: string) => readFileSync(new URL(source, ROOT), "utf8");

test("the map of the documents names every page", () => {
  const map = pages.find(({ name }) => name === "README.md")?.text ?? "";
  const others = pages.map(({ name }) => name).filter((name) => name !== "README.md");
  expect(others.length).toBeGreaterThan(20);
  expect(others.filter((name) => !map.includes(`(${name})`))).toEqual([]);
});

const site = new DocumentSite();

test("every link and anchor of a document leads to a file and a heading", () => {
  const anchors = new Map(
    site.documents.map(({ source }) => [source, renderMarkdown(readSource(source)).headings.map(({ id }) => id)]),
  );
  const dead = site.documents.flatMap(({ source }) => {
    const links: string[] = [];
    renderMarkdown(readSource(source), (href) => void links.push(href));
    return links.flatMap((href) => {
      if (/^[a-z]+:/.test(href)) return [];
      const [file = "", anchor] = href.split("#");
      const target = file === "" ? source : posix.join(posix.dirname(source), file);
      const holds = anchor === undefined || (anchors.get(target)?.includes(anchor) ?? false);
      return existsSync(new URL(target, ROOT)) && holds ? [] : [`${source}: ${href}`];
    });
  });
  expect(anchors.size).toBeGreaterThan(50);
  expect(dead).toEqual([]);
});

test("every block of code names a language that readers can rely on; JSON and YAML parse", () => {
  const languages = "console go html js json jsx mermaid python sh sql text yaml".split(" ");
  const problems = site.documents.flatMap(({ source }) => {
    const found: string[] = [];
    marked.walkTokens(marked.lexer(readSource(source)), (token) => {
      if (token.type !== "code") return;
      const { lang = "", text } = token as Tokens.Code;
      const [language = ""] = lang.split(" ");
      if (!languages.includes(language)) found.push(`${source}: "${lang}" of ${text.slice(0, 40)}`);
      const errors = ["json", "yaml"].includes(language) ? parseAllDocuments(text).flatMap((each) => each.errors) : [];
      if (language === "json" && errors.length === 0) JSON.parse(text);
      found.push(...errors.map(({ message }) => `${source}: ${message}`));
    });
    return found;
  });
  expect(problems).toEqual([]);
});

test("every link of the site leads to a file of it and an anchor in it, and an anchor is there once", () => {
  const paths = site.paths.filter((path) => path.endsWith(".html"));
  const html = new Map(paths.map((path) => [path, String(site.file(path))]));
  const idsOf = (text = "") => [...text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => id);
  const ids = new Map([...html].map(([path, text]) => [path, idsOf(text)]));
  const dead = [...html].flatMap(([path, text]) =>
    [...text.matchAll(/(?:href|src|srcset|action)="([^"]*)"/g)].flatMap(([, href = ""]) => {
      if (/^(https?|mailto|data):/.test(href)) return [];
      const [file = "", anchor] = href.split("#");
      const target = file === "" ? path : posix.join(posix.dirname(path), file);
      const holds = anchor === undefined || ids.get(target)?.includes(anchor) === true;
      return site.paths.includes(target) && holds && !file.startsWith("/") ? [] : [`${path}: ${href}`];
    }),
  );
  expect(dead).toEqual([]);
  const doubled = [...ids].filter(([, found]) => new Set(found).size !== found.length);
  expect(doubled.map(([path]) => path)).toEqual([]);
});

test("headings have the anchors of a code host, and HTML that is not allowed is text", () => {
  const text =
    "# `a.b` & c\n\n## Is it\u2014*so*?\n\n## Is it so\n\n## Is it so\n\n<script>x</script>\n\n[y](javascript:x)\n";
  const { title, headings, html } = renderMarkdown(text);
  expect(title).toBe("<code>a.b</code> &amp; c");
  expect(headings.map(({ id }) => id)).toEqual(["ab--c", "is-itso", "is-it-so", "is-it-so-1"]);
  expect(html).toMatch(/&lt;script&gt;x&lt;\/script&gt;\s*<p>y<\/p>/);
  expect(html).not.toMatch(/<script|javascript:/);
});

test("every path of the project that a document names exists", () => {
  const documents = [
    ...pages,
    { name: "CONTRIBUTING.md", text: readFileSync(new URL("CONTRIBUTING.md", ROOT), "utf8") },
  ];
  const missing = documents.flatMap(({ name, text }) =>
    [...text.matchAll(/`((?:src|test|bin|docs|templates)\/[\w./-]+)`/g)]
      .map(([, path = ""]) => path)
      .filter((path) => !existsSync(new URL(path, ROOT)))
      .map((path) => `${name}: ${path}`),
  );
  expect(missing).toEqual([]);
});
