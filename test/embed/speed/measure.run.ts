import { loadavg } from "node:os";
import { afterAll, beforeAll, test } from "vitest";
import { openPage } from "../../support/browser.ts";
import { fillTenant } from "../support/scenery.ts";
import { openStage, type Stage } from "../support/stage.ts";

const ROUNDS = 7;
const SLOW = { rate: 4, latencyMs: 150, bytesPerSec: 1_600_000 / 8 };

/** Notes when the script's first contents are in the document, and how long its longest tasks take. */
const WATCH = `window.tasks = [];
new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
  .observe({ type: "longtask", buffered: true });
new MutationObserver((_, observer) => {
  if (!document.querySelector("#app:not([data-static]) main")) return;
  observer.disconnect();
  window.shownMs = performance.now();
}).observe(document, { childList: true, subtree: true, attributes: true });`;

interface Figures {
  /** Milliseconds from the frame's start to what the server wrote, and to the script's contents. */
  paintedMs: number;
  shownMs: number;
  longestTaskMs: number;
}

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await fillTenant(stage.tenant, "usr_1");
});
afterAll(() => stage?.close());

/** The frame's own address is opened by itself, so that nothing of the page around is measured. */
async function measure(isSlow: boolean): Promise<Figures> {
  const { page, close } = await openPage(stage.browser, { viewport: { width: 500, height: 800 } });
  const cdp = await page.context().newCDPSession(page);
  if (isSlow) {
    await cdp.send("Emulation.setCPUThrottlingRate", { rate: SLOW.rate });
    await cdp.send("Network.enable");
    await cdp.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: SLOW.latencyMs,
      downloadThroughput: SLOW.bytesPerSec,
      uploadThroughput: SLOW.bytesPerSec,
    });
  }
  await page.addInitScript({ content: WATCH });
  await page.goto(`${stage.tenant.url}/embed/market?marketId=mkt_0`);
  await page.locator(".uplot").waitFor();
  const figures = await page.evaluate<Figures>(`({ shownMs, longestTaskMs: Math.max(0, ...tasks),
    paintedMs: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN })`);
  await close();
  return figures;
}

test.each([
  { name: "here", isSlow: false, aimMs: 150 },
  { name: `at CPU / ${SLOW.rate}, 1.6 Mbit/s and ${SLOW.latencyMs} ms of latency`, isSlow: true, aimMs: 900 },
])("$name", async ({ name, isSlow, aimMs }) => {
  const before = loadavg()[0] ?? 0;
  const rounds: Figures[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await measure(isSlow));
  const spread = (field: keyof Figures): string => {
    const values = rounds.map((each) => Math.round(each[field])).toSorted((one, other) => one - other);
    return `${values[0]} / ${values[values.length >> 1]} / ${values.at(-1)} ms`;
  };
  process.stdout.write(`
${name}: least / median / most of ${ROUNDS}, load average ${before.toFixed(1)} before and ${(loadavg()[0] ?? 0).toFixed(1)} after
  first paint   ${spread("paintedMs")}
  contents      ${spread("shownMs")}   (aim: ${aimMs} ms)
  longest task  ${spread("longestTaskMs")}   (aim: 50 ms)
`);
});
