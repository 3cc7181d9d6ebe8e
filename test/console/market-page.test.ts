import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { recordTicks } from "../../src/ledger/unchained/oracle-ticks.ts";
import { HOSTILE_REASON, openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { AUDIT_SECRET } from "../server/support/harness.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { act, actBefore, openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE, resolution: { correctionHours: 24 } });
const two = tenantOfTests({ console: CONSOLE, resolution: { approvals: 2 } });
const other = () => localApi(tenant.services.handlers, { actor: "admin:second" });
const HOSTILE = "Will <img src=x onerror=alert(1)> open?";

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  await two.openMarket("mkt_two", { question: "Will two agree?" });
  for (const id of ["mkt_seen", "mkt_settled", "mkt_void"]) await openHeld(tenant, id, `${HOSTILE} ${id}`, "usr_1");
});

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const timeline = (page: Page) => page.getByRole("table", { name: "Timeline" });

test("a market's page has its prices with trades, depth, positions, liability by outcome and its life, and keeps them current", async () => {
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/markets/mkt_seen" });
  await page.locator(".uplot canvas").nth(1).waitFor();
  expect(await title()).toBe(`${HOSTILE} mkt_seen`);
  await page.getByRole("img", { name: /^Price of Yes\. Yes: last [\d.]+%.*; Trades: / }).waitFor();
  await page.getByText("Price of Yes as a table").click();
  const { yesPrice } = await other().getMarket({ id: "mkt_seen" });
  const prices = page.getByRole("table", { name: "Price of Yes" });
  expect(await prices.locator("tbody tr").first().textContent()).toContain(`${Math.round(yesPrice * 1000) / 10}%`);
  const preview = await other().previewSettlement({ id: "mkt_seen", outcome: "yes" });
  expect(await rowOf(page, "Yes").textContent()).toContain(`$${preview.totalUsd.toFixed(2)}`);
  const { totalUsd, houseResultUsd, fromFeesUsd } = await other().previewSettlement({
    id: "mkt_seen",
    outcome: "void",
  });
  expect((await rowOf(page, "Void").locator("td").allTextContents()).slice(0, 4)).toEqual([
    ...["Void", "1", `$${totalUsd.toFixed(2)}`, `-$${(fromFeesUsd - houseResultUsd).toFixed(2)}`],
  ]);
  const { yes, no } = await other().getMarketDepth({ id: "mkt_seen" });
  await page.getByText("Depth: shares up to a price as a table").click();
  const depth = page.getByRole("table", { name: "Depth: shares up to a price" });
  await depth.waitFor();
  expect(await depth.locator("tbody tr").count()).toBe(new Set([...yes, ...no].map(({ price }) => price)).size);
  const [holder] = (await other().listMarketPositions({ id: "mkt_seen" })).items;
  const cells = await rowOf(page, "usr_1").locator("td").allTextContents();
  expect(cells.slice(0, 5)).toEqual([
    "usr_1",
    String(Math.round((holder?.yesShares ?? 0) * 100) / 100),
    "$10.00",
    "0",
    "$0.00",
  ]);
  expect(await rowOf(page, "usr_1").getByRole("link").getAttribute("href")).toBe("/console/traders/usr_1");
  expect(await accessibilityProblems(page)).toEqual([]);

  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await other().clarifyMarket({ id: "mkt_seen", text: HOSTILE_REASON.replaceAll("\u202e", "") });
  const row = timeline(page).locator("[data-kind='market.clarified']");
  await row.waitFor({ timeout: 5000 });
  expect(await row.textContent()).toContain("admin:second clarified the market: ");
  expect(await row.getByRole("link").getAttribute("href")).toBe(`/console/record/${await row.getAttribute("data-id")}`);
  expect(await timeline(page).locator("tbody tr").count()).toBe(3);
  await page.getByLabel("Trades too").uncheck();
  expect(await timeline(page).locator("tbody tr").count()).toBe(2);
  expect(await page.locator("main img").count()).toBe(0);
  // What a void gives back of fees is in every trade of the holders: only its dialog asks for it.
  await expect.poll(() => asked.filter((url) => url.includes("/settlement?outcome=yes")).length).toBeGreaterThan(0);
  expect(asked.filter((url) => url.includes("void"))).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("a market is suspended, resumed and clarified on its page, each on record with the reason", async () => {
  const { page, close } = await openConsole(tenant, { path: "/markets/mkt_seen" });
  const tags: unknown[] = [];
  page.on("request", (request) => request.method() === "POST" && tags.push(request.headers()["if-match"]));
  expect(await act(page, button(page, "Suspend"), "A rumour")).toMatch(/^Suspended: .*\. Entry \d+$/);
  // Only policy and configuration are bound by a tag.
  expect(tags).toEqual([undefined]);
  expect(await tenant.audit("market.suspended")).toMatchObject([
    { actor: "admin:ops", payload: { reason: "A rumour" } },
  ]);
  await expect.poll(() => button(page, "Suspend").isDisabled()).toBe(true);
  expect(await button(page, "Suspend").getAttribute("title")).toBe("The market is suspended.");
  expect(await act(page, button(page, "Resume"), "It was false")).toMatch(/^Resumed: /);
  const notice = await act(page, button(page, "Clarify"), "Users asked", async (dialog) => {
    await dialog.getByRole("textbox", { name: "What the rules mean" }).fill("Dew is no rain.");
    expect(await dialog.locator("code").textContent()).toMatch(
      /^pmctl market clarify mkt_seen --text 'Dew is no rain.'/,
    );
  });
  expect(notice).toMatch(/^Clarified: /);
  await page.getByRole("listitem").filter({ hasText: "Dew is no rain." }).waitFor();
  await close();
});

test("settling shows what it pays and is bound to it: a trade in between changes nothing, and the new figures are asked again", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/markets/mkt_settled" });
  const before = await other().previewSettlement({ id: "mkt_settled", outcome: "yes" });
  await button(page, "Settle").click();
  const dialog = page.getByRole("dialog", { name: `Settle: ${HOSTILE} mkt_settled` });
  await dialog.getByRole("radio", { name: "Yes", exact: true }).check();
  await dialog
    .getByText(`$${before.totalUsd.toFixed(2)}`)
    .first()
    .waitFor();
  expect(await dialog.locator("dt").allTextContents()).toEqual(
    expect.arrayContaining(["Payouts", "Total", "House result"]),
  );
  await dialog.getByLabel("Evidence").fill("page 3");
  expect(await dialog.locator("code").textContent()).toContain(
    `--outcome yes --early --expect-payouts 1 --expect-total ${before.totalUsd} --evidence 'page 3'`,
  );
  expect(await accessibilityProblems(page)).toEqual([]);
  await dialog.getByRole("textbox", { name: "Reason" }).fill("It opened");
  const order = { marketId: "mkt_settled", traderId: "usr_1", side: "yes", amountMicro: 5_000_000n } as const;
  await actBefore(page, "**/v1/settle", "POST", () =>
    tenant.services.sequencer.submit({
      command: { type: "placeTrade", id: "trd_between", ...order, claimedJurisdiction: undefined },
      actor: "user:usr_1",
    }),
  );
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.getByRole("alert").waitFor();
  expect(await tenant.audit("market.settled")).toEqual([]);
  const after = await other().previewSettlement({ id: "mkt_settled", outcome: "yes" });
  await dialog
    .getByText(`$${after.totalUsd.toFixed(2)}`)
    .first()
    .waitFor();
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await page.locator("main > [role=status]").textContent()).toMatch(
    /^Settled as Yes: .* 1 position paid\. Entry/,
  );
  expect(await tenant.audit("market.settled")).toMatchObject([
    { payload: { outcome: "yes", evidence: "page 3", reason: "It opened" } },
  ]);
  await expect.poll(() => button(page, "Settle").isDisabled()).toBe(true);
  const decision = page.getByRole("region", { name: "Decision" }).locator("p").first();
  await decision.getByText(/^admin:ops settled the market as Yes: .*: "It opened", evidence "page 3"$/).waitFor();
  expect(await decision.textContent()).toMatch(/Entry \d+$/);

  const notice = await act(page, button(page, "Correct"), "Half of it opened", async (correcting) => {
    await correcting.getByRole("radio", { name: "A fraction" }).check();
    expect(await correcting.locator("code").textContent()).not.toContain("--outcome");
    const share = correcting.getByLabel("What a Yes share is paid");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(...(/correction\?outcome=(.*)$/.exec(request.url())?.slice(1) ?? [])));
    await share.evaluate((input: EventTarget & { value: string }) => {
      for (const text of ["0", "0.2", "0.25"]) {
        input.value = text;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      }
    });
    await correcting.getByText("Taken back").waitFor();
    expect(asked.map(decodeURIComponent)).toEqual(["yes=0.25"]);
    // No figure stands beside another text than its own, and none can be confirmed.
    await correcting.getByRole("textbox", { name: "Reason" }).fill("Half of it opened");
    const confirm = correcting.getByRole("button", { name: "Confirm" });
    await expect.poll(() => confirm.isEnabled()).toBe(true);
    const held = Promise.withResolvers<void>();
    await page.route("**/correction?outcome=yes%3D0.5", (route) => held.promise.then(() => route.continue()));
    await share.fill("0.5");
    await expect.poll(() => confirm.isEnabled()).toBe(false);
    expect(await correcting.getByText("Taken back").count()).toBe(0);
    held.resolve();
    await correcting.getByText("Taken back").waitFor();
  });
  expect(notice).toMatch(/^Corrected from Yes to Yes at 0.5: .* 1 user concerned\./);
  expect(await tenant.audit("market.corrected")).toMatchObject([{ payload: { outcome: { yes: "0.5" } } }]);
  expect(troubles(complaints).filter((each) => !each.includes("status of 400"))).toEqual([]);
  await close();
});

test("voiding shows what goes back and states the most that the treasury adds; an unknown market is told", async () => {
  const { page, close } = await openConsole(tenant, { path: "/markets/mkt_void" });
  const { totalUsd } = await other().previewSettlement({ id: "mkt_void", outcome: "void" });
  const notice = await act(page, button(page, "Void"), "It was never built", async (dialog) => {
    await dialog
      .getByText(`$${totalUsd.toFixed(2)}`)
      .first()
      .waitFor();
    expect(await dialog.locator("code").textContent()).toContain("--max-treasury 0");
    expect(await dialog.locator("dt").allTextContents()).toEqual(
      expect.arrayContaining(["House result with the fees given back", "From the escrow", "From the fees"]),
    );
  });
  expect(notice).toMatch(/^Voided: .* 1 position got back \$10\.00\./);
  expect(await tenant.audit("market.voided")).toMatchObject([{ payload: { reason: "It was never built" } }]);
  await act(page, button(page, "Correct"), "It was built", async (dialog) => {
    await dialog.getByRole("radio", { name: "Yes", exact: true }).check();
    await dialog.getByText("Back to the fees").waitFor();
  });
  await page.goto(`${tenant.server.opsUrl}/console/markets/mkt_none`);
  await page
    .getByRole("alert")
    .filter({ hasText: /not found/i })
    .waitFor();
  await close();
});

test("what the tenant lets two people decide becomes a proposal, which the second one approves on the market's page", async () => {
  const { page, close } = await openConsole(two, { path: "/markets/mkt_two" });
  const notice = await act(page, button(page, "Settle"), "It opened", async (dialog) => {
    await dialog.getByRole("radio", { name: "No", exact: true }).check();
    await dialog
      .getByText("waits for 2 approvals, yours among them: nothing is paid until then, and the market is suspended")
      .waitFor();
  });
  // The question ends the sentence.
  expect(notice).toMatch(/^Proposed: Will two agree\? It waits/);
  const second = localApi(two.services.handlers, { actor: "admin:second" });
  const [created] = (await second.listAudit({ type: "proposal.created" })).entries;
  expect(notice).toMatch(new RegExp(`Entry ${created?.seq}$`));
  const waits = page.getByRole("region", { name: "Pending proposal" });
  await waits.getByText("1 of 2: admin:ops").waitFor({ timeout: 5000 });
  await waits.getByText('It would settle "Will two agree?" as no.').waitFor();
  for (const fact of ["Payouts", "Total", "House result, less fees given back", "Earliest effect"])
    await waits.getByText(fact, { exact: true }).waitFor();
  await waits.getByText("Each button first shows every sum that would move").waitFor();
  const { proposalId } = await second.getMarketProposal({ id: "mkt_two" });
  await second.rejectProposal({ id: proposalId, reason: "Not yet" });
  await page.getByRole("region", { name: "Pending proposal" }).waitFor({ state: "detached", timeout: 5000 });
  await second.settleMarket({ marketId: "mkt_two", outcome: "yes" });
  const region = page.getByRole("region", { name: "Pending proposal" });
  expect(await act(page, region.getByRole("button", { name: "Approve" }), "Seen")).toMatch(/^Approved: .* Entry \d+$/);
  expect(await two.audit("market.settled")).toMatchObject([{ payload: { outcome: "yes" } }]);
  await close();
});

test("a market that the oracle left to a person says so, why, and what its sources said last, as the dialog does", async () => {
  const observedAt = Date.now() - 7_500_000;
  const tick = { source: "coinbase", symbol: "BTC-USD", observedAt, price: "100002.5", conf: null };
  await tenant.services.pool.write((sql) =>
    recordTicks(sql, [{ ...tick, receivedAt: observedAt, confirmedAt: observedAt }], auditKey(AUDIT_SECRET)),
  );
  const { page, close } = await openConsole(tenant, { path: "/record" });
  const hold = { marketId: "mkt_seen", question: HOSTILE, resolutionRef: "pm:btc", reason: "stale" };
  await page.route("**/v1/oracle/held?*", (route) =>
    route.fulfill({ json: [{ ...hold, detail: `No price: ${HOSTILE}`, heldAt: "2030-01-01T00:00:00.000Z" }] }),
  );
  await page.goto(`${tenant.server.opsUrl}/console/markets/mkt_seen`);
  const held = page.getByRole("region", { name: "Held for a person" });
  for (const text of ["stale", `No price: ${HOSTILE}`, "pm:btc"]) await held.getByText(text, { exact: true }).waitFor();
  await button(page, "Settle").click();
  for (const place of [held.first(), page.getByRole("dialog")]) {
    await place.getByText("coinbase BTC-USD", { exact: true }).waitFor();
    await place.getByText(/^100,002\.5, .*, 2 h old$/).waitFor();
    await place.getByText("no price is stored").first().waitFor();
  }
  await close();
});
