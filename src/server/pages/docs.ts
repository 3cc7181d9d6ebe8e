import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { TAGS } from "../../contract/operation.ts";
import type { Answer } from "../responses.ts";
import type { Route } from "../routes.ts";
import { chooseEncoding, compressed } from "./compress.ts";
import { escapeHtml, hashSource, pagePolicy } from "./html.ts";
import type { ReaderAddress } from "./reader-address.ts";

/** The folder of the pages by `bin/docs.js`, compressed to keep the package small; the path works from src/ and dist/. */
const PLACE = join(import.meta.dirname, "../../../dist/docs");

/** The placeholder for a tenant's address and name in the built pages. */
export const DOCS_ADDRESS = "https://predict.example";
export const DOCS_TENANT = "tenant-of-predict-example";

const NAMES = [...Object.keys(TAGS), "webhooks", "refusals", "embed"];

export interface DocsOptions {
  /** The address in examples. */
  readers: ReaderAddress;
  tenantId: string;
}

/**
 * `/docs`: the built pages of the OpenAPI document and of `docs/guides/publisher.md`, with the address under which the
 * reader came. A page is read on first request, and kept compressed for the tenant's own address.
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
      // Readers choose the port of a loopback address, so their pages are unlimited in number and none is kept.
      if (!isShared) return make(html);
      const key = encoding ?? "";
      const answer = made.get(key) ?? make(html);
      made.set(key, answer);
      return answer;
    },
  };
}

/** The policy allows scripts and styles by their hashes, so they contain no address. */
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
