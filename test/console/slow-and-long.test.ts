import { beforeAll, expect, test } from "vitest";
import { openHeld } from "../embed/support/ends.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { openConsole, rowOf, troubles } from "./support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });

beforeAll(async () => {
  await tenant.deposit("usr_1", 500);
  await openHeld(tenant, "mkt_1", "Will it open?", "usr_1");
});

test("Today does not wait for the checks of the log and the ledger, and says that they are under way", async () => {
  const answered = Promise.withResolvers<void>();
  const { page, complaints, close } = await openConsole(tenant, { path: "/record" });
  await page.route("**/v1/reconcile/checks*", async (route) => {
    await answered.promise;
    await route.continue();
  });
  await page.getByRole("link", { name: "Today" }).click();
  await page.getByText("Nothing waits for a person").waitFor();
  const underWay = page.getByText("The audit log and the ledger: they are still being checked.");
  await underWay.waitFor();
  answered.resolve();
  await underWay.waitFor({ state: "detached" });
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("of a long list the first rows are drawn, and more when a person asks", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/record" });
  await page.route("**/v1/users?*", async (route) => {
    const answer = await route.fetch();
    const [user] = (await answer.json()) as [object];
    await route.fulfill({
      response: answer,
      json: Array.from({ length: 450 }, (_, index) => ({ ...user, userId: `usr_${index}` })),
    });
  });
  await page.getByRole("link", { name: "Traders" }).click();
  await rowOf(page, "usr_199").waitFor();
  const rows = page.getByRole("table", { name: "Traders" }).locator("[data-id]");
  expect(await rows.count()).toBe(200);
  await page.getByRole("button", { name: "Show 200 of 250 more" }).click();
  await rowOf(page, "usr_399").waitFor();
  await page.getByRole("button", { name: "Show 50 of 50 more" }).click();
  await rowOf(page, "usr_449").waitFor();
  expect(await page.getByRole("button", { name: /^Show/ }).count()).toBe(0);
  expect(troubles(complaints)).toEqual([]);
  await close();
});
