import { beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { openConsole, rowOf, troubles } from "./support/console-page.ts";

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
  expect(await page.locator("main img").count()).toBe(0);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});
