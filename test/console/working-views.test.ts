import { beforeAll, expect, test } from "vitest";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { ADMIN_KEY, PUBLIC_KEY } from "../server/support/harness.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { act, openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  await openHeld(tenant, "mkt_1", "Will mkt_1 <b>open</b>?", "usr_1");
  const { sql } = tenant.backend;
  await sql`insert into webhook_receiver (name, fingerprint, position, disabled_at) values ('crm', 'x', 1, 1000)`;
  await sql`
    insert into webhook_delivery
      (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at, last_attempt_at, last_status, last_excerpt)
    values ('crm', 'evt_1_00', 1, 'order.filled', 'dead', 12, 1000, 0, 2000, 500, '<img src=x onerror=alert(1)>')`;
});

test("Webhooks shows receivers and deliveries, sends again and enables, each on record", async () => {
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/webhooks?status=dead" });
  const row = rowOf(page, "evt_1_00.crm");
  await row.waitFor();
  expect(await title()).toBe("Webhooks");
  expect(await row.textContent()).toContain("<img src=x onerror=alert(1)>");
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(await act(page, row.getByRole("button", { name: "Replay" }), "The receiver is back")).toContain(
    "Sent again: 1 delivery.",
  );
  await row.waitFor({ state: "detached" });
  await page.getByText("No delivery is like this").waitFor();
  expect(await act(page, rowOf(page, "crm").getByRole("button", { name: "Enable" }), "It is back")).toContain(
    "crm gets events again.",
  );
  await expect.poll(() => rowOf(page, "crm").getByRole("button", { name: "Enable" }).isDisabled()).toBe(true);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("Oracle says what comes next; its feeds have their sources, and a sweep can be asked for", async () => {
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/oracle" });
  await page.getByText("41 built-in feeds that no open market names").click();
  await page.getByRole("table", { name: "Built-in feeds" }).locator('[data-id="pm:btc"]').waitFor();
  expect(await title()).toBe("Oracle");
  await page.getByRole("table", { name: "Next closings" }).getByRole("link", { name: "Will mkt_1" }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "Sweep" }).click();
  expect(await page.getByRole("dialog").getByRole("heading").textContent()).toBe("Sweep: every due market");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("System shows the servers, the database, response times and limits; each refused request has its explanation", async () => {
  const since = Date.now() - 60_000;
  tenant.services.serving.servers = async () => [{ server: "web1-7-ab", version: "1.0.0", since, url: tenant.url }];
  tenant.services.serving.lastBackupAt = async () => null;
  const refused = await fetch(`${tenant.url}/v1/markets/mkt_none/suspend`, {
    method: "POST",
    headers: { "x-api-key": ADMIN_KEY },
  });
  const requestId = refused.headers.get("request-id") ?? "";
  const { page, complaints, close } = await openConsole(tenant, { path: "/system" });
  await rowOf(page, "web1-7-ab").getByText("1.0.0").waitFor();
  const group = rowOf(page, "markets");
  await group.waitFor();
  expect(await group.locator("td").nth(2).textContent()).toMatch(/ ms$/);
  await rowOf(page, "address 127.0.0.1").waitFor();
  await page.getByText("There is no standby").waitFor();
  expect(await page.locator("dl.facts div", { hasText: "Latest backup" }).textContent()).toContain("none");
  await rowOf(page, requestId)
    .getByRole("link", { name: `Why ${requestId}` })
    .click();
  const answer = page.getByRole("region", { name: "Refused request" });
  await answer.getByText("MARKET_NOT_FOUND").waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.ariaLabel")).toBe("Refused request");
  await page.reload();
  await answer.getByText("MARKET_NOT_FOUND").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("System shows the server, the keys without their values, who was turned away, and why a request was refused", async () => {
  const refused = await fetch(`${tenant.url}/v1/policy`, { headers: { "x-api-key": PUBLIC_KEY } });
  const missing = await fetch(`${tenant.url}/v1/trade`, {
    method: "POST",
    headers: { "x-api-key": PUBLIC_KEY, "content-type": "application/json" },
    body: "{}",
  });
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/system" });
  await page.getByRole("table", { name: "Keys" }).waitFor();
  expect(await title()).toBe("System");
  await page.getByRole("table", { name: "Security events" }).locator('[data-kind="role.denied"]').waitFor();
  expect(await page.content()).not.toContain(PUBLIC_KEY);
  expect(await page.locator("main").textContent()).not.toContain("<request-id>");
  await page.getByLabel("Request-Id of the answer").fill(missing.headers.get("request-id") ?? "");
  await page.getByRole("button", { name: "Why" }).click();
  expect([refused.status, missing.status]).toEqual([403, 401]);
  await page.getByRole("region", { name: "Refused request" }).getByText("USER_REQUIRED").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});
