import type { Frame } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { userToken } from "../server/support/harness.ts";
import { openStage, type Stage } from "./support/stage.ts";

/** What the frames have where the browser has no shared workers. */
const WITHOUT_WORKERS = "delete window.SharedWorker";
const WIDGETS = 20;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.tenant.deposit("usr_1", 500);
  for (let index = 0; index < WIDGETS; index += 1) await stage.tenant.openMarket(`mkt_${index}`);
});
afterAll(() => stage?.close());

/** Streams that are open at the server. */
async function streams(): Promise<number> {
  const text = await (await fetch(`${stage.tenant.server.opsUrl}/metrics`)).text();
  return Number(/^pmctl_streams (\d+)$/m.exec(text)?.[1]);
}

const live = (frames: readonly Frame[]): Promise<unknown> =>
  Promise.all(frames.map((frame) => frame.locator(".is-live").waitFor()));

async function buyIn(frame: Frame): Promise<void> {
  await frame.getByRole("button", { name: "5 dollars", exact: true }).click();
  await frame.getByRole("button", { name: /^Buy/ }).click();
  await frame.getByRole("button", { name: /^Confirm/ }).click();
  await frame.getByRole("heading", { name: /You bought/ }).waitFor();
}

test.each([
  { way: "in a shared worker", scripts: [] },
  { way: "held by one of the frames, where there are no shared workers", scripts: [WITHOUT_WORKERS] },
])(
  "twenty widgets of a page and another page have one stream $way: they trade, and it ends with them",
  async ({ scripts }) => {
    const options = {
      view: "market",
      count: WIDGETS,
      marketId: "mkt_0",
      height: 120,
      token: await userToken(),
    } as const;
    const opened = await stage.open(options, { viewport: { width: 800, height: 3000 } }, scripts);
    const frames = () => opened.page.frames().slice(1);
    await live(frames());
    await expect.poll(streams).toBe(1);
    const other = await opened.page.context().newPage();
    for (const content of scripts) await other.addInitScript({ content });
    await other.goto(stage.hostUrl({ view: "market", marketId: "mkt_1", token: await userToken() }));
    await other.frameLocator("iframe").locator(".is-live").waitFor();
    await expect.poll(streams).toBe(1);
    await buyIn(frames()[7] as Frame);
    await expect.poll(() => frames()[19]?.locator(".own").innerText()).toContain("You hold");
    await opened.page.close();
    await other.frameLocator("iframe").locator(".is-live").waitFor();
    await expect.poll(streams).toBe(1);
    await other.close();
    await expect.poll(streams).toBe(0);
    await opened.close();
  },
);
