import type { Frame, Page } from "playwright-core";
import type { HostOptions, Stage } from "../support/stage.ts";
import { ask, buyElsewhere, confirmed, part } from "../support/ticket.ts";

/** A state of the widget: how it is opened, and what is done until it is there. */
export interface Scene {
  name: string;
  host: HostOptions;
  /** The user who is signed in; a reader without an account unless given. */
  user?: string;
  act?(place: Place): Promise<unknown>;
  /** Run in every document before its own scripts. */
  scripts?: string[];
  /** Whether it is looked at in every look, and not in dark and light only. */
  inAllLooks?: boolean;
  /** Whether it belongs to the tenant whose widgets take no trades. */
  isLookOnly?: boolean;
}

export interface Place {
  stage: Stage;
  page: Page;
  frame: Frame;
}

/** A market for each scene that trades, so that the pictures of one do not depend on another. */
export const MARKETS = ["open", "confirm", "moved", "receipt", "sell", "paused", "settled", "closed"] as const;

const market = (id: string): HostOptions => ({ view: "market", marketId: `mkt_shot_${id}` });
/** A narrow ticket shows its two sides only, until one is tapped. */
async function unfold(frame: Frame): Promise<void> {
  if (!(await part(frame, "submit").isVisible())) await part(frame, "side-yes").click();
}

const later =
  "window.laterMs = 0; const passed = performance.now.bind(performance); performance.now = () => passed() + laterMs;";

export const SCENES: readonly Scene[] = [
  { name: "market-open", host: market("open"), user: "usr_1", inAllLooks: true },
  { name: "market-signed-out", host: market("open") },
  {
    name: "market-confirm",
    host: market("confirm"),
    user: "usr_1",
    inAllLooks: true,
    async act({ frame }) {
      await unfold(frame);
      await ask(frame);
    },
  },
  {
    name: "market-warning",
    host: market("confirm"),
    user: "usr_1",
    async act({ frame }) {
      await part(frame, "side-no").click();
      await part(frame, "amount").fill("300");
      await ask(frame);
    },
  },
  {
    name: "market-moved",
    host: market("moved"),
    user: "usr_1",
    async act({ frame, stage }) {
      await ask(frame);
      await buyElsewhere(stage, { marketId: "mkt_shot_moved", traderId: "usr_rival", side: "yes", dollars: 20 });
      await part(frame, "moved").waitFor();
    },
  },
  { name: "market-receipt", host: market("receipt"), user: "usr_1", act: ({ frame }) => confirmed(frame) },
  {
    name: "market-sell",
    host: market("sell"),
    user: "usr_1",
    inAllLooks: true,
    async act({ frame }) {
      await unfold(frame);
      await confirmed(frame);
      await part(frame, "again").click();
      await part(frame, "cash-out").first().click();
      await ask(frame);
    },
  },
  { name: "market-restricted", host: market("open"), user: "usr_restricted" },
  { name: "market-no-funds", host: market("open"), user: "usr_poor" },
  { name: "market-paused", host: market("paused"), user: "usr_1" },
  {
    name: "market-closed",
    host: market("closed"),
    user: "usr_1",
    scripts: [later],
    async act({ frame }) {
      await frame.evaluate("laterMs = 1_800_000");
      await frame.locator('[data-pm="state"][data-state="closed"]').waitFor();
    },
  },
  { name: "market-settled", host: market("settled"), user: "usr_1" },
  {
    name: "market-offline",
    host: market("open"),
    user: "usr_1",
    async act({ page, frame }) {
      await page.context().setOffline(true);
      await frame.locator('[data-pm="state"][data-state="offline"]').waitFor();
    },
  },
  { name: "market-look-only", host: market("open"), isLookOnly: true },
  { name: "market-table", host: market("open"), act: ({ frame }) => frame.locator("figcaption button").click() },
  { name: "market-unknown", host: market("none") },
  {
    name: "unavailable",
    host: { view: "markets" },
    async act({ page, frame }) {
      await page.route("**/embed/data/market?*", (route) => route.abort());
      await frame.locator("[data-market]").first().click();
      await part(frame, "unavailable").waitFor();
    },
  },
  { name: "lists", host: { view: "markets" }, inAllLooks: true },
  {
    name: "lists-empty",
    host: { view: "markets" },
    async act({ page, frame }) {
      const answer = page.waitForResponse((response) => response.url().includes("/embed/data/list"));
      await frame.getByRole("searchbox").fill("zzzz");
      await answer;
      await frame.locator(".grid [data-pm=card]").first().waitFor({ state: "detached" });
    },
  },
  { name: "portfolio", host: { view: "portfolio" }, user: "usr_1", inAllLooks: true },
  { name: "portfolio-signed-out", host: { view: "portfolio" } },
  { name: "card", host: { ...market("open"), view: "card" }, inAllLooks: true },
  { name: "compare", host: { view: "compare", marketIds: ["mkt_0", "mkt_1"] }, inAllLooks: true },
];

/** Pages and pictures of the tenant's own. */
export const PAGES = ["/", "/m/mkt_0", "/m/mkt_2", "/m/none"] as const;
export const PICTURES = ["/m/mkt_0/image.png", "/m/mkt_0/tile.png", "/m/mkt_2/tile.png"] as const;
