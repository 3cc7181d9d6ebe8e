import { readFile } from "node:fs/promises";
import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import type { PaymentFact } from "../../src/engine/payments.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { serveTenant } from "../server/support/tenant.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { act, focusedTag, openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:second" });
const user = (id: string) => localApi(tenant.services.handlers, { actor: `user:${id}`, user: { id } });
const HOSTILE = '=cmd|"<img src=x onerror=alert(1)>"';

const asked: string[] = [];
beforeAll(async () => {
  const deposit = { type: "recordDeposit", provider: "payments", amountMicro: 500_000_000n } as const;
  for (const [index, traderId] of ["usr_ann", HOSTILE].entries())
    await tenant.services.sequencer.submit({
      command: { ...deposit, traderId, reference: `${HOSTILE} ${index}` },
      actor: "provider:test",
    });
  for (const [id, amount] of [
    ["usr_ann", 20],
    ["usr_ann", 30],
    [HOSTILE, 40.5],
  ] as const)
    asked.push((await user(id).requestWithdrawal({ amount })).withdrawalId);
  await operator().debitWallet({ id: "usr_ann", amount: 3, reason: "credited twice" });
});

const present = (page: Awaited<ReturnType<typeof openConsole>>["page"]) =>
  page
    .getByRole("table", { name: "Withdrawals" })
    .locator("[data-id]")
    .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));

test("pending withdrawals are approved and rejected in their rows, with the audit entries", async () => {
  const [first = "", second = "", third = ""] = asked;
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/funds?status=pending" });
  await rowOf(page, third).waitFor();
  expect(await title()).toBe("Funds");
  expect(await present(page)).toEqual([third, second, first]);
  expect(await rowOf(page, first).getByRole("link", { name: "usr_ann" }).getAttribute("href")).toBe(
    "/console/traders/usr_ann",
  );
  const approve = rowOf(page, first).getByRole("button", { name: "Approve" });
  await localApi(tenant.services.handlers, { actor: "admin:second", reason: "Stolen card" }).restrictUser({
    id: "usr_ann",
  });
  const notice = await act(page, approve, "The bank account is known", async (dialog) => {
    const caution = dialog.locator(".warn");
    expect(await caution.textContent()).toMatch(/^\W*usr_ann\W* is restricted since .*: \W*Stolen card\W*$/);
    expect(await caution.locator("time").getAttribute("datetime")).toMatch(/Z$/);
    expect(await dialog.getByRole("heading").textContent()).toBe("Approve: $20.00 of usr_ann");
    await dialog.getByText("leave the ledger for good").waitFor();
    await dialog.getByText("$447.00").waitFor();
    expect(await dialog.locator("code").textContent()).toBe(`pmctl funding approve ${first} -t acme`);
    expect(await accessibilityProblems(page)).toEqual([]);
  });
  expect(notice).toMatch(/^The withdrawal of \$20\.00 by usr_ann is approved\. Entry \d+$/);
  await expect.poll(() => present(page)).toEqual([third, second]);
  expect(await focusedTag(page)).toBe("SECTION");
  expect(await act(page, rowOf(page, third).getByRole("button", { name: "Reject" }), "No such account")).toMatch(
    /is rejected\. Entry \d+$/,
  );
  expect(await tenant.audit("withdrawal.approved", "withdrawal.rejected")).toMatchObject([
    { type: "withdrawal.approved", actor: "admin:ops", payload: { withdrawalId: first } },
    { type: "withdrawal.rejected", actor: "admin:ops", payload: { withdrawalId: third } },
  ]);
  await operator().rejectWithdrawal({ id: second });
  await page.getByText("No withdrawal waits for a decision").waitFor({ timeout: 3000 });
  await expect.poll(() => focusedTag(page)).toBe("H1");
  await page.getByLabel("Withdrawals").selectOption("all");
  await expect.poll(() => present(page)).toEqual([third, second, first]);
  expect(new URL(page.url()).search).toBe("?status=all");
  await page.reload();
  await expect.poll(() => present(page)).toEqual([third, second, first]);
  expect(await page.locator("code").last().textContent()).toBe("pmctl funding list -t acme");
  expect(await page.locator("main img").count()).toBe(0);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("rows keep their places while the pointer or the focus is at them; what is gone says so, and goes when they leave", async () => {
  const calm = await serveTenant({ console: CONSOLE });
  await calm.deposit("usr_cat", 100);
  const cat = localApi(calm.services.handlers, { actor: "user:usr_cat", user: { id: "usr_cat" } });
  const second = localApi(calm.services.handlers, { actor: "admin:second" });
  const ask = async () => (await cat.requestWithdrawal({ amount: 10 })).withdrawalId;
  const [older, newer] = [await ask(), await ask()];
  const { page, complaints, close } = await openConsole(calm, { path: "/funds" });
  const approve = (id: string) => rowOf(page, id).getByRole("button", { name: "Approve" });
  await approve(newer).hover();
  const third = await ask();
  await expect.poll(() => present(page), { timeout: 3000 }).toEqual([newer, older, third]);
  await second.rejectWithdrawal({ id: newer });
  await expect.poll(() => rowOf(page, newer).getAttribute("data-stale"), { timeout: 3000 }).toBe("true");
  expect(await approve(newer).isDisabled()).toBe(true);
  expect(await present(page)).toEqual([newer, older, third]);
  await approve(older).focus();
  await page.getByRole("heading", { level: 1 }).hover();
  await second.rejectWithdrawal({ id: older });
  await expect.poll(() => rowOf(page, older).getAttribute("data-stale"), { timeout: 3000 }).toBe("true");
  expect(await approve(older).evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true);
  await page.getByRole("link", { name: "Funds" }).focus();
  await expect.poll(() => present(page)).toEqual([third]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("deposits, debits and the sums by provider are those of the API; a file is made whose cells no spreadsheet runs", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/funds" });
  const deposits = page.getByRole("region", { name: "Deposits", exact: true });
  await deposits.getByRole("table").waitFor();
  const { entries } = await operator().listAudit({ type: "wallet.credited" });
  expect(
    await deposits.locator("[data-id]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id"))),
  ).toEqual(entries.map(({ seq }) => String(seq)));
  const [debit] = (await operator().listAudit({ type: "wallet.debited" })).entries;
  expect(await rowOf(page, String(debit?.seq)).textContent()).toContain("credited twice");
  const { byProvider } = await operator().getFundingReport({});
  for (const { provider } of byProvider) await rowOf(page, provider).waitFor();
  await page.getByText("No trader owes anything").waitFor();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    deposits.getByRole("button", { name: "Download CSV" }).click(),
  ]);
  expect(file.suggestedFilename()).toBe("acme-deposits.csv");
  const lines = (await readFile(await file.path(), "utf8")).split("\r\n");
  expect(lines[0]).toBe("seq,ts,type,actor,userId,amount,receivable,provider,txRef,cause,problem,reason");
  expect(lines).toHaveLength(entries.length + 2);
  expect(lines[1]).toContain(`,"'${HOSTILE.replaceAll('"', '""')}",500,`);
  await deposits.getByText("2 rows, all of them.").waitFor();
  const pay = (fact: PaymentFact, ownerId?: string) =>
    tenant.services.sequencer.submit({
      command: { type: "recordPayment", provider: "stripe", reference: "pi_owed", ownerId, fact },
      actor: "provider:stripe",
    });
  await pay({ kind: "paid", traderId: "usr_debtor", amountMicro: 50_000_000n, received: true });
  await user("usr_debtor").requestWithdrawal({ amount: 40 });
  await pay({ kind: "refund", refunds: [{ id: "re_1", amountMicro: 50_000_000n, failed: false }] }, "usr_debtor");
  const debtors = page.getByRole("table", { name: "Receivables" });
  await debtors.locator('[data-id="usr_debtor"]').getByText("$40.00").waitFor({ timeout: 5000 });
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("where another person must agree, an approval proposes, and the row decides the proposal", async () => {
  const rule = { aboveUsd: 10, approvals: 2 };
  const governed = await serveTenant({ console: CONSOLE, approvals: { withdraw: rule, credit: rule } });
  await governed.deposit("usr_cat", 100);
  const cat = localApi(governed.services.handlers, { actor: "user:usr_cat", user: { id: "usr_cat" } });
  const { withdrawalId } = await cat.requestWithdrawal({ amount: 60 });
  const { page, close } = await openConsole(governed, { path: "/funds" });
  const row = rowOf(page, withdrawalId);
  const waits = /^This becomes a proposal, which waits for 2 approvals, yours among them: nothing is /;
  expect(
    await act(page, row.getByRole("button", { name: "Approve" }), "Known account", (dialog) =>
      dialog.getByText(waits).waitFor(),
    ),
  ).toMatch(/^Proposed as prp_\w+: another person must approve the withdrawal\. See what waits\. Entry \d+$/);
  await row.getByText("pending, a proposal waits: 1 of 2 approvals").waitFor();
  // An approver is another actor.
  const own = row.getByRole("button", { name: "Approve" });
  await expect.poll(() => own.getAttribute("aria-disabled")).toBe("true");
  expect(await own.getAttribute("title")).toBe("You agree already. An approver is another actor.");
  const [proposal] = (await localApi(governed.services.handlers, { actor: "admin:second" }).listProposals({})).items;
  await expect
    .poll(async () => {
      await row.getByRole("button", { name: "Reject" }).click();
      const shown = await page.getByRole("dialog").getByRole("heading").textContent();
      await page.keyboard.press("Escape");
      return shown;
    })
    .toBe("Reject: withdraw $60 of usr_cat");
  await localApi(governed.services.handlers, { actor: "admin:second" }).approveProposal({
    id: proposal?.proposalId ?? "",
  });
  await page.locator(`[data-id="${withdrawalId}"][data-stale]`).waitFor();
  await page.getByRole("heading", { level: 1 }).hover();
  await page.getByRole("link", { name: "Funds" }).focus();
  await page.getByText("No withdrawal waits for a decision").waitFor();
  await localApi(governed.services.handlers, { actor: "admin:second" }).creditWallet({
    ...{ id: "usr_cat", amount: 15, reason: "Prize" },
  });
  await page.getByRole("link", { name: "Today" }).click();
  const credit = page.locator('[data-kind="proposal"]');
  await credit.getByText("$15.00").waitFor();
  expect(await credit.getByRole("link").getAttribute("href")).toBe("/console/traders/usr_cat");
  await credit.getByRole("button", { name: "Approve" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("link", { name: "usr_cat" }).waitFor();
  // The balance before.
  await dialog.getByText("$40.00").waitFor();
  await page.keyboard.press("Escape");
  await page.goto(`${governed.server.opsUrl}/console/traders/usr_cat`);
  await page.getByRole("button", { name: "Credit" }).click();
  const amount = dialog.getByLabel("Amount in USD");
  await amount.fill("20");
  await dialog.getByText(waits).waitFor();
  await amount.fill("5");
  await dialog.getByText("$45.00").waitFor();
  expect(await dialog.getByText(waits).count()).toBe(0);
  await close();
  await governed.close();
});
