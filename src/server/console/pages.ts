import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { Fault } from "../../domain/fault.ts";
import type { Exchange } from "../exchange.ts";
import { sameForAll } from "../pages/compress.ts";
import { escapeHtml, pagePolicy } from "../pages/html.ts";
import type { Answer } from "../responses.ts";
import type { Route } from "../routes.ts";

/** Where `bin/assets.js` writes the bundle of src/console; the path works from src/ and from dist/. */
const PLACE = join(import.meta.dirname, "../../../dist/assets");
const FOR_EVER = "public, max-age=31536000, immutable";
const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** Nothing inline, nothing from elsewhere, no text of a trader as markup. */
const POLICY = [
  pagePolicy({ scripts: ["'self'"], styles: ["'self'"], images: ["'self'", "data:"], ancestors: ["'none'"] }),
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The page, which is the same at every address below `/console/`, and the files with a hash in their names. */
export function consolePages(tenantId: string, base: string): Route[] {
  const assets = new Map<string, (exchange: Exchange) => Promise<Answer>>();
  for (const [name, place] of filesOfConsole()) assets.set(`${base}/console/assets/${name}`, assetAnswer(place));
  const document = documentOf(tenantId, base);
  const page = { method: "GET", forBrowsers: false, answer: async () => document } as const;
  return [
    { ...page, path: `${base}/console`, name: "/console" },
    { ...page, path: `${base}/console/**`, name: "/console/**" },
    {
      method: "GET",
      path: `${base}/console/assets/**`,
      name: "/console/assets/**",
      forBrowsers: false,
      async answer(exchange) {
        const answer = assets.get(exchange.pathname);
        if (!answer) throw new Fault("NOT_FOUND", "Not found");
        return answer(exchange);
      },
    },
  ];
}

/** Each file's name and place: the console's own, and the widget's part that draws curves. */
function filesOfConsole(): [name: string, place: string][] {
  const folder = join(PLACE, "console");
  if (!existsSync(folder)) return [];
  const { plot } = readNames();
  const own = readdirSync(folder).map((name): [string, string] => [name, join(folder, name)]);
  return plot === undefined ? own : [...own, [plot, join(PLACE, "parts", plot)]];
}

/** @throws Error before the first build */
function readNames(): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(join(PLACE, "console.json"), "utf8")) as Record<string, string>;
}

/** @throws Error before the first build */
function documentOf(tenantId: string, base: string): Answer {
  const { script, style } = readNames();
  const at = (name: string | undefined) => escapeHtml(`${base}/console/assets/${name}`);
  const body = `<!doctype html>
<html lang="en" data-tenant="${escapeHtml(tenantId)}" data-base="${escapeHtml(base)}/console">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(tenantId)} · pmctl console</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${at(style)}">
<script type="module" src="${at(script)}"></script>
</head>
<body><noscript>The console needs JavaScript. The same work can be done with pmctl in a terminal.</noscript></body>
</html>
`;
  return { status: 200, body, contentType: "text/html; charset=utf-8", contentSecurityPolicy: POLICY };
}

function assetAnswer(place: string): (exchange: Exchange) => Promise<Answer> {
  return sameForAll({
    status: 200,
    body: readFileSync(place, "utf8"),
    contentType: TYPES[extname(place)] ?? "application/octet-stream",
    contentSecurityPolicy: POLICY,
    cacheControl: FOR_EVER,
  });
}
