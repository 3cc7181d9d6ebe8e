import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { TAGS } from "../../contract/operation.ts";
import type { Answer } from "../responses.ts";
import type { Route } from "../routes.ts";
import { chooseEncoding, compressed } from "./compress.ts";
import { escapeHtml, hashSource, pagePolicy } from "./html.ts";
import type { ReaderAddress } from "./reader-address.ts";

/** Where `bin/docs.js` puts the pages, compressed so that the package stays small; this file finds them from src/ and from dist/. */
const PLACE = join(import.meta.dirname, "../../../dist/docs");

/** What the built pages say in place of a tenant's address and name. */
export const DOCS_ADDRESS = "https://predict.example";
export const DOCS_TENANT = "tenant-of-predict-example";

const NAMES = [...Object.keys(TAGS), "webhooks", "refusals", "embed"];

export interface DocsOptions {
  /** The address that examples name. */
  readers: ReaderAddress;
  tenantId: string;
}

/**
 * `/docs`: what the build made of the OpenAPI document and of `docs/guides/publisher.md`, with the address under which the reader came. A page is read when it is
 * first asked for, and kept compressed for those who come under the tenant's own address.
 */
export function docsRoutes(options: DocsOptions): Route[] {
  return ["index", ...NAMES].map((name) => docsRoute(name, options));
}

function docsRoute(name: string, { readers, tenantId }: DocsOptions): Route {
  const made = new Map<string, Promise<Answer>>();
  let html: string | undefined;
  return {
    method: "GET",
    path: name === "index" ? "/docs" : `/docs/${name}`,
    forBrowsers: false,
    bucket: "embed",
    answer(exchange) {
      html ??= brotliDecompressSync(readFileSync(join(PLACE, `${name}.html.br`)))
        .toString()
        .replaceAll(DOCS_TENANT, escapeHtml(tenantId));
      const address = readers.originFor(exchange);
      const isShared = readers.isOwn(address);
      const encoding = chooseEncoding(exchange.header("accept-encoding"));
      const make = (text: string) => compressed(answerOf(text, address), encoding, { once: isShared });
      // Readers choose the port of a loopback address, so pages with one are as many as they like, and none is kept.
      if (!isShared) return make(html);
      const key = encoding ?? "";
      const answer = made.get(key) ?? make(html);
      made.set(key, answer);
      return answer;
    },
  };
}

/** Scripts and styles are allowed by their hashes, and hold no address. */
function answerOf(html: string, address: string): Answer & { body: string } {
  const inlined = (pattern: RegExp): string[] => [...html.matchAll(pattern)].map(([, text = ""]) => hashSource(text));
  const scripts = inlined(/<script>([\s\S]*?)<\/script>/g);
  return {
    status: 200,
    body: html.replaceAll(DOCS_ADDRESS, escapeHtml(address)),
    contentType: "text/html; charset=utf-8",
    contentSecurityPolicy: pagePolicy({
      scripts: scripts.length > 0 ? ["'self'", ...scripts] : [],
      styles: inlined(/<style>([\s\S]*?)<\/style>/g),
      frames: html.includes('id="preview"') ? ["'self'"] : [],
      forms: ["'self'"],
      ancestors: ["'none'"],
    }),
  };
}
