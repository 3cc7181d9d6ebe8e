import { BoundedCache } from "../access/bounded-cache.ts";
import type { Exchange } from "../exchange.ts";
import { chooseEncoding, compressed, type Encoding } from "../pages/compress.ts";
import type { ReaderAddress } from "../pages/reader-address.ts";
import type { Answer } from "../responses.ts";
import type { Route } from "../routes.ts";
import type { OpenApiOptions } from "./openapi.ts";

/** Readers choose the port of a loopback address, so the number of kept documents is bounded. */
const KEPT = 8;

/**
 * `/openapi.json`, with the address under which the reader came. It is made on first request, once per address and encoding:
 * its modules and texts take 3 MB, and most servers never need it. All answers share the same bytes, even for slow clients.
 * made, however many clients are slow to read them.
 */
export function openApiRoute(options: Omit<OpenApiOptions, "baseUrl">, readers: ReaderAddress): Route {
  const documents = new BoundedCache<Promise<Answer>>(KEPT);
  const answer = (exchange: Exchange): Promise<Answer> => {
    const baseUrl = readers.originFor(exchange);
    const encoding = chooseEncoding(exchange.header("accept-encoding"));
    const key = `${encoding} ${baseUrl}`;
    const made = documents.get(key) ?? makeDocument({ ...options, baseUrl }, encoding);
    documents.set(key, made);
    return made;
  };
  return { method: "GET", path: "/openapi.json", forBrowsers: true, answer };
}

async function makeDocument(options: OpenApiOptions, encoding: Encoding | undefined): Promise<Answer> {
  const { openApiDocument } = await import("./openapi.ts");
  return compressed({ status: 200, body: JSON.stringify(openApiDocument(options)) }, encoding);
}
