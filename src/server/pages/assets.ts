import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../domain/fault.ts";
import { FOR_ALL, refusalForAll } from "../conditional.ts";
import type { Exchange } from "../exchange.ts";
import type { Answer } from "../responses.ts";
import type { Route } from "../routes.ts";
import { sameForAll } from "./compress.ts";

/** The folder where `bin/assets.js` writes the bundles of src/embed; the path works from src/ and from dist/. */
const PLACE = join(import.meta.dirname, "../../../dist/assets");
/** Files with a content hash in their names: this build's files, and the loaders of releases. */
const PARTS = join(PLACE, "parts");

/** A publisher's page reloads it after five minutes. A file with a hash in its name never changes. */
const SHORT = "public, max-age=300";
const FOR_EVER = "public, max-age=31536000, immutable";
/** The loader's path in a publisher's page; it always serves this build's loader. */
export const LOADER_PATH = "/assets/v1/embed.js";

export interface Assets {
  loader: string;
  /** The path of the frame's script; its contents never change. */
  framePath: string;
  /** The style that the frame's documents inline; the script brings the rest. */
  documentStyle: string;
  /** The small script of the documents that explain why there is no view. It is inlined to save a request. */
  refusal: string;
  playgroundScript: string;
  playgroundStyle: string;
  /** The loader's immutable path, and its Subresource Integrity value. */
  hashedPath: string;
  integrity: string;
  /** The text by path of every file that never changes. */
  parts: ReadonlyMap<string, string>;
}

/** Reads the bundles. @throws Error before the first build */
export function readAssets(): Assets {
  const read = (name: string): string => readFileSync(join(PLACE, name), "utf8");
  const entries = JSON.parse(read("entries.json")) as { loader: string; frame: string };
  const loader = read(join("parts", entries.loader));
  return {
    loader,
    framePath: `/assets/${entries.frame}`,
    documentStyle: read("document.css"),
    refusal: read("refusal.js"),
    playgroundScript: read("playground.js"),
    playgroundStyle: read("playground.css"),
    hashedPath: `/assets/${entries.loader}`,
    integrity: `sha384-${createHash("sha384").update(loader).digest("base64")}`,
    parts: new Map(readdirSync(PARTS).map((name) => [`/assets/${name}`, read(join("parts", name))])),
  };
}

/** The loader under its permanent addresses, and every file with a hash in its name. */
export function assetRoutes({ loader, parts }: Assets): Route[] {
  const lasting = scriptAnswer(loader, SHORT);
  const immutable = new Map([...parts].map(([path, text]) => [path, scriptAnswer(text, FOR_EVER)]));
  return [
    { ...ASSET, path: "/assets/embed.js", bucket: "embed", answer: lasting },
    { ...ASSET, path: LOADER_PATH, bucket: "embed", answer: lasting },
    {
      ...ASSET,
      path: "/assets/**",
      bucket: "embed",
      async answer(exchange) {
        const answer = immutable.get(exchange.pathname);
        if (!answer) throw new Fault("NOT_FOUND", "Not found");
        return answer(exchange);
      },
    },
  ];
}

const ASSET = {
  method: "GET",
  forBrowsers: false,
  // Without these headers a page could not read why its script is missing.
  refuse: (_exchange: Exchange, fault: Fault) => refusalForAll(fault),
} as const;

function scriptAnswer(body: string, cacheControl: string): (exchange: Exchange) => Promise<Answer> {
  const contentType = "text/javascript; charset=utf-8";
  return sameForAll({ status: 200, body, contentType, cacheControl, headers: FOR_ALL });
}
