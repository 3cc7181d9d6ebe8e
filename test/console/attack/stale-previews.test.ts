import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import type { Api } from "../../../src/contract/operations.ts";
import { openHeld } from "../../embed/support/ends.ts";
import { CONSOLE, ConsoleClient } from "../../server/support/console.ts";
import { tenantOfTests } from "../../server/support/during-tests.ts";
import { type ConsolePage, openConsole, rowOf } from "../support/console-page.ts";
import { written } from "./support/written.ts";

const tenant = tenantOfTests({
  console: CONSOLE,
  resolution: { correctionHours: 24 },
  approvals: { credit: { aboveUsd: 100, approvals: 2 } },
});
const second = (): Api => localApi(tenant.services.handlers, { actor: "admin:second" });
const user = (id = "usr_1") => localApi(tenant.services.handlers, { actor: `user:${id}`, user: { id } });
let opened: ConsolePage;
let page: Page;
let withdrawal: string;
let other: string;
let proposal: string;

beforeAll(async () => {
  await tenant.deposit("usr_1", 900);
  for (const id of ["mkt_settle", "mkt_void", "mkt_correct", "mkt_halt"]) await openHeld(tenant, id, id, "usr_1");
  await tenant.deposit("usr_2", 20);
  await openHeld(tenant, "mkt_owed", "mkt_owed", "usr_2");
  for (const marketId of ["mkt_correct", "mkt_owed"]) await second().settleMarket({ marketId, outcome: "yes" });
  withdrawal = (await user().requestWithdrawal({ amount: 20 })).withdrawalId;
  await tenant.deposit("usr_3", 5);
  other = (await user("usr_3").requestWithdrawal({ amount: 5 })).withdrawalId;
  const proposed = await second().creditWallet({ id: "usr_1", amount: 200, reason: "large" });
  proposal = (proposed as unknown as { proposalId: string }).proposalId;
  opened = await openConsole(tenant);
  ({ page } = opened);
});
afterAll(() => opened?.close());

const choose = (name: string) => (dialog: Locator) => dialog.getByRole("radio", { name, exact: true }).check();
const rebuy = (marketId: string) => async () => {
  await user().placeTrade({ marketId, selection: { side: "yes" }, amount: 5 });
};

interface Meanwhile {
  path: string;
  button(): Locator;
  choose?(dialog: Locator): Promise<void>;
  /** What the other person does meanwhile. */
  change(): Promise<unknown>;
  refusal: RegExp;
}

const ACTIONS: Readonly<Record<string, () => Meanwhile>> = {
  settle: () => ({
    path: "/markets/mkt_settle",
    button: () => page.getByRole("button", { name: "Settle", exact: true }),
    choose: choose("Yes"),
    change: rebuy("mkt_settle"),
    refusal: /expected/,
  }),
  void: () => ({
    path: "/markets/mkt_void",
    button: () => page.getByRole("button", { name: "Void", exact: true }),
    change: rebuy("mkt_void"),
    refusal: /expected/,
  }),
  correct: () => ({
    path: "/markets/mkt_correct",
    button: () => page.getByRole("button", { name: "Correct", exact: true }),
    choose: choose("No"),
    change: () => second().correctMarket({ id: "mkt_correct", outcome: "void", reason: "The other person's" }),
    refusal: /expected/,
  }),
  "correct what a user can no longer give back": () => ({
    path: "/markets/mkt_owed",
    button: () => page.getByRole("button", { name: "Correct", exact: true }),
    choose: choose("No"),
    change: () => user("usr_2").requestWithdrawal({ amount: 15 }),
    refusal: /Users would owe/,
  }),
  suspend: () => ({
    path: "/markets/mkt_halt",
    button: () => page.getByRole("button", { name: "Suspend", exact: true }),
    change: () => second().settleMarket({ marketId: "mkt_halt", outcome: "no" }),
    refusal: /settled/,
  }),
  "approve a withdrawal": () => ({
    path: "/funds",
    button: () => rowOf(page, withdrawal).getByRole("button", { name: "Approve" }),
    change: () => second().rejectWithdrawal({ id: withdrawal }),
    refusal: /rejected|pending/,
  }),
  "approve a withdrawal of a user who is restricted meanwhile": () => ({
    path: "/funds",
    button: () => rowOf(page, other).getByRole("button", { name: "Approve" }),
    change: () => second().restrictUser({ id: "usr_3" }),
    refusal: /is restricted, which was not expected/,
  }),
  "approve a proposal": () => ({
    path: "/",
    button: () => rowOf(page, proposal).getByRole("button", { name: "Approve" }),
    change: () => second().rejectProposal({ id: proposal, reason: "The other person's" }),
    refusal: /rejected|pending|decided/,
  }),
};

test.each(Object.entries(ACTIONS))("to %s: what another person does meanwhile is not acted over", async (_, action) => {
  const { path, button, choose: fill, change, refusal } = action();
  await page.goto(`${tenant.server.opsUrl}/console${path}`);
  await button().click();
  const dialog = page.getByRole("dialog");
  await fill?.(dialog);
  await dialog.getByRole("textbox", { name: "Reason" }).fill("Shown to me");
  const confirm = dialog.getByRole("button", { name: "Confirm" });
  await expect.poll(() => confirm.isEnabled()).toBe(true);
  // The other person is faster: the change is made while this one is on its way.
  let before: unknown;
  await page.route("**/console/api/**", async (route) => {
    if (route.request().method() === "GET") return route.fallback();
    await change();
    before = await written(tenant);
    await route.continue();
  });
  await confirm.click();
  await dialog.getByRole("alert").filter({ hasText: refusal }).waitFor();
  await page.unrouteAll();
  expect(await written(tenant)).toEqual(before);
});

/** Opens a dialog and gives the reason. @returns the dialog, ready to be confirmed */
async function openDialog(path: string, button: () => Locator, fill?: (dialog: Locator) => Promise<void>) {
  await page.goto(`${tenant.server.opsUrl}/console${path}`);
  await button().click();
  const dialog = page.getByRole("dialog");
  await fill?.(dialog);
  await dialog.getByRole("textbox", { name: "Reason" }).fill("Typed by me");
  await expect.poll(() => dialog.getByRole("button", { name: "Confirm" }).isEnabled()).toBe(true);
  return dialog;
}

test("an open dialog shows new figures and says so, and who settled the market meanwhile", async () => {
  await openHeld(tenant, "mkt_live", "mkt_live", "usr_1");
  const settle = (): Locator => page.getByRole("button", { name: "Settle", exact: true });
  const dialog = await openDialog("/markets/mkt_live", settle, choose("Yes"));
  const figures = dialog.locator(".explained");
  const before = await figures.textContent();
  await rebuy("mkt_live")();
  await dialog.getByRole("status").filter({ hasText: "The figures changed" }).waitFor({ timeout: 3000 });
  expect(await figures.textContent()).not.toBe(before);
  await expect.poll(() => dialog.getByRole("button", { name: "Confirm" }).isEnabled()).toBe(true);
  await second().settleMarket({ marketId: "mkt_live", outcome: "no" });
  await dialog.getByRole("status").filter({ hasText: "The market is settled. Last changed by admin:second" }).waitFor();
  expect(await dialog.getByText("still open").count()).toBe(0);
  expect(await dialog.getByRole("button", { name: "Confirm" }).isDisabled()).toBe(true);
  expect(await dialog.getByRole("textbox", { name: "Reason" }).inputValue()).toBe("Typed by me");
});

test("a dialog outlives its row, and says who decided", async () => {
  const { withdrawalId } = await user().requestWithdrawal({ amount: 10 });
  const approve = (): Locator => rowOf(page, withdrawalId).getByRole("button", { name: "Approve" });
  const dialog = await openDialog("/funds", approve);
  await second().rejectWithdrawal({ id: withdrawalId });
  await dialog.getByRole("status").filter({ hasText: "decided. Last changed by admin:second" }).waitFor();
  expect(await dialog.getByRole("button", { name: "Confirm" }).isDisabled()).toBe(true);
  expect(await dialog.getByRole("textbox", { name: "Reason" }).inputValue()).toBe("Typed by me");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(await page.evaluate<string>("document.activeElement?.tagName ?? ''")).toBe("H1");
});

test("a credit whose answer was lost keeps what it showed, and is made once", async () => {
  const credit = (): Locator => page.getByRole("button", { name: "Credit" });
  const dialog = await openDialog("/traders/usr_1", credit, (each) => each.getByLabel("Amount in USD").fill("7"));
  const credits = async (): Promise<number> => (await tenant.audit("wallet.credited")).length;
  const before = await credits();
  await page.route("**/v1/users/usr_1/credit", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.getByRole("alert").filter({ hasText: "may have been made" }).waitFor();
  await page.unrouteAll();
  // The page behind shows the new balance: the dialog's own reading has had it, too.
  await page.waitForResponse((answer) => answer.url().endsWith("/v1/users/usr_1") && answer.ok());
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await credits()).toBe(before + 1);
});

test("to change the policy: a tag that is not the live one's, and a version that was applied over, change nothing", async () => {
  const client = new ConsoleClient(tenant.server.opsUrl);
  await client.signIn();
  const tag = (await client.get("/console/api/v1/policy")).headers.get("etag");
  await second().updatePolicy({ feeBps: 77 });
  const before = await written(tenant);
  const answer = await client.send("PUT", "/console/api/v1/policy", {
    body: { feeBps: 66 },
    headers: { "if-match": tag },
  });
  expect([answer.status, answer.headers.get("error-code")]).toEqual([400, "PRECONDITION_FAILED"]);
  expect(await written(tenant)).toEqual(before);
});
