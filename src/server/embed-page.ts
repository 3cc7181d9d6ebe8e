import { randomBytes } from "node:crypto";
import type { FrameData } from "../contract/embed.ts";
import { Fault } from "../domain/fault.ts";
import type { Assets } from "./assets.ts";
import { wallClockMs } from "./clock.ts";
import { chooseEncoding, compressed } from "./compress.ts";
import type { FrameReader, View } from "./embed-data.ts";
import { escapeHtml } from "./html.ts";
import type { KeyRing } from "./key-ring.ts";
import type { Answer } from "./responses.ts";
import type { Route } from "./routes.ts";

export interface EmbedOptions {
  /** The tenant's name, as people read it. */
  name: string;
  /** Public API keys that pages may use, in order of preference. */
  publicKeys: readonly string[];
  /** Origins whose pages may show the frame and trade in it; empty: any may show it, none may trade. */
  allowedOrigins: readonly string[];
}

export interface EmbedServices {
  options: EmbedOptions;
  assets: Assets;
  reader: FrameReader;
  keys: KeyRing;
}

const VIEWS: readonly View[] = ["market", "markets", "portfolio"];
const THEMES = ["dark", "light", "auto"];

/** `/embed/<view>`: a document with everything inlined, the first data too, so that opening a view is one request. */
export function embedRoutes(services: EmbedServices): Route[] {
  return VIEWS.map((view) => ({
    method: "GET",
    path: `/embed/${view}`,
    forBrowsers: false,
    async answer(exchange) {
      const query = new URLSearchParams(exchange.search);
      const { status, data } = await frameData(services, view, query.get("marketId") || undefined);
      const theme = THEMES.find((one) => one === query.get("theme")) ?? "dark";
      const answer = frameAnswer(services, { data, theme, status });
      return compressed(answer, chooseEncoding(exchange.header("accept-encoding")));
    },
  }));
}

async function frameData(
  { options, reader, keys }: EmbedServices,
  view: View,
  marketId: string | undefined,
): Promise<{ status: number; data: FrameData }> {
  await keys.ready();
  const shell = {
    view,
    name: options.name,
    apiKey: options.publicKeys.find((key) => keys.find(key)?.type === "public") ?? null,
    tradeOrigins: options.allowedOrigins,
    now: Math.floor(wallClockMs()),
    limits: { feeBps: 0, maxTradeUsd: 0, suitabilityRequired: false },
  };
  try {
    return { status: 200, data: { ...shell, ...(await reader.read(view, marketId)) } };
  } catch (error) {
    if (!(error instanceof Fault) || error.status !== 404) throw error;
    return { status: 404, data: { ...shell, error: error.message } };
  }
}

/** The document. What runs in it is our script, named by a nonce; what it shows is text in a data block. */
function frameAnswer(
  { options, assets }: EmbedServices,
  { data, theme, status }: { data: FrameData; theme: string; status: number },
): Answer & { body: string } {
  const nonce = randomBytes(16).toString("base64");
  const ancestors = options.allowedOrigins.length === 0 ? "*" : ["'self'", ...options.allowedOrigins].join(" ");
  return {
    status,
    contentType: "text/html; charset=utf-8",
    contentSecurityPolicy: [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      "connect-src 'self'",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      `frame-ancestors ${ancestors}`,
    ].join("; "),
    body: `<!doctype html>
<html lang="en" data-theme="${theme}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="${theme === "auto" ? "light dark" : theme}"><title>${escapeHtml(titleOf(data))}</title>
<style nonce="${nonce}">${assets.style}</style></head>
<body><div id="app"></div>
<script type="application/json" id="data">${inScript(data)}</script>
<script nonce="${nonce}">${assets.script}</script></body></html>`,
  };
}

function titleOf({ market, name }: FrameData): string {
  return market ? `${market.detail.question} - ${name}` : name;
}

/** JSON between script tags: without `<` nothing in it can end the block or open another. */
function inScript(data: FrameData): string {
  return JSON.stringify(data).replace(/</g, "\\u003c");
}
