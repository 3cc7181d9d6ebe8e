import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Answer, Header } from "../responses.ts";
import type { Route } from "../routes.ts";
import { chooseEncoding, compressed, type Encoding } from "./compress.ts";

/** Where `bin/assets.js` puts the bundles of src/embed; this file finds them from src/ and from dist/. */
const PLACE = join(import.meta.dirname, "../../../dist/assets");

/** A publisher's page loads it again after five minutes; a file with a hash in its name never changes. */
const SHORT = "public, max-age=300";
const FOR_EVER = "public, max-age=31536000, immutable";
/** Any page may load it, with or without an `integrity` attribute. */
const FOR_ALL: Header[] = [
  ["access-control-allow-origin", "*"],
  ["cross-origin-resource-policy", "cross-origin"],
];

export interface Assets {
  loader: string;
  /** The frame's script, inlined in its documents. */
  script: string;
  /** What a document needs to be read before its script runs, and the rest; neither holds a theme. */
  documentStyle: string;
  frameStyle: string;
  /** The small script of the documents that say why there is no view. */
  refusal: string;
  playgroundScript: string;
  playgroundStyle: string;
  /** The loader's immutable path, and its Subresource Integrity value. */
  hashedPath: string;
  integrity: string;
}

/** Reads the bundles. @throws Error before the first build */
export function readAssets(): Assets {
  const read = (name: string): string => readFileSync(join(PLACE, name), "utf8");
  const loader = read("embed.js");
  const digest = createHash("sha384").update(loader).digest();
  return {
    loader,
    script: read("frame.js"),
    documentStyle: read("document.css"),
    frameStyle: read("frame.css"),
    refusal: read("refusal.js"),
    playgroundScript: read("playground.js"),
    playgroundStyle: read("playground.css"),
    hashedPath: `/assets/embed-${digest.toString("hex").slice(0, 16)}.js`,
    integrity: `sha384-${digest.toString("base64")}`,
  };
}

/** `/assets/v1/embed.js` and `/assets/embed.js`, and the same file under a name that holds its hash. */
export function assetRoutes({ loader, hashedPath }: Assets): Route[] {
  return [
    scriptRoute("/assets/v1/embed.js", loader, SHORT),
    scriptRoute("/assets/embed.js", loader, SHORT),
    scriptRoute(hashedPath, loader, FOR_EVER),
  ];
}

function scriptRoute(path: string, text: string, cacheControl: string): Route {
  const answers = new Map<Encoding | undefined, Promise<Answer>>();
  return {
    method: "GET",
    path,
    forBrowsers: false,
    answer(exchange) {
      const encoding = chooseEncoding(exchange.header("accept-encoding"));
      const contentType = "text/javascript; charset=utf-8";
      const made = answers.get(encoding);
      if (made) return made;
      const answer = { status: 200, body: text, contentType, cacheControl, headers: FOR_ALL };
      const making = compressed(answer, encoding, { once: true });
      answers.set(encoding, making);
      return making;
    },
  };
}
