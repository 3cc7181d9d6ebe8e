import { connect } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import { CONSOLE, ConsoleClient } from "../../server/support/console.ts";
import { tenantOfTests } from "../../server/support/during-tests.ts";
import { openConsole } from "../support/console-page.ts";

const tenant = tenantOfTests({ console: CONSOLE });
/** One person in two tabs, and another person. */
let ops: ConsoleClient;
let tab: ConsoleClient;
let other: ConsoleClient;

beforeAll(async () => {
  const { key } = await localApi(tenant.services.handlers, { actor: "cli:test" }).createKey({
    name: "second",
    type: "admin",
  });
  const signIn = async (value?: string | null) => {
    const client = new ConsoleClient(tenant.server.opsUrl);
    expect((await client.signIn(value ?? undefined)).status).toBe(200);
    return client;
  };
  [ops, tab, other] = [await signIn(), await signIn(), await signIn(key)];
  await tenant.deposit("usr_1", 500.0005);
});
const credit = (client: ConsoleClient, key: string, amount = 5) =>
  client.post("/console/api/v1/users/usr_1/credit", { amount, reason: "x" }, { "idempotency-key": key });
const credits = async () => (await tenant.audit("wallet.credited")).filter(({ payload }) => payload.creditId);

describe("an Idempotency-Key", () => {
  test("of one person is not another's: each acts, and neither reads the other's answer", async () => {
    const [mine, theirs] = [await credit(ops, "same"), await credit(other, "same")];
    expect([mine.status, theirs.status]).toEqual([200, 200]);
    expect(theirs.headers.get("idempotent-replayed")).toBeNull();
    expect(theirs.body.balanceUsd).not.toBe(mine.body.balanceUsd);
    expect((await credits()).map(({ actor }) => actor)).toEqual(["admin:ops", "admin:second"]);
    // What the other person did with the same key does not make ours a mismatch, and ours is still repeated.
    expect((await credit(other, "ours", 7)).status).toBe(200);
    expect((await credit(ops, "ours", 8)).status).toBe(200);
    expect((await credit(ops, "same")).body).toEqual(mine.body);
  });

  test("of one person is the same in every tab, and is used for one change alone", async () => {
    const before = (await credits()).length;
    const first = await credit(ops, "tabs");
    const again = await credit(tab, "tabs");
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(again.body).toEqual(first.body);
    expect((await credit(tab, "tabs", 6)).headers.get("error-code")).toBe("IDEMPOTENCY_MISMATCH");
    const elsewhere = await tab.post(
      "/console/api/v1/users/usr_1/debit",
      { amount: 5, reason: "x" },
      { "idempotency-key": "tabs" },
    );
    expect(elsewhere.headers.get("error-code")).toBe("IDEMPOTENCY_MISMATCH");
    expect((await credits()).length).toBe(before + 1);
  });

  test("makes many requests at once one change, from any number of tabs", async () => {
    const before = (await credits()).length;
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => credit(at % 2 === 0 ? ops : tab, "storm")));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect((await credits()).length).toBe(before + 1);
  });

  test("survives a lost answer: sent again after the connection broke, the change is made once", async () => {
    const before = (await credits()).length;
    const body = JSON.stringify({ amount: 5, reason: "x" });
    const head = [
      "POST /console/api/v1/users/usr_1/credit HTTP/1.1",
      `host: ${new URL(ops.origin).host}`,
      `origin: ${ops.origin}`,
      `cookie: ${ops.cookie}`,
      `x-csrf-token: ${ops.csrf}`,
      "idempotency-key: lost",
      "content-type: application/json",
      `content-length: ${body.length}`,
    ];
    const socket = connect(tenant.server.opsPort ?? 0, "127.0.0.1");
    await new Promise<void>((resolve) => {
      socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => resolve());
    });
    socket.destroy();
    const answers = await Promise.all([credit(ops, "lost"), credit(ops, "lost")]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await credits()).length).toBe(before + 1);
  });
});

describe("in the page", () => {
  const openCredit = async () => {
    const opened = await openConsole(tenant, { path: "/traders/usr_1" });
    const { page } = opened;
    await page.getByRole("button", { name: "Credit", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Credit: usr_1" });
    await dialog.getByLabel("Amount in USD").fill("11");
    await dialog.getByText("will hold").waitFor();
    await dialog.getByRole("textbox", { name: "Reason" }).fill("Ticket");
    return { ...opened, dialog, confirm: dialog.getByRole("button", { name: "Confirm" }) };
  };

  test("a double click, and Enter pressed many times, confirm once", async () => {
    const before = (await credits()).length;
    const { page, dialog, confirm, close } = await openCredit();
    await confirm.dblclick();
    await dialog.waitFor({ state: "detached" });
    expect((await credits()).length).toBe(before + 1);
    await page.getByRole("button", { name: "Credit", exact: true }).click();
    await dialog.getByLabel("Amount in USD").fill("12");
    await dialog.getByText("will hold").waitFor();
    await dialog.getByRole("textbox", { name: "Reason" }).fill("Ticket");
    await page.evaluate(
      'for (let turn = 0; turn < 5; turn += 1) document.querySelector("dialog form").requestSubmit()',
    );
    await dialog.waitFor({ state: "detached" });
    expect((await credits()).length).toBe(before + 2);
    await close();
  });

  test("an answer that is lost leaves the dialog open, and confirming again changes nothing more", async () => {
    const before = (await credits()).length;
    const { page, dialog, confirm, close } = await openCredit();
    let lost = 0;
    await page.route("**/credit", async (route) => {
      lost += 1;
      if (lost > 2) return route.continue();
      await route.fetch();
      await route.abort("connectionreset");
    });
    for (const turn of [1, 2]) {
      await confirm.click();
      await expect.poll(() => lost).toBe(turn);
      await dialog.getByRole("alert").filter({ hasText: "Confirm again here: it is made once." }).waitFor();
    }
    expect((await credits()).length).toBe(before + 1);
    await confirm.click();
    await dialog.waitFor({ state: "detached" });
    expect((await credits()).length).toBe(before + 1);
    const told = page.getByRole("status").filter({ hasText: "Credited $11.00 to" });
    const api = localApi(tenant.services.handlers, { actor: "cli:test" });
    const { entries } = await api.listAudit({ type: "wallet.credited", limit: 1 });
    await told.getByRole("link", { name: `Entry ${entries[0]?.seq}`, exact: true }).waitFor();
    expect(await told.innerText()).toMatch(/holds \$\d+\.000500\./);
    await close();
  });

  test("after a lost answer, a changed reason is another change, which the balance that was shown forbids", async () => {
    const before = (await credits()).length;
    const { page, dialog, confirm, close } = await openCredit();
    await page.route(
      "**/credit",
      async (route) => {
        await route.fetch();
        await route.abort("connectionreset");
      },
      { times: 1 },
    );
    await confirm.click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByRole("textbox", { name: "Reason" }).fill("Another ticket");
    await confirm.click();
    await dialog.getByText("which is not the expected").waitFor();
    expect((await credits()).length).toBe(before + 1);
    await close();
  });

  test("two tabs with the same dialog change once: the second is asked again", async () => {
    const before = (await credits()).length;
    const one = await openCredit();
    const two = await openCredit();
    await one.confirm.click();
    await one.dialog.waitFor({ state: "detached" });
    await two.confirm.click();
    await two.dialog.getByText("which is not the expected").waitFor();
    expect((await credits()).length).toBe(before + 1);
    await one.close();
    await two.close();
  });
});
