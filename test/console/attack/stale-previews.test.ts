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
const user = () => localApi(tenant.services.handlers, { actor: "user:usr_1", user: { id: "usr_1" } });
let opened: ConsolePage;
let page: Page;
let withdrawal: string;
let proposal: string;

beforeAll(async () => {
  await tenant.deposit("usr_1", 900);
  for (const id of ["mkt_settle", "mkt_void", "mkt_correct", "mkt_halt"]) await openHeld(tenant, id, id, "usr_1");
  await second().settleMarket({ marketId: "mkt_correct", outcome: "yes" });
  withdrawal = (await user().requestWithdrawal({ amount: 20 })).withdrawalId;
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
