import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { act, openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:second" });
const HOSTILE = "usr_<img src=x onerror=alert(1)>";

beforeAll(async () => {
  for (const id of ["usr_ann", "usr_bob", HOSTILE]) await tenant.deposit(id, 500);
  await operator().restrictUser({ id: "usr_bob" });
});

test("traders are listed with standing and money, searched and filtered in the address, and kept current", async () => {
  const { page, title, complaints, close } = await openConsole(tenant, { path: "/traders" });
  const table = page.getByRole("table", { name: "Traders" });
  await table.waitFor();
  expect(await title()).toBe("Traders");
  const ids = () => table.locator("[data-id]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));
  const { items } = await operator().listUsers({});
  expect(await ids()).toEqual(items.map(({ userId }) => userId));
  expect(await rowOf(page, "usr_ann").textContent()).toContain("$500.00");
  expect(await rowOf(page, "usr_bob").textContent()).toContain("Restricted");
  await operator().restrictUser({ id: "usr_ann" });
  await rowOf(page, "usr_ann").getByText("Restricted").waitFor({ timeout: 5000 });
  await operator().releaseUser({ id: "usr_ann" });

  await page.keyboard.press("/");
  await page.keyboard.type("B");
  await expect.poll(ids).toEqual(["usr_bob"]);
  await page.getByLabel("Standing").selectOption({ label: "Unverified" });
  await page.getByText("No trader matches").waitFor();
  expect(new URL(page.url()).search).toBe("?q=B&state=unverified");
  expect(await page.locator("code").last().textContent()).toBe("pmctl user list --q B --state unverified -t acme");
  await page.reload();
  await page.getByText("No trader matches").waitFor();
  await page.getByRole("link", { name: "show all traders" }).click();
  await expect.poll(async () => (await ids()).length).toBe(3);
  expect(await page.getByRole("link", { name: HOSTILE }).getAttribute("href")).toBe(
    `/console/traders/${encodeURIComponent(HOSTILE)}`,
  );
  await page.getByLabel("Debt").selectOption({ label: "Owing" });
  await page.getByText("No trader matches").waitFor();
  expect(new URL(page.url()).search).toBe("?owing=yes");
  expect(await page.locator("code").last().textContent()).toBe("pmctl user list --min-owed 0.000001 -t acme");
  expect(await page.locator("main img").count()).toBe(0);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("one trader: money, and what each gate says with its end, as the API answers", async () => {
  await localApi(tenant.services.handlers, { actor: "admin:second", policyTtlMs: 3_600_000 }).updatePolicy({
    jurisdictions: { allowed: ["DE"] },
  });
  const { page, title, complaints, close } = await openConsole(tenant, {
    path: `/traders/${encodeURIComponent(HOSTILE)}`,
  });
  const gates = page.getByRole("table", { name: "Gates" });
  await gates.waitFor();
  expect(await title()).toBe(HOSTILE);
  expect(await page.title()).toContain(HOSTILE);
  const { trade, sell } = await operator().getUserEligibility({ id: HOSTILE });
  expect(trade.reasons.length).toBeGreaterThan(0);
  for (const { code, message, until } of trade.reasons) {
    const row = await rowOf(page, "buy").textContent();
    expect(row).toContain(code);
    expect(row).toContain(message);
    if (until !== null) await rowOf(page, "buy").locator(`time[datetime="${until}"]`).waitFor();
  }
  expect(trade.reasons.some(({ until }) => until !== null)).toBe(true);
  expect((await rowOf(page, "sell").textContent())?.includes("Not allowed")).toBe(!sell.allowed);
  expect(await page.locator("main img").count()).toBe(0);
  expect(await page.locator("code").last().textContent()).toBe(`pmctl user show '${HOSTILE}' -t acme`);
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.goto(`${tenant.server.opsUrl}/console/traders/nobody`);
  await page.getByText("User not found").waitFor();
  expect(troubles(complaints).filter((each) => !each.includes("status of 404"))).toEqual([]);
  await close();
});

test("a trader is restricted, released and credited; a credit holds only for the balance that was shown", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/traders/usr_ann" });
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  await button("Restrict").waitFor();
  expect(await button("Release").isDisabled()).toBe(true);
  expect(await act(page, button("Restrict"), "Asked by the bank")).toMatch(/^usr_ann is restricted\. Entry \d+$/);
  await expect.poll(() => button("Release").isEnabled()).toBe(true);
  expect((await tenant.audit("user.restricted")).at(-1)).toMatchObject({
    actor: "admin:ops",
    payload: { userId: "usr_ann", restricted: true, reason: "Asked by the bank" },
  });
  const why = page.getByText(/^Restricted by admin:ops, .+: .?Asked by the bank.+Entry \d+$/);
  await why.waitFor();
  expect(await act(page, button("Release"), "The bank is content")).toMatch(/^usr_ann is unverified\. Entry \d+$/);
  await expect.poll(() => button("Restrict").isEnabled()).toBe(true);
  expect(await why.count()).toBe(0);

  await button("Credit").click();
  const dialog = page.getByRole("dialog", { name: "Credit: usr_ann" });
  await dialog.getByRole("textbox", { name: "Reason" }).fill("Ticket 311");
  for (const [amount, why] of [
    ["-5", "a credit is above 0, with at most six decimals"],
    ["1000.01", "a credit is at most $1,000.00"],
    ["0.0000001", "a credit is above 0, with at most six decimals"],
  ] as const) {
    await dialog.getByLabel("Amount in USD").fill(amount);
    await dialog.getByText(`It will be refused: ${why}`).waitFor();
    expect(await dialog.getByRole("button", { name: "Confirm" }).isDisabled()).toBe(true);
  }
  await dialog.getByLabel("Amount in USD").fill("25.5");
  await dialog.getByText("will hold $525.50").waitFor();
  expect(await dialog.locator("code").textContent()).toBe(
    "pmctl funding credit --user usr_ann --amount 25.5 --expect-balance 500 --reason 'Ticket 311' -t acme",
  );
  expect(await accessibilityProblems(page)).toEqual([]);
  await tenant.deposit("usr_ann", 7);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.getByText("The wallet holds 507 USD, which is not the expected 500 USD").waitFor();
  await dialog.getByText("will hold $532.50").waitFor();
  expect(await tenant.balance("wallet:usr_ann")).toBe(507_000_000n);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("Credited $25.50 to usr_ann: the wallet holds $532.50.").waitFor();
  expect((await tenant.audit("wallet.credited")).at(-1)).toMatchObject({
    actor: "admin:ops",
    payload: { userId: "usr_ann", amount: "25.5", reason: "Ticket 311" },
  });
  expect(troubles(complaints).filter((each) => !each.includes("status of 400"))).toEqual([]);
  await close();
});

test("without the scopes the buttons are disabled and name what is missing", async () => {
  const { key } = await operator().createKey({ name: "reader", type: "admin", scopes: ["read"] });
  // The server reads its copy of the keys again after a while.
  const known = async () => (await fetch(`${tenant.url}/v1/users`, { headers: { "x-api-key": key ?? "" } })).status;
  await expect.poll(known, { timeout: 10_000 }).toBe(200);
  const { page, close } = await openConsole(tenant, { path: "/traders/usr_ann", key: key ?? "" });
  for (const [name, scope] of [
    ["Restrict", "users"],
    ["Credit", "funds"],
  ] as const) {
    const button = page.getByRole("button", { name, exact: true });
    await button.waitFor();
    expect(await button.isDisabled()).toBe(true);
    const why = await button.getAttribute("aria-describedby");
    expect(await page.locator(`[id="${why}"]`).textContent()).toBe(`Your key lacks the scope ${scope}.`);
  }
  await close();
});

test("a user whose id no address can end with is found in the list", async () => {
  await tenant.deposit("..", 7);
  const { page, close } = await openConsole(tenant, { path: "/traders" });
  await page.getByRole("link", { name: "..", exact: true }).click();
  await page.getByRole("link", { name: "usr_ann" }).waitFor({ state: "detached" });
  expect(new URL(page.url()).search).toBe("?q=..");
  expect(await rowOf(page, "..").textContent()).toContain("$7.00");
  await close();
});
