import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { ADMIN_KEY } from "../server/support/harness.ts";
import { accessibilityProblems, openBrowser, openPage } from "../support/browser.ts";
import { act, focusedTag, openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({
  console: CONSOLE,
  resolution: { holdHours: 24, approvals: 2 },
  approvals: { loosen: { approvals: 2 } },
});
const other = () => localApi(tenant.services.handlers, { actor: "admin:second" });

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  for (const id of ["mkt_own", "mkt_new"]) await openHeld(tenant, id, `Will ${id} <b>open</b>?`, "usr_1");
});

test("without a session the page is the sign-in form; a wrong key is refused in words, and the key does not stay", async () => {
  const { page, complaints, close } = await openPage(await openBrowser());
  await page.goto(`${tenant.server.opsUrl}/console/nowhere`);
  await page.getByText("To the console of acme").waitFor();
  await page.getByLabel("Admin key").fill("sk_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  expect(await page.getByRole("alert").textContent()).toMatch(/key/i);
  expect(await page.getByLabel("Admin key").inputValue()).toBe("");
  expect(await accessibilityProblems(page)).toEqual([]);
  const signIn = async () => {
    await page.getByLabel("Admin key").fill(ADMIN_KEY);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  await page.route("**/console/session", (route) =>
    route.fulfill({
      status: 429,
      headers: { "retry-after": "40", "error-code": "RATE_LIMITED" },
      json: { error: "Too many refused sign-ins" },
    }),
  );
  await signIn();
  await page.getByText("Too many refused sign-ins. Try again in 40 s.").waitFor();
  await page.unroute("**/console/session");
  await signIn();
  await page.getByRole("heading", { name: "Not found" }).waitFor();
  await expect.poll(() => focusedTag(page)).toBe("H1");
  expect(await page.title()).toMatch(/Not found$/);
  expect(await page.content()).not.toContain(ADMIN_KEY);
  expect(await page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")).toBe('[{},{},""]');
  const otherTab = await page.context().newPage();
  await otherTab.goto(page.url());
  await otherTab.getByRole("button", { name: "Sign out" }).click();
  await otherTab.getByLabel("Admin key").waitFor();
  await page.bringToFront();
  await page.getByText("Your session has ended").waitFor();
  expect(await otherTab.getByText("Your session has ended").count()).toBe(0);
  await page.reload();
  await page.getByLabel("Admin key").waitFor();
  expect(troubles(complaints).filter((each) => !each.includes("429"))).toEqual([]);
  await close();
});

test("Today shows what waits, as the inbox orders it, and a second person approves it there", async () => {
  const { page, complaints, close } = await openConsole(tenant);
  await page.getByText("Nothing waits for a person").waitFor();
  await other().settleMarket({ marketId: "mkt_own", outcome: "yes" });
  const { proposalId } = await other().getMarketProposal({ id: "mkt_own" });
  const holder = localApi(tenant.services.handlers, { actor: "user:usr_1", user: { id: "usr_1" } });
  await holder.objectToProposal({ id: "mkt_own", reason: "Not so" });
  const row = rowOf(page, proposalId);
  await row.waitFor();
  expect(await row.getAttribute("data-kind")).toBe("market.proposed");
  const { totalUsd } = await other().previewSettlement({ id: "mkt_own", outcome: "yes" });
  expect(await row.locator("data.usd").textContent()).toBe(`$${totalUsd.toFixed(2)}`);
  const question = await row.locator("td").first().boundingBox();
  expect(question?.width).toBeGreaterThan(200);
  expect(
    await page.evaluate(
      '(() => { const s = document.querySelector(".scroll"); return s.scrollWidth - s.clientWidth; })()',
    ),
  ).toBeLessThan(1);
  const notice = await act(page, row.getByRole("button", { name: "Approve" }), "Seen in the news", async (dialog) => {
    expect(await dialog.getAttribute("aria-labelledby")).not.toBeNull();
    expect(await dialog.getByText("Signed in as admin:ops").isVisible()).toBe(true);
    expect(await dialog.getByRole("button", { name: "Confirm" }).isDisabled()).toBe(true);
    expect(await dialog.locator("code").textContent()).toMatch(/^pmctl proposal approve prp_\w+ -t /);
    await dialog.getByRole("link", { name: "Will mkt_own <b>open</b>?" }).waitFor();
    for (const fact of ["Payouts", "Total", "House result", "To the treasury", "Objections"])
      await dialog.getByText(fact, { exact: true }).waitFor();
    await dialog.getByText("usr_1: Not so", { exact: true }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
  });
  expect(notice).toMatch(/^Approved: settle "\W*Will mkt_own <b>open<\/b>\?.* Entry \d+$/);
  await row.getByRole("button", { name: "Approve" }).waitFor({ state: "detached" });
  expect(await focusedTag(page)).not.toBe("BODY");
  expect(await tenant.audit("proposal.approved")).toMatchObject([{ actor: "admin:ops" }]);
  expect(await page.getByRole("status").filter({ hasText: "As of" }).locator("time").getAttribute("datetime")).toMatch(
    /Z$/,
  );
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("who approves looser limits sees each of them, and what that means for trades", async () => {
  const { policy } = await other().getConfig({});
  const wider = policy.maxTradeUsd * 2;
  const proposal = await other().updatePolicy({ maxTradeUsd: wider, feeBps: policy.feeBps });
  const { proposalId } = proposal as unknown as { proposalId: string };
  const { page, complaints, close } = await openConsole(tenant);
  const row = rowOf(page, proposalId);
  await row.waitFor();
  await act(page, row.getByRole("button", { name: "Approve" }), "A larger market maker", async (dialog) => {
    const changes = dialog.getByRole("table", { name: "Changes" }).locator("[data-id]");
    await changes.first().waitFor();
    expect(await changes.allTextContents()).toEqual([`policy.maxTradeUsd${policy.maxTradeUsd}${wider}LOOSENS`]);
    await dialog.getByText("No trade of the last 30 days would have been refused.").waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
  });
  await row.waitFor({ state: "detached" });
  expect((await other().getConfig({})).policy.maxTradeUsd).toBe(wider);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("the command of a closed market suggests no outcome, and Decide leads to the market", async () => {
  await tenant.openMarket("mkt_closed", { question: "Over?", closeAt: Date.now() + 1500 });
  await expect
    .poll(async () => (await other().getMarket({ id: "mkt_closed" })).status, { timeout: 5000 })
    .toBe("closed");
  const { page, close } = await openConsole(tenant);
  const row = rowOf(page, "mkt_closed");
  await row.getByText("pmctl market show mkt_closed -t acme").waitFor();
  const hold = {
    marketId: "mkt_closed",
    question: "Over?",
    resolutionRef: "pm:btc",
    reason: "stale",
    detail: "Too old",
  };
  await page.route("**/v1/oracle/held*", (route) =>
    route.fulfill({ json: [{ ...hold, heldAt: "2030-01-01T00:00:00.000Z" }] }),
  );
  await page.reload();
  await row.getByText("Why, and the last prices").click();
  const held = row.getByRole("region", { name: "Held for a person" });
  for (const text of ["Too old", "coinbase BTC-USD"]) await held.getByText(text, { exact: true }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await row.getByRole("link", { name: "Settle or void it" }).click();
  await page.getByRole("heading", { name: "Over?", level: 1 }).waitFor();
  await close();
});

test("Today shows an old backup, a certificate and a key that end, and leads to System", async () => {
  const { serving } = tenant.services;
  const [day, now] = [86_400_000, Date.now()];
  serving.lastBackupAt = async () => now - 8 * day;
  serving.certificates = () => [{ section: "server.tls", expiresAt: now + day }];
  await other().createKey({ name: "partner", type: "public", expiresAt: new Date(now + day).toISOString() });
  const { page, complaints, close } = await openConsole(tenant);
  const backup = page.locator('[data-kind="backup"]');
  await backup.getByText("The last backup is more than a week old").waitFor();
  const certificate = rowOf(page, "server.tls");
  expect(await certificate.getAttribute("data-kind")).toBe("certificate");
  expect(await certificate.textContent()).toContain("Urgent");
  expect(await backup.locator("code").textContent()).toBe("pmctl db backup -t acme");
  const expiring = rowOf(page, "partner").getByRole("link");
  expect(await expiring.getAttribute("href")).toBe(await certificate.getByRole("link").getAttribute("href"));
  await certificate.getByRole("link").click();
  await page.getByRole("heading", { name: "System", level: 1 }).waitFor();
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("a withdrawal is decided on Today, and its link leads to its row on Funds", async () => {
  const holder = localApi(tenant.services.handlers, { actor: "user:usr_1", user: { id: "usr_1" } });
  const { withdrawalId } = await holder.requestWithdrawal({ amount: 20 });
  const { page, complaints, close } = await openConsole(tenant);
  const row = rowOf(page, withdrawalId);
  expect(await row.getByRole("link").getAttribute("href")).toBe("/console/funds?status=pending&user=usr_1");
  await row.getByRole("button", { name: "Approve" }).waitFor();
  const notice = await act(page, row.getByRole("button", { name: "Reject" }), "No such account");
  expect(notice).toMatch(/^The withdrawal of \$20\.00 by usr_1 is rejected\. Entry \d+$/);
  await row.waitFor({ state: "detached" });
  expect(troubles(complaints)).toEqual([]);
  await close();
});
