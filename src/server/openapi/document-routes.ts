import type { Answer } from "../responses.ts";
import type { Route } from "../routes.ts";
import type { OpenApiOptions } from "./openapi.ts";

/**
 * `/openapi.json` and `/docs`, its page for people. Both are made when they are first asked for, in some 80 ms: their
 * modules, the document and its texts take 3 MB, and most servers are never asked. All answers share the bytes that were
 * made, however many clients are slow to read them.
 */
export function openApiRoutes(options: OpenApiOptions): Route[] {
  return [
    route("/openapi.json", true, async () => {
      const { openApiDocument } = await import("./openapi.ts");
      return { status: 200, body: new TextEncoder().encode(JSON.stringify(openApiDocument(options))) };
    }),
    route("/docs", false, async () => {
      const [{ openApiDocument }, { docsAnswer }] = await Promise.all([
        import("./openapi.ts"),
        import("../pages/docs-page.ts"),
      ]);
      return docsAnswer(openApiDocument(options));
    }),
  ];
}

function route(path: string, forBrowsers: boolean, make: () => Promise<Answer>): Route {
  let made: Promise<Answer> | undefined;
  return { method: "GET", path, forBrowsers, answer: () => (made ??= make()) };
}
