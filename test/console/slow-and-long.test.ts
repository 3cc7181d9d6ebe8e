import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
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

test("a first view asks for each thing once", async () => {
  const { page, close } = await openConsole(tenant, { path: "/record" });
  await page.getByRole("table", { name: "Entries" }).waitFor();
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/api/v1/") && !request.headers()["x-background"]) asked.push(request.url());
  });
  await page.getByRole("link", { name: "Today" }).click();
  await page.getByText("Nothing waits for a person").waitFor();
  expect(asked.filter((url) => url.includes("/v1/proposals"))).toHaveLength(1);
  expect(asked.toSorted()).toEqual([...new Set(asked)].toSorted());
  await close();
});

test("what a view was reading ends when it is left or asks for something else; a change goes on", async () => {
  const { page, close } = await openConsole(tenant, { path: "/traders/usr_1" });
  const answered = Promise.withResolvers<void>();
  await page.route("**/restrict", async (route) => {
    await answered.promise;
    await route.continue();
  });
  await page.getByRole("button", { name: "Restrict" }).click();
  await page.getByRole("textbox", { name: "Reason" }).fill("Slowly");
  const sent = page.waitForRequest("**/restrict");
  await page.getByRole("button", { name: "Confirm" }).click();
  await sent;
  await page.keyboard.press("Escape");

  const ended: string[] = [];
  page.on("requestfailed", (request) => {
    const [, report] = request.url().split("/v1/reports/");
    if (report && !report.includes("userId")) ended.push(report);
  });
  await page.route("**/v1/reports/**", () => {});
  const asked = page.waitForRequest("**/v1/reports/traders*");
  await page.getByRole("link", { name: "Overview" }).click();
  const named = (days: number) => ["daily", "house", "traders"].map((each) => `${each}?periodDays=${days}`);
  await asked;
  await page.getByLabel("Period").selectOption("7");
  // The page itself would wait for half a minute.
  const soon = { timeout: 10_000 };
  await expect.poll(() => ended.toSorted(), soon).toEqual(named(30));
  await page.getByRole("link", { name: "Markets" }).click();
  await rowOf(page, "mkt_1").waitFor();
  await expect.poll(() => ended.toSorted(), soon).toEqual([...named(30), ...named(7)].toSorted());
  answered.resolve();
  await expect.poll(async () => (await tenant.audit("user.restricted")).length).toBe(1);
  await close();
});

test("what a person decides by is in sight in windows of every width, however long the other words of its row are", async () => {
  const userId = "maximilian.mustermann@example-company.com";
  await tenant.deposit(userId, 20_000);
  const trader = localApi(tenant.services.handlers, { actor: `user:${userId}`, user: { id: userId } });
  const { withdrawalId } = await trader.requestWithdrawal({ amount: 12_345.67 });
  const { sql } = tenant.backend;
  await sql`insert into webhook_receiver (name, fingerprint, position) values ('customer-relations', 'x', 1)`;
  const [event] = await sql`
    insert into webhook_delivery
      (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at, last_attempt_at, last_status, last_excerpt)
    select 'customer-relations', 'evt_' || seq || '_00', seq, type, 'dead', 12, 1000, 0, 2000, 500, 'upstream is away'
    from audit where seq = (select max(seq) from audit) returning event_id`;
  const { page, close } = await openConsole(tenant, { viewport: { width: 1280, height: 900 } });
  const delivery = `${event?.event_id}.customer-relations`;
  for (const [path, id] of [
    ["/", withdrawalId],
    ["/funds", withdrawalId],
    ["/webhooks", delivery],
    [`/traders/${userId}`, delivery],
  ] as const) {
    await page.goto(`${tenant.server.opsUrl}/console${path}`);
    for (const width of [1440, 1280, 1024, 768, 660]) {
      await page.setViewportSize({ width, height: 900 });
      for (const button of await rowOf(page, id).getByRole("button").all()) {
        await button.waitFor();
        const { x, width: wide } = (await button.boundingBox()) ?? { x: -1, width: 0 };
        const scroll = await button.locator("xpath=ancestor::section[1]").boundingBox();
        expect.soft(x + wide, `${path} at ${width}`).toBeLessThanOrEqual((scroll?.x ?? 0) + (scroll?.width ?? 0));
      }
    }
  }
  await close();
});
