import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { ADMIN_KEY } from "../server/support/harness.ts";
import { openBrowser, openPage } from "../support/browser.ts";
import { focusedTag, openConsole, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  await openHeld(tenant, "mkt_1", "Will the bridge open?", "usr_1");
});

test("a market is found, suspended and resumed with the keyboard alone; the focus comes back after each dialog", async () => {
  const { page, complaints, close } = await openPage(await openBrowser());
  const { keyboard } = page;
  const focused = () => page.evaluate<string>("document.activeElement?.textContent ?? ''");
  await page.goto(`${tenant.server.opsUrl}/console/`);
  await page.getByLabel("Admin key").waitFor();
  await keyboard.type(ADMIN_KEY);
  await keyboard.press("Enter");
  await page.getByRole("navigation", { name: "Views" }).waitFor();

  await expect.poll(() => focusedTag(page)).toBe("H1");
  await page.getByRole("link", { name: "Skip to content" }).focus();
  await keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).getByText("g m").waitFor();
  await keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await focused()).toBe("Skip to content");

  await keyboard.press("g");
  await keyboard.press("m");
  await page.getByRole("heading", { name: "Markets", level: 1 }).waitFor();
  expect(await page.getByRole("link", { name: "Markets" }).getAttribute("aria-current")).toBe("page");
  await keyboard.press("/");
  await keyboard.type("bridge g t ?");
  expect(await page.getByRole("searchbox", { name: "Search" }).inputValue()).toBe("bridge g t ?");
  expect(await page.getByRole("dialog").count()).toBe(0);

  await keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Commands" }).getByRole("combobox").waitFor();
  await keyboard.type("bridge");
  await page.getByRole("option", { name: /Will the bridge open/ }).waitFor();
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Will the bridge open?" }).waitFor();
  for (const [label, type] of [
    ["Suspend", "market.suspended"],
    ["Resume", "market.resumed"],
  ] as const) {
    const button = page.getByRole("button", { name: label });
    await expect.poll(() => button.isEnabled()).toBe(true);
    await button.focus();
    await keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: new RegExp(`^${label}`) });
    await dialog.waitFor();
    await dialog.getByRole("textbox", { name: "Reason" }).focus();
    await keyboard.type("By hand");
    await expect.poll(() => dialog.getByRole("button", { name: "Confirm" }).isEnabled()).toBe(true);
    await keyboard.press("Enter");
    await keyboard.type("!");
    await page.context().setOffline(true);
    await dialog.getByText("Connection lost").waitFor();
    expect(await dialog.getByRole("button", { name: "Confirm" }).isDisabled()).toBe(true);
    await page.context().setOffline(false);
    await expect.poll(() => dialog.getByRole("button", { name: "Confirm" }).isEnabled()).toBe(true);
    expect(await tenant.audit(type)).toEqual([]);
    await keyboard.press("Control+Enter");
    await dialog.waitFor({ state: "detached" });
    await expect.poll(async () => (await tenant.audit(type)).length).toBe(1);
    await page
      .getByRole("status")
      .getByRole("link", { name: /^Entry \d+$/ })
      .waitFor();
  }
  expect(troubles(complaints).filter((each) => !each.includes("ERR_INTERNET_DISCONNECTED"))).toEqual([]);
  await close();
});

test("a command presses the button of its view, and only commands that the key may use are offered", async () => {
  const { page, complaints, close } = await openConsole(tenant);
  const { keyboard } = page;
  const command = async (name: string) => {
    await keyboard.press("Control+k");
    await keyboard.type(name);
    await page.getByRole("option", { name: `${name} Command`, exact: true }).waitFor();
    await keyboard.press("Enter");
  };
  for (const name of ["Create market", "Sweep", "Freeze", "Keys"]) {
    await command(name);
    await page.getByRole("dialog", { name: new RegExp(`^${name}`) }).waitFor();
    await keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await page.goto(`${tenant.server.opsUrl}/console/markets/mkt_1`);
  await page.getByRole("button", { name: "Suspend" }).waitFor();
  for (const name of ["Suspend", "Settle", "Void"]) {
    await command(name);
    await page.getByRole("dialog", { name: `${name}: Will the bridge open?` }).waitFor();
    await keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await keyboard.press("Control+k");
  expect(await page.getByRole("option", { name: "Resume" }).count()).toBe(0);
  await keyboard.press("Escape");
  await command("Lift the freeze");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await command("Verify now");
  await page.getByText(/The chain of all .* holds/).waitFor();
  await command("Reconcile");
  await page.getByText("The ledger agrees with itself").waitFor();
  await command("Sign out");
  await page.getByLabel("Admin key").waitFor();
  expect(troubles(complaints)).toEqual([]);
  await close();

  const operator = localApi(tenant.services.handlers, { actor: "cli:test" });
  const reader = await operator.createKey({ type: "admin", name: "reader", scopes: ["read"] });
  const bounded = await openConsole(tenant, { key: String(reader.key) });
  await bounded.page.keyboard.press("Control+k");
  const offered = await bounded.page.getByRole("option", { name: /Command$/ }).allTextContents();
  expect(offered).toEqual(["Verify now Command", "Reconcile Command", "Keys Command", "Sign out Command"]);
  await bounded.close();
});

test("a button that another person's change disables keeps the focus", async () => {
  const { page, close } = await openPage(await openBrowser());
  await page.goto(`${tenant.server.opsUrl}/console/markets/mkt_1`);
  await page.getByLabel("Admin key").fill(ADMIN_KEY);
  await page.keyboard.press("Enter");
  const button = page.getByRole("button", { name: "Suspend" });
  await button.focus();
  const operator = localApi(tenant.services.handlers, { actor: "admin:second" });
  await operator.suspendMarket({ id: "mkt_1" });
  await expect.poll(() => button.isDisabled()).toBe(true);
  expect(await page.evaluate<string>("document.activeElement?.textContent ?? ''")).toBe("Suspend");
  await operator.resumeMarket({ id: "mkt_1" });
  await close();
});

test("a connection that is lost is told, figures are marked stale, and both end when it is back", async () => {
  const { page, close } = await openPage(await openBrowser());
  await page.goto(`${tenant.server.opsUrl}/console/markets`);
  await page.getByLabel("Admin key").fill(ADMIN_KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Will the bridge open?" }).waitFor();
  await page.context().setOffline(true);
  await page.getByText("Connection lost").waitFor();
  await page.locator('[data-stale="true"]').waitFor();
  await page.context().setOffline(false);
  await page.getByText("Connection lost").waitFor({ state: "detached" });
  await expect.poll(() => page.locator('[data-stale="true"]').count()).toBe(0);
  await close();
});

test("a dialog that is confirmed twice, or in two tabs, acts once", async () => {
  const first = await openPage(await openBrowser());
  const { page } = first;
  await page.goto(`${tenant.server.opsUrl}/console/markets/mkt_1`);
  await page.getByLabel("Admin key").fill(ADMIN_KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Suspend" }).click();
  await page.getByRole("textbox", { name: "Reason" }).fill("Twice");
  const confirm = page.getByRole("button", { name: "Confirm" });
  await page.route("**/suspend", (route) => route.abort(), { times: 1 });
  await confirm.click();
  await page.getByRole("alert").waitFor();
  expect(await page.evaluate("document.activeElement.role ?? document.activeElement.getAttribute('role')")).toBe(
    "alert",
  );
  const operator = localApi(tenant.services.handlers, { actor: "admin:second" });
  await operator.suspendMarket({ id: "mkt_1" });
  const before = (await tenant.audit("market.suspended")).length;
  await confirm.dblclick();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByText("It was so already: nothing was recorded.").waitFor();
  expect((await tenant.audit("market.suspended")).length).toBe(before);
  expect(await tenant.isSound()).toBe(true);
  await first.close();
});
