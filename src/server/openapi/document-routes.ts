import { TAGS } from "../../contract/operation.ts";
import type { Exchange } from "../exchange.ts";
import { chooseEncoding } from "../pages/compress.ts";
import type { DocsPages } from "../pages/docs/pages.ts";
import type { Answer } from "../responses.ts";
import type { Route } from "../routes.ts";
import type { OpenApiOptions } from "./openapi.ts";

const DOCS = ["/docs", ...Object.keys(TAGS).map((tag) => `/docs/${tag}`), "/docs/webhooks", "/docs/refusals"];

/**
 * `/openapi.json` and `/docs`, its pages for people. Both are made when they are first asked for, in some 80 ms: their
 * modules, the document and its texts take 3 MB, and most servers are never asked. All answers share the bytes that were
 * made, however many clients are slow to read them.
 */
export function openApiRoutes(options: OpenApiOptions): Route[] {
  let document: Promise<Answer> | undefined;
  let pages: Promise<DocsPages> | undefined;
  const docsRoute = (path: string): Route => ({
    method: "GET",
    path,
    forBrowsers: false,
    async answer(exchange) {
      pages ??= makePages(options);
      return answerPage(await pages, path, exchange);
    },
  });
  return [
    { method: "GET", path: "/openapi.json", forBrowsers: true, answer: () => (document ??= makeDocument(options)) },
    ...DOCS.map(docsRoute),
  ];
}

function answerPage(pages: DocsPages, path: string, exchange: Exchange): Promise<Answer> {
  const encoding = chooseEncoding(exchange.header("accept-encoding"));
  const query = path === "/docs" ? (new URLSearchParams(exchange.search).get("q") ?? "") : "";
  return query.trim() === "" ? pages.answer(path, encoding) : pages.found(query, encoding);
}

async function makeDocument(options: OpenApiOptions): Promise<Answer> {
  const { openApiDocument } = await import("./openapi.ts");
  return { status: 200, body: new TextEncoder().encode(JSON.stringify(openApiDocument(options))) };
}

async function makePages(options: OpenApiOptions): Promise<DocsPages> {
  const [{ openApiDocument }, { DocsPages }] = await Promise.all([
    import("./openapi.ts"),
    import("../pages/docs/pages.ts"),
  ]);
  return new DocsPages(openApiDocument(options));
}
