import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { userToken } from "../../server/support/harness.ts";
import { openPage } from "../../support/browser.ts";
import { fillTenant } from "../support/scenery.ts";
import { openStage, type Stage } from "../support/stage.ts";
import { DARK, LIGHT, LOOKS, type Look } from "./looks.ts";
import { MARKETS, PAGES, PICTURES, SCENES, type Scene } from "./scenes.ts";

const OUT = process.env.SHOTS_OUT ?? "";
const ONLY = process.env.SHOTS_ONLY ?? "";
const THEME = { overridable: ["colors", "font", "radius", "density", "words"] as const };

const taken: { name: string; file: string }[] = [];
const failed: string[] = [];
let stage: Stage;
let lookOnly: Stage;

beforeAll(async () => {
  await mkdir(OUT, { recursive: true });
  stage = await openStage({ embed: { theme: THEME } });
  lookOnly = await openStage({ embed: { allowedOrigins: [] } });
  for (const each of [stage, lookOnly]) await prepare(each);
});
afterAll(async () => {
  await writeFile(join(OUT, "index.html"), indexPage());
  await stage?.close();
  await lookOnly?.close();
});

/** Creates markets with a past, two of them closed to trades, and users who may not or cannot trade. */
async function prepare({ tenant }: Stage): Promise<void> {
  const submit = (command: Parameters<typeof tenant.services.sequencer.submit>[0]["command"]) =>
    tenant.services.sequencer.submit({ command, actor: "admin:ops" });
  for (const [index, id] of MARKETS.entries()) {
    const closeAt = Date.now() + (id === "closed" ? 1_800_000 : (index + 1) * 20 * 86_400_000);
    const question = "Will people walk on the Moon again before the end of 2030?";
    await tenant.openMarket(`mkt_shot_${id}`, { question, category: "space", closeAt });
  }
  for (const user of ["usr_rival", "usr_restricted"]) await tenant.deposit(user, 500);
  await submit({ type: "restrictUser", traderId: "usr_restricted", restricted: true });
  await fillTenant(tenant, "usr_1");
  for (const [id, text] of [
    ["clr_1", "A flight around the Moon without a landing does not count."],
    [
      "clr_2",
      "The walk counts from the moment at which a foot touches the ground.\nThe time at the landing site decides.",
    ],
  ] as const)
    await submit({ type: "clarifyMarket", marketId: "mkt_shot_paused", id, text });
  await submit({ type: "suspendMarket", marketId: "mkt_shot_paused" });
  await submit({ type: "settleMarket", marketId: "mkt_shot_settled", outcome: "no" });
}

const looksOf = ({ inAllLooks }: Scene): Look[] => [DARK, LIGHT, ...(inAllLooks ? LOOKS : [])];
const shots = SCENES.flatMap((scene) =>
  looksOf(scene).map((look) => ({ name: `${scene.name}-${look.name}`, scene, look })),
);

test("every state of the widget is taken", async () => {
  for (const shot of shots.filter(({ name }) => name.includes(ONLY)))
    await take(shot).catch((error: Error) => failed.push(`${shot.name}: ${error.message.split("\n", 2).join(" ")}`));
  expect(failed).toEqual([]);
});

async function take({ name, scene, look }: (typeof shots)[number]): Promise<void> {
  const place = scene.isLookOnly ? lookOnly : stage;
  const host = { theme: "auto", autoHeight: true, ...scene.host, ...look.host } as const;
  const token = scene.user === undefined ? null : await userToken({ sub: scene.user });
  const context = { viewport: { width: 516, height: 900 }, colorScheme: "light", ...look.context } as const;
  const { page, frame, close } = await place.open({ ...host, token }, context, scene.scripts);
  try {
    page.setDefaultTimeout(15_000);
    await settled(frame);
    await scene.act?.({ stage: place, page, frame });
    if (look.media) await page.emulateMedia(look.media);
    await settled(frame);
    await page.screenshot({ path: join(OUT, `${name}.png`), fullPage: true, animations: "disabled" });
    taken.push({ name, file: `${name}.png` });
  } finally {
    await close();
  }
}

/** The stream has begun, curves are drawn, and a user's own things are there. */
async function settled(frame: Parameters<NonNullable<Scene["act"]>>[0]["frame"]): Promise<void> {
  const isReady = `![...document.querySelectorAll(".plot")].some((plot) => !plot.querySelector(".uplot")) &&
    !document.querySelector('[data-state="connecting"], [aria-busy="true"]')`;
  await expect.poll(() => frame.evaluate<boolean>(isReady), { timeout: 20_000 }).toBe(true);
  await frame.waitForTimeout(300);
}

test("every page and picture of the tenant is taken", async () => {
  for (const path of PAGES)
    for (const look of [DARK, LIGHT, ...LOOKS.filter(({ name }) => ["ar", "320px", "print"].includes(name))]) {
      const name = `page${path.replaceAll("/", "-")}-${look.name}`;
      if (!name.includes(ONLY)) continue;
      const { page, close } = await openPage(stage.browser, { viewport: { width: 900, height: 900 }, ...look.context });
      if (look.media) await page.emulateMedia(look.media);
      await page.goto(`${stage.tenant.url}${path}?locale=${look.host?.locale ?? "en"}`, { waitUntil: "networkidle" });
      await page.screenshot({ path: join(OUT, `${name}.png`), fullPage: true });
      taken.push({ name, file: `${name}.png` });
      await close();
    }
  for (const path of PICTURES)
    for (const theme of ["dark", "light"]) {
      const name = `picture${path.replaceAll("/", "-").replace(".png", "")}-${theme}`;
      if (!name.includes(ONLY)) continue;
      const response = await fetch(`${stage.tenant.url}${path}?theme=${theme}`);
      await writeFile(join(OUT, `${name}.png`), Buffer.from(await response.arrayBuffer()));
      taken.push({ name, file: `${name}.png` });
    }
});

function indexPage(): string {
  const figures = taken.map(
    ({ name, file }) =>
      `<figure><a href="${file}"><img src="${file}" alt="${name}" loading="lazy"></a><figcaption>${name}</figcaption></figure>`,
  );
  const troubles = failed.map((line) => `<li>${line.replaceAll("<", "&lt;")}</li>`);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>The widget, ${taken.length} pictures</title>
<style>body{font:14px system-ui;background:#888;margin:1rem;display:flex;flex-wrap:wrap;gap:1rem;align-items:start}
figure{margin:0;max-width:32rem}img{max-width:100%;display:block}ul{flex-basis:100%}</style>
<ul>${troubles.join("")}</ul>${figures.join("\n")}</html>
`;
}
