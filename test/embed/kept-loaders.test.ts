import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LOADER_PATH, readAssets } from "../../src/server/pages/assets.ts";
import { openPage } from "../support/browser.ts";
import { openStage, type Stage } from "./support/stage.ts";

/** Pages of another origin, by path, each with the headers that it wants. */
const pages = new Map<string, { html: string; headers?: Record<string, string> }>();
const site = createServer((request, response) => {
  const page = pages.get(request.url ?? "");
  response.writeHead(page ? 200 : 404, { "content-type": "text/html", ...page?.headers });
  response.end(page ? `<!doctype html><title>News</title><div id="place"></div>${page.html}` : "");
});

let stage: Stage;
let host = "";
beforeAll(async () => {
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  host = `http://localhost:${(site.address() as AddressInfo).port}`;
  stage = await openStage({ embed: { allowedOrigins: [host] } });
  await stage.tenant.openMarket("mkt_a", { question: "Will it rain?" });
});
afterAll(async () => {
  await stage?.close();
  site.close();
});

/** Opens a page with this markup; its scripts note what they find in `seen`. */
async function openSite(path: string, html: string, headers?: Record<string, string>) {
  pages.set(path, { html, ...(headers ? { headers } : {}) });
  const opened = await openPage(stage.browser);
  await opened.page.goto(host + path);
  return opened;
}

describe("the loader", () => {
  const address = () => stage.tenant.url + LOADER_PATH;
  const mounted = `window.seen = { origin: new URL(PredictionMarkets.embed("#place", { view: "market" }).iframe.src).origin }`;
  const imported = `window.seen = { origin: new URL(embed("#place", { view: "market" }).iframe.src).origin, mount, unmount }`;

  test.each([
    ["a script", () => `<script src="${address()}"></script><script>${mounted}</script>`],
    ["a script with CORS", () => `<script crossorigin src="${address()}"></script><script>${mounted}</script>`],
    ["a module", () => `<script type="module" src="${address()}"></script><script type="module">${mounted}</script>`],
    [
      "an import",
      () => `<script type="module">import { embed, mount, unmount } from "${address()}"; ${imported}</script>`,
    ],
    [
      "an import later",
      () => `<script>import("${address()}").then(({ embed, mount, unmount }) => { ${imported} })</script>`,
    ],
  ])("runs as %s, and frames the origin that it came from", async (name, html) => {
    const { page, complaints, close } = await openSite(`/${name.replaceAll(" ", "-")}`, html());
    await page.frameLocator("iframe").getByRole("heading", { name: "Will it rain?" }).waitFor();
    expect(await page.evaluate("seen.origin")).toBe(stage.tenant.url);
    expect(await page.evaluate("Object.keys(seen).length > 1 ? typeof seen.mount + typeof seen.unmount : ''")).toBe(
      name.startsWith("an import") ? "functionfunction" : "",
    );
    expect(complaints).toEqual([]);
    await close();
  });

  test("mounts frames in a page that is isolated from other origins", async () => {
    const { page, complaints, close } = await openSite(
      "/isolated",
      `<script crossorigin src="${address()}"></script><script>${mounted}; seen.isolated = crossOriginIsolated</script>`,
      { "cross-origin-embedder-policy": "require-corp", "cross-origin-opener-policy": "same-origin" },
    );
    const frame = page.frameLocator("iframe");
    await frame.locator("#app:not([data-static])").getByRole("heading", { name: "Will it rain?" }).waitFor();
    expect(await page.evaluate("seen.isolated")).toBe(true);
    expect(complaints).toEqual([]);
    await close();
  });

  test("has one tag under each of its lasting addresses, a body only for GET, and any page may read that a file is gone", async () => {
    const ask = (path: string, init: RequestInit = {}) => fetch(stage.tenant.url + path, init);
    const tags = await Promise.all(
      [LOADER_PATH, "/assets/embed.js"].map(async (path) => {
        const { headers } = await ask(path, { method: "HEAD" });
        const tag = headers.get("etag") ?? "";
        expect((await ask(path, { headers: { "if-none-match": tag } })).status).toBe(304);
        return tag;
      }),
    );
    expect(new Set(tags).size).toBe(1);
    const { framePath } = readAssets();
    expect((await ask(framePath)).headers.get("cache-control")).toContain("immutable");
    for (const path of ["/assets/frame-AAAAAAAA.js", "/assets/embed-0000000000000000.js", "/assets/v1/other.js"]) {
      const gone = await ask(path);
      expect([gone.status, gone.headers.get("access-control-allow-origin")]).toEqual([404, "*"]);
    }
  });
});
