import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContextOptions, Frame } from "playwright-core";
import type { Theme, View } from "../../../src/embed/protocol.ts";
import type { EmbedOptions } from "../../../src/server/pages/embed-page.ts";
import { PUBLIC_KEY } from "../../server/support/harness.ts";
import { type ServedOptions, type ServedTenant, serveTenant } from "../../server/support/tenant.ts";
import { type OpenPage, openBrowser, openPage } from "../../support/browser.ts";

/** What a publisher passes to `embed`; the token is what its `getToken` answers. */
export interface HostOptions {
  view?: View;
  theme?: Theme;
  marketId?: string;
  /** Of the view `compare`. */
  marketIds?: readonly string[];
  locale?: string;
  height?: number;
  autoHeight?: boolean;
  signIn?: boolean;
  token?: string | null;
  brand?: object;
  /** How many embeds the page mounts. */
  count?: number;
}

export interface OpenEmbed extends OpenPage {
  frame: Frame;
  /** Paths on the tenant's origin that were asked for, in order, without the hashes of parts. */
  requests: string[];
  /** What `onEvent` was told so far of what a person did, or that went wrong: without `ready`, `view` and `height`. */
  events(): Promise<{ name: string; detail: Record<string, unknown> }[]>;
  /** How often `getToken` was called. */
  asked(): Promise<number>;
}

/** A tenant, a publisher's site on another origin, and a browser. */
export interface Stage {
  tenant: ServedTenant;
  browser: Browser;
  hostOrigin: string;
  hostUrl(options: HostOptions): string;
  /** @param scripts run in every document before its own */
  open(options: HostOptions, context?: BrowserContextOptions, scripts?: string[]): Promise<OpenEmbed>;
  close(): Promise<void>;
}

export interface StageOptions {
  embed?: Partial<EmbedOptions>;
  server?: ServedOptions;
}

/**
 * The loader gives a frame 15 s to load and 3 s to speak, and the frame its host 2 s for a token, before they go on without. On a busy
 * machine the other may only be waiting for its turn, so here they have a minute.
 */
const PATIENT = `{
  const later = setTimeout;
  window.setTimeout = (run, ms, ...rest) => later(run, [2000, 3000, 15_000].includes(ms) ? 60_000 : ms, ...rest);
}`;

/** Other names of the same machine are other sites to a browser. */
const HOST = "localhost";

export async function openStage({ embed = {}, server = {} }: StageOptions = {}): Promise<Stage> {
  let tenantUrl = "";
  const site = createServer((request, response) => {
    const options = JSON.parse(new URL(request.url ?? "", "http://x").searchParams.get("o") ?? "{}") as HostOptions;
    // No style, no image, nothing inline without the nonce: what a strict publisher allows.
    const policy = `default-src 'none'; script-src ${tenantUrl} 'nonce-host'; frame-src ${tenantUrl}`;
    response.writeHead(200, { "content-type": "text/html", "content-security-policy": policy });
    response.end(hostPage(tenantUrl, options));
  });
  const hostOrigin = `http://${HOST}:${await listen(site)}`;
  const options: EmbedOptions = {
    name: "Acme Markets",
    publicKeys: [PUBLIC_KEY],
    allowedOrigins: [hostOrigin],
    ...embed,
  };
  const [tenant, browser] = await Promise.all([serveTenant({ embed: options, ...server }), openBrowser()]);
  tenantUrl = tenant.url;
  const hostUrl = (host: HostOptions): string => `${hostOrigin}/?o=${encodeURIComponent(JSON.stringify(host))}`;
  return {
    tenant,
    browser,
    hostOrigin,
    hostUrl,
    open: (host, context, scripts) => openEmbed(browser, tenantUrl, hostUrl(host), { context, scripts }),
    async close() {
      site.close();
      await tenant.close();
    },
  };
}

async function openEmbed(
  browser: Browser,
  tenantUrl: string,
  address: string,
  { context, scripts = [] }: { context: BrowserContextOptions | undefined; scripts: string[] | undefined },
): Promise<OpenEmbed> {
  const opened = await openPage(browser, context);
  const { page } = opened;
  const requests: string[] = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin === tenantUrl) requests.push(url.pathname.replace(/-[0-9A-Z]{8}\.js$/, ".js"));
  });
  for (const content of [PATIENT, ...scripts]) await page.addInitScript({ content });
  await page.goto(address);
  const element = await page.waitForSelector("iframe");
  const frame = await element.contentFrame();
  if (!frame) throw new Error("The frame has no document");
  // The server's own contents are marked; the script replaces them.
  await frame.waitForSelector("#app:not([data-static]) main, #why");
  return {
    ...opened,
    frame,
    requests,
    events: () => page.evaluate("events.filter(({ name }) => !['ready', 'view', 'height'].includes(name))"),
    asked: () => page.evaluate("asked"),
  };
}

function hostPage(tenantUrl: string, { token = null, count = 1, ...options }: HostOptions): string {
  const places = Array.from({ length: count }, (_, index) => `<div id="m${index}"></div>`).join("");
  return `<!doctype html><html lang="en"><head><title>A publisher</title>
<meta name="viewport" content="width=device-width,initial-scale=1"></head><body><main><h1>News</h1>${places}</main>
<script src="${tenantUrl}/assets/embed.js"></script>
<script nonce="host">
window.events = []; window.asked = 0; window.token = ${JSON.stringify(token)};
const options = { ...${JSON.stringify(options)}, onEvent: (event) => events.push(event), getToken() { asked += 1; return window.token; } };
window.embeds = [...document.querySelectorAll("div[id]")].map((place) => PredictionMarkets.embed("#" + place.id, options));
</script></body></html>`;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Makes a page open its stream of events only when the test calls `openStream()`. */
export const STREAM_WAITS = `{
  const ask = window.fetch;
  const opened = new Promise((open) => (window.openStream = open));
  window.fetch = async (...asked) => {
    if (String(asked[0]).startsWith("/embed/stream")) await opened;
    return ask(...asked);
  };
}`;
