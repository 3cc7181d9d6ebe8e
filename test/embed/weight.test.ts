import type { Page, Request } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage } from "../support/browser.ts";
import { fillTenant } from "./support/scenery.ts";
import { type HostOptions, openStage, type Stage } from "./support/stage.ts";

const KB = 1024;
const MARKET = { view: "market", marketId: "mkt_0" } as const;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await fillTenant(stage.tenant, "usr_1");
});
afterAll(() => stage?.close());

/** What a page fetched from the tenant over the network: the path without its hash, and the bytes of the body as transferred. */
type Fetched = [path: string, bytes: number][];

/** A browser that knows gzip and no better, which is what the bounds are for. */
async function openReader(): Promise<{ visit(options: HostOptions): Promise<Fetched>; close(): Promise<void> }> {
  const { page, close } = await openPage(stage.browser, { viewport: { width: 800, height: 1200 } });
  await page.setExtraHTTPHeaders({ "accept-encoding": "gzip" });
  return { visit: (options) => visit(page, options), close };
}

/** Resolves when every widget of the page has its curve, the last thing that it loads. */
async function visit(page: Page, options: HostOptions): Promise<Fetched> {
  const requests: Request[] = [];
  const note = (request: Request): unknown => request.url().startsWith(stage.tenant.url) && requests.push(request);
  page.on("requestfinished", note);
  await page.goto(stage.hostUrl(options));
  const frames = page.locator("iframe");
  await frames.nth((options.count ?? 1) - 1).waitFor();
  for (const frame of await frames.all()) await frame.contentFrame().locator(".uplot").waitFor();
  page.off("requestfinished", note);
  const fetched = await Promise.all(
    requests.map(async (request): Promise<Fetched[number]> => {
      const { responseBodySize } = await request.sizes();
      return [new URL(request.url()).pathname.replace(/-\w+\.js$/, ""), responseBodySize];
    }),
  );
  // From the browser's cache there are no bytes, less the headers that would have come. The stream is read after the contents.
  return fetched.filter(([path, bytes]) => bytes > 0 && path !== "/assets/stream");
}

const bytesOf = (fetched: Fetched, wanted: string): number => fetched.find(([path]) => path === wanted)?.[1] ?? 0;

test("a widget's first contents take three requests: a script under 33 KB, its document under 6 KB, and the loader; a second visit loads no script again", async () => {
  const { visit, close } = await openReader();
  const first = await visit(MARKET);
  expect(first.map(([path]) => path)).toEqual(["/assets/embed.js", "/embed/market", "/assets/frame", "/assets/plot"]);
  expect(bytesOf(first, "/assets/frame")).toBeLessThan(33 * KB);
  expect(bytesOf(first, "/embed/market")).toBeLessThan(6 * KB);
  expect(bytesOf(first, "/assets/plot")).toBeLessThan(26 * KB);
  const second = await visit(MARKET);
  expect(second.filter(([path]) => path !== "/embed/market")).toEqual([]);
  await close();
});

test("the first contents of three widgets take five requests and 60 KB; the curves of all come with one request after them", async () => {
  const { visit, close } = await openReader();
  const fetched = await visit({ ...MARKET, count: 3, height: 300 });
  const before = fetched.filter(([path]) => path !== "/assets/plot");
  expect(before.length).toBeLessThanOrEqual(5);
  expect(before.reduce((sum, [, bytes]) => sum + bytes, 0)).toBeLessThan(60 * KB);
  expect(fetched.length - before.length).toBe(1);
  await close();
});
