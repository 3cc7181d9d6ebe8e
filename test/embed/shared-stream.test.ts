import type { Frame } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { openStage, type Stage } from "./support/stage.ts";
import { confirmed } from "./support/ticket.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.tenant.deposit("usr_1", 500);
  await stage.tenant.deposit("usr_2", 500);
  for (const id of ["mkt_0", "mkt_1"]) await stage.tenant.openMarket(id);
});
afterAll(() => stage?.close());

/** Streams that are open at the server. */
async function streams(): Promise<number> {
  const text = await (await fetch(`${stage.tenant.server.opsUrl}/metrics`)).text();
  return Number(/^pmctl_streams (\d+)$/m.exec(text)?.[1]);
}

const live = (frames: readonly Frame[]): Promise<unknown> =>
  Promise.all(frames.map((frame) => frame.locator(".is-live").waitFor()));

test("20 widgets of a page and another page have one stream, which one of the frames holds: they trade, and it ends with them", async () => {
  const token = await userToken();
  const options = { view: "market", count: 20, marketId: "mkt_0", height: 120, token } as const;
  const opened = await stage.open(options, { viewport: { width: 800, height: 3000 } });
  const frames = () => opened.page.frames().slice(1);
  await live(frames());
  await expect.poll(streams).toBe(1);
  const other = await opened.page.context().newPage();
  await other.goto(stage.hostUrl({ view: "market", marketId: "mkt_1", token }));
  await other.frameLocator("iframe").locator(".is-live").waitFor();
  await expect.poll(streams).toBe(1);
  await confirmed(frames()[2] as Frame);
  await expect.poll(() => frames().at(-1)?.locator('[data-pm="position"]').count()).toBe(1);
  // Nothing of it is stored.
  expect(await frames()[0]?.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")).toEqual([
    0,
    0,
    "",
  ]);
  await opened.page.close();
  await other.frameLocator("iframe").locator(".is-live").waitFor();
  await expect.poll(streams).toBe(1);
  await other.close();
  await expect.poll(streams).toBe(0);
  await opened.close();
});

test("two users and a visitor without one in the same browser: two streams, and what one trades only they are told of", async () => {
  const [ann, ben] = await Promise.all([userToken({ sub: "usr_1" }), userToken({ sub: "usr_2" })]);
  const { page, frame, requests, close } = await stage.open({ view: "market", marketId: "mkt_1", token: ann });
  await frame.locator(".is-live").waitFor();
  const others = await Promise.all(
    [ben, null].map(async (token) => {
      const other = await page.context().newPage();
      const reads: string[] = [];
      other.on("request", (request) => reads.push(new URL(request.url()).pathname));
      await other.goto(stage.hostUrl({ view: "market", marketId: "mkt_1", token }));
      await other.frameLocator("iframe").locator(".is-live").waitFor();
      return { other, reads };
    }),
  );
  await expect.poll(streams).toBe(2);
  const portfolios = (paths: readonly string[]) => paths.filter((path) => path === "/embed/data/portfolio").length;
  const before = [requests, ...others.map(({ reads }) => reads)].map(portfolios);
  expect(before).toEqual([1, 1, 0]);
  await confirmed(frame);
  for (const { other } of others)
    await expect.poll(() => other.frameLocator("iframe").locator(".facts .big").innerText()).not.toBe("50%");
  await expect.poll(() => portfolios(requests)).toBe(2);
  expect(others.map(({ reads }) => portfolios(reads))).toEqual([1, 0]);
  // A visitor whose stream was another user's gets one of their own.
  for (const { other } of [...others.slice(0, 1)]) await other.close();
  await page.evaluate("window.token = null; embeds[0].refreshToken()");
  await expect.poll(streams).toBe(1);
  await frame.locator(".is-live").waitFor();
  await close();
});
