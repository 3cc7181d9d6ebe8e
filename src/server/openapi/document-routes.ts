import type { Exchange } from "../exchange.ts";
import { chooseEncoding, compressed, type Encoding } from "../pages/compress.ts";
import type { Answer } from "../responses.ts";
import type { Route } from "../routes.ts";
import type { OpenApiOptions } from "./openapi.ts";

/**
 * `/openapi.json`. It is made when it is first asked for, once for each encoding: its modules and texts take 3 MB, and most
 * servers are never asked. All answers share the bytes that were made, however many clients are slow to read them.
 */
export function openApiRoute(options: OpenApiOptions): Route {
  const documents = new Map<Encoding | undefined, Promise<Answer>>();
  const answer = (exchange: Exchange): Promise<Answer> => {
    const encoding = chooseEncoding(exchange.header("accept-encoding"));
    const made = documents.get(encoding) ?? makeDocument(options, encoding);
    documents.set(encoding, made);
    return made;
  };
  return { method: "GET", path: "/openapi.json", forBrowsers: true, answer };
}

async function makeDocument(options: OpenApiOptions, encoding: Encoding | undefined): Promise<Answer> {
  const { openApiDocument } = await import("./openapi.ts");
  return compressed({ status: 200, body: JSON.stringify(openApiDocument(options)) }, encoding);
}
