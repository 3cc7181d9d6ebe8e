import type { Page } from "playwright-core";
import type { Secrets } from "./big-tenant.ts";
import { keepTrading } from "./trading.ts";
import type { Walk } from "./walk.ts";

const PAGES = 20;
const STAY_MS = 6000;
/** Reports that add a year up, and value every position. */
const REPORTS = { viewMs: 6000, answerMs: 6000 };
/** They show such reports, which are read again while others trade. */
const WITH_REPORTS = ["Overview", "Risk"];
/** Work that says on the page that it is under way. */
const SLOW = { viewMs: 30_000, answerMs: 30_000 };
/** A server that has begun just now walks the whole log and recomputes the ledger first. */
const CHECKED_MS = 240_000;
const CHECKS = { viewMs: CHECKED_MS, answerMs: CHECKED_MS };
const PER_SECOND = 100;
/** A view that is refreshed asks for no more than this, all its parts together. */
const MOST_REQUESTS_PER_SECOND = 8;
const VIEWS = [
  ...["Today", "Overview", "Markets", "Risk", "Traders", "Funds"],
  ...["Oracle", "Configuration", "Record", "Webhooks", "System"],
];

/** Goes through every view, with its filters, pages and things. */
export async function walkViews(page: Page, walk: Walk): Promise<void> {
  const open = (name: string) => page.getByRole("navigation", { name: "Views" }).getByRole("link", { name }).click();
  const choose = (label: string, value: string) => page.getByRole("combobox", { name: label }).selectOption(value);
  const search = async (label: string, text: string) => {
    const reached = page.waitForURL((url) => [...url.searchParams.values()].includes(text));
    await page.getByRole("searchbox", { name: label, exact: true }).fill(text);
    await reached;
  };
  const turnPages = async (name: string) => {
    for (let count = 0; count < PAGES; count++)
      await walk.step(`${name}: next page`, () => page.getByRole("link", { name: "Next page" }).click());
    for (let count = 0; count < PAGES; count++) await walk.step(`${name}: page before`, () => page.goBack());
  };
  for (const name of VIEWS) await walk.step(name, () => open(name), name === "Overview" ? REPORTS : {});

  await walk.step("Today again", () => open("Today"));
  await walk.step("Overview", () => open("Overview"), REPORTS);
  for (const days of ["1", "7", "90", "365"])
    await walk.step(`Overview over ${days} days`, () => choose("Period", days), REPORTS);

  await walk.step("Markets", () => open("Markets"));
  await turnPages("Markets");
  for (const status of ["open", "suspended", "closed", "settled", "waiting", ""])
    await walk.step(`Markets: status ${status || "all"}`, () => choose("Status", status));
  await walk.step("Markets: search of a rare word", () => search("Search", "77777"));
  await walk.step("Markets: search of a common word", () => search("Search", "crypto"));
  await walk.step("Markets: category", () => search("Category", "sports-asia"));
  await walk.step("Markets", () => open("Markets"));
  await walk.step("A market", () => page.getByRole("table", { name: "Markets" }).getByRole("link").first().click());
  await walk.step("A market: its life", () => page.getByRole("table", { name: "Timeline" }).waitFor(), SLOW);

  await walk.step("Traders", () => open("Traders"));
  await turnPages("Traders");
  for (const state of ["verified", "restricted", "rejected", ""])
    await walk.step(`Traders: standing ${state || "all"}`, () => choose("Standing", state));
  await walk.step("Traders: search", () => search("Search", "1e372"));
  await walk.step("Traders: search in vain", () => search("Search", "nobody at all"));
  await walk.step("Traders: search of one", () => search("Search", "usr_00000000"));
  await walk.step("A trader", () => page.getByRole("table", { name: "Traders" }).getByRole("link").first().click());

  await walk.step("Funds", () => open("Funds"));
  for (const status of ["approved", "all"]) await walk.step(`Funds: ${status}`, () => choose("Withdrawals", status));
  await walk.step("Oracle", () => open("Oracle"));
  await walk.step("Record", () => open("Record"));
  await turnPages("Record");
  await walk.step("Record: type", () => choose("Type", "market.settled"));
  await walk.step("Record: rare type", () => choose("Type", "config.applied"));
  await walk.step("Record", () => open("Record"));
  await walk.step("Record: actor", () => search("Actor", "user:usr_00000000"));
  await walk.step("Record", () => open("Record"));
  await walk.step("Record: user", () => search("User", "usr_00000000"));
  await walk.step("Record", () => open("Record"));
  await walk.step("Record: search in vain", () => search("Search", "no such text"));
  await walk.step("An entry in the middle", () => goTo(page, "/record/500000"));
  await walk.step("Record", () => open("Record"));
  await walk.step("Record: Verify now", () => press(page, "Verify now", "Verification"), CHECKS);
  await walk.step("Record: Reconcile", () => press(page, "Reconcile", "Reconciliation"), CHECKS);
}

/** Goes to an address as a link of the page does. */
async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, "", ${JSON.stringify(`/console${path}`)}); dispatchEvent(new Event("popstate"))`,
  );
}

/** Presses a button of the record and waits for the verdict, which has to be good: the tenant is as a ledger wrote it. */
async function press(page: Page, button: string, section: string): Promise<void> {
  const part = page.getByRole("region", { name: section });
  await part.getByRole("button", { name: button }).click();
  await part.getByRole("status").or(part.getByRole("alert")).waitFor({ timeout: CHECKED_MS });
  if (await part.getByRole("alert").isVisible())
    throw new Error(`${button}: ${await part.getByRole("alert").textContent()}`);
}

/** Stays on each view while others trade in the market that it shows, or in others. */
export async function walkUnderTrades(
  page: Page,
  walk: Walk,
  { server, secrets }: { server: { url: string }; secrets: Secrets },
): Promise<string[]> {
  const busy: string[] = [];
  await page.getByRole("link", { name: "Markets" }).click();
  await walk.settled();
  await page.getByRole("combobox", { name: "Status" }).selectOption("open");
  await walk.settled();
  const market = await page
    .getByRole("table", { name: "Markets" })
    .locator("[data-id]")
    .first()
    .getAttribute("data-id");
  const users = Array.from(
    { length: 8 },
    (_, number) => `usr_${((number * 2_654_435_761) % 4_294_967_296).toString(16).padStart(8, "0")}`,
  );
  const trading = await keepTrading(server.url, secrets, { users, markets: [market ?? ""], perSecond: PER_SECOND });
  const stay = async (name: string) => {
    const options = WITH_REPORTS.includes(name) ? REPORTS : {};
    const perSecond = await walk.stay(`${name}, while others trade`, STAY_MS, options);
    if (perSecond > MOST_REQUESTS_PER_SECOND) busy.push(`${name}: ${perSecond.toFixed(1)} requests a second`);
  };
  for (const name of VIEWS) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name }).click();
    await walk.settled();
    await stay(name);
  }
  await goTo(page, `/markets/${market}`);
  await walk.settled();
  await stay("A market");
  const { traded, refused } = await trading.stop();
  console.log(`${traded} trades beside, ${refused} refused`);
  return refused > 0 ? [...busy, `${refused} of the trades beside were refused`] : busy;
}
