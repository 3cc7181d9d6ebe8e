import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { secretPlaces } from "../../src/console/views/webhooks/secret-places.ts";
import { DeliveryWorker } from "../../src/outgoing/delivery.ts";
import { answer, SECRET, TestReceiver } from "../outgoing/support/receiver.ts";
import { CONSOLE } from "../server/support/console.ts";
import { tenantOfTests } from "../server/support/during-tests.ts";
import { WEBHOOK_SECRET } from "../server/support/harness.ts";
import { accessibilityProblems } from "../support/browser.ts";
import { act, openConsole, rowOf, troubles } from "./support/console-page.ts";

const HOSTILE = "<img src=x onerror=alert(1)>";
const webhooks = {
  outbound: [
    { name: "crm", secret: { env: "ACME_CRM_2" }, previousSecrets: [{ env: "ACME_CRM" }] },
    { name: "books", secret: { sops: "secrets.yaml", path: "books" }, previousSecrets: [] },
  ],
  inbound: {
    secrets: [{ env: "ACME_WEBHOOK_SECRET" }],
    stripe: [{ file: "stripe.key" }, { exec: ["pass", "stripe"] }],
    kyc: { secrets: [{ env: "ACME_KYC" }], scheme: "any" },
  },
};
const tenant = tenantOfTests({ console: CONSOLE, webhooks });
const operator = () => localApi(tenant.services.handlers, { actor: "admin:second" });
let receiver: TestReceiver;
let worker: DeliveryWorker;

async function post(body: object, secret = WEBHOOK_SECRET, endpoint = "payments"): Promise<number> {
  const raw = JSON.stringify(body);
  const signature = createHmac("sha256", secret).update(raw).digest("hex");
  const headers = { "content-type": "application/json", "x-signature": signature };
  return (await fetch(`${tenant.url}/${endpoint}/inbound/acme`, { method: "POST", headers, body: raw })).status;
}

beforeAll(async () => {
  receiver = await new TestReceiver().open();
  worker = new DeliveryWorker({
    pool: tenant.services.background,
    isSealed: tenant.services.isSealed,
    receivers: [{ name: "crm", url: receiver.url, events: ["wallet.credited"], secrets: [SECRET] }],
    network: { allowPrivate: ["127.0.0.0/8"] },
  });
  await worker.tick();
  const deposit = { event: "deposit.completed", amountUsd: 20 };
  expect(await post({ ...deposit, userId: "usr_1", txRef: HOSTILE })).toBe(200);
  expect(await post({ event: HOSTILE, userId: "usr_1", txRef: "tx_2" })).toBe(200);
  expect(await post({ ...deposit, userId: "usr_1", txRef: "tx_3" }, "a secret of nobody")).toBe(401);
  await worker.tick();
});
afterAll(async () => {
  await worker?.stop();
  await receiver?.close();
});

test("Webhooks lists what providers sent with what came of it, and what was refused and why", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/webhooks" });
  const rows = page.getByRole("table", { name: "Inbound deliveries" }).locator("tbody tr");
  await rows.first().waitFor();
  expect(await rows.count()).toBe(2);
  expect(await rows.nth(0).getAttribute("data-kind")).toBe("kept");
  expect(await rows.nth(0).textContent()).toContain(HOSTILE);
  expect(await rows.nth(1).textContent()).toContain(HOSTILE);
  const api = operator();
  const [credited] = (await api.listAudit({ type: "wallet.credited", limit: 1 })).entries;
  const entry = rows.nth(1).getByRole("link", { name: `Entry ${credited?.seq}` });
  expect(await entry.getAttribute("href")).toBe(`/console/record/${credited?.seq}`);
  // The body of one that only was stored, and of another what it changed.
  const shown = page.getByRole("region", { name: "Inbound delivery" });
  await rows.nth(0).getByRole("link", { name: HOSTILE }).click();
  await shown.getByText(JSON.stringify({ event: HOSTILE, userId: "usr_1", txRef: "tx_2" }), { exact: true }).waitFor();
  await rows.nth(1).getByRole("link", { name: "deposit.completed" }).click();
  await shown.getByText("Payload of the entry").waitFor();
  expect(JSON.parse((await shown.locator("pre").textContent()) ?? "")).toEqual(credited?.payload);
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole("link", { name: "Close the inbound delivery" }).click();
  await shown.waitFor({ state: "detached" });
  const refused = page.getByRole("table", { name: "Refused webhooks" }).locator("tbody tr");
  expect(await refused.first().textContent()).toContain("the signature does not match these bytes");
  // Another one appears without a reload.
  expect(await post({ event: "deposit.pending", userId: "usr_2", txRef: "tx_4" })).toBe(200);
  await expect.poll(() => rows.count(), { timeout: 5000 }).toBe(3);
  // The body of an identity check names its provider: spaces in the name are no end of it.
  const check = { userId: "usr_3", provider: HOSTILE, status: "passed", verifiedAt: new Date().toISOString() };
  expect(await post(check, WEBHOOK_SECRET, "kyc")).toBe(200);
  await rows.first().getByText(`kyc:${HOSTILE}`).waitFor();
  await rows.first().getByRole("link", { name: "passed" }).click();
  await shown.getByText("Payload of the entry").waitFor();
  const hash = await rows.first().getAttribute("data-id");
  await page.getByText(`pmctl webhook received 'kyc:${HOSTILE}' ${hash} -t acme`, { exact: true }).waitFor();
  await page.getByRole("searchbox", { name: "Provider" }).fill("stripe");
  await page.getByText("No provider has sent a webhook like this").waitFor();
  expect(new URL(page.url()).searchParams.get("provider")).toBe("stripe");
  await page.reload();
  await page.getByText("No provider has sent a webhook like this").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("a test event goes through the normal deliveries, and its payload is shown as its receiver got it", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/webhooks" });
  const crm = page.getByRole("table", { name: "Receivers" }).locator('[data-id="crm"]');
  const notice = await act(page, crm.getByRole("button", { name: "Send a test event" }), "Its new address");
  const [entry] = await tenant.audit("webhook.tested");
  expect(entry).toMatchObject({ actor: "admin:ops", payload: { receiver: "crm", reason: "Its new address" } });
  expect(notice).toMatch(/^A test event goes to crm\. Entry \d+$/);
  await worker.tick();
  const tested = page.getByRole("table", { name: "Deliveries" }).locator("tbody tr", { hasText: "webhook.test" });
  await tested.waitFor();
  await expect.poll(() => tested.getAttribute("data-kind"), { timeout: 5000 }).toBe("delivered");
  await tested.getByRole("link", { name: "webhook.test" }).click();
  const shown = page.getByRole("region", { name: "Delivery" });
  const { id: _, ...sent } = receiver.received.at(-1) ?? {};
  await shown.getByText(JSON.stringify(sent), { exact: true }).waitFor();
  expect(receiver.forgeries).toEqual([]);
  expect(await shown.textContent()).toContain("Attempts1");
  expect(await accessibilityProblems(page)).toEqual([]);
  const again = await act(page, tested.getByRole("button", { name: "Replay" }), "It had lost it");
  const [replayed] = await tenant.audit("webhook.replayed");
  const { eventId } = (await operator().listWebhookDeliveries({})).items[0] ?? {};
  expect(replayed).toEqual({
    ...{ type: "webhook.replayed", actor: "admin:ops" },
    payload: { eventId, receivers: ["crm"], reason: "It had lost it" },
  });
  expect(again).toMatch(/^Sent again: 1 delivery\. Entry \d+$/);
  // The address of a delivery opens it, too; a stranger's text in it stays text.
  const api = operator();
  const credited = (await api.listWebhookDeliveries({})).items.find(({ type }) => type === "wallet.credited");
  await page.goto(`${tenant.server.opsUrl}/console/webhooks?delivery=${credited?.deliveryId}`);
  await shown.getByText(HOSTILE).waitFor();
  await page.getByRole("link", { name: "Close the delivery" }).click();
  await shown.waitFor({ state: "detached" });
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("each secret is shown by its reference, with the state of its rotation and its steps, and never by its value", async () => {
  const { page, complaints, close } = await openConsole(tenant, { path: "/webhooks" });
  const secrets = page.getByRole("table", { name: "Secrets" });
  await secrets.waitFor();
  const stateOf = async (path: string) => {
    const cells = await secrets.locator(`[data-id="${path}"] td`).allTextContents();
    return [cells[0], ...cells.slice(2, 4)];
  };
  expect(await stateOf("webhooks.outbound.crm")).toEqual([
    "receiver crm",
    "env ACME_CRM_2; env ACME_CRM",
    "events are signed with all 2",
  ]);
  expect(await stateOf("webhooks.outbound.books")).toEqual([
    "receiver books",
    "sops secrets.yaml, path books",
    "one secret",
  ]);
  expect(await stateOf("webhooks.inbound.stripe")).toEqual([
    "Stripe",
    "file stripe.key; exec pass stripe",
    "any of 2 counts",
  ]);
  const kyc = rowOf(page, "webhooks.inbound.kyc.secrets");
  await kyc.getByText("Steps").click();
  await kyc.getByText("pmctl key rotate --type webhook --endpoint kyc -t acme", { exact: true }).waitFor();
  expect(await page.content()).not.toContain(WEBHOOK_SECRET);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(troubles(complaints)).toEqual([]);
  await close();
});

test("a key that may only read sees deliveries, and sends nothing", async () => {
  const api = localApi(tenant.services.handlers, { actor: "cli:test" });
  const { key } = await api.createKey({ type: "admin", name: "reader", scopes: ["read"] });
  const { page, close } = await openConsole(tenant, { path: "/webhooks", key: String(key) });
  const send = rowOf(page, "crm").getByRole("button", { name: "Send a test event" });
  await send.waitFor();
  expect(await send.isDisabled()).toBe(true);
  expect(await send.getAttribute("title")).toBe("Your key lacks the scope config.");
  await close();
});

test("a file without webhooks has no places of secrets", () => {
  expect(secretPlaces(undefined)).toEqual([]);
  expect(secretPlaces({ inbound: { secrets: [], kyc: "?" }, outbound: "?" })).toEqual([]);
});

test("a receiver that fails now says so on Webhooks and on Today, and no longer once it takes events", async () => {
  receiver.behave = answer(500);
  const deposits = ["tx_5", "tx_6", "tx_7"].map((txRef) => ({ event: "deposit.completed", amountUsd: 20, txRef }));
  for (const each of deposits) expect(await post({ ...each, userId: "usr_1" })).toBe(200);
  await expect
    .poll(async () => {
      await worker.tick();
      return (await operator().listWebhookReceivers({}))[0]?.failures;
    })
    .toBeGreaterThan(2);
  const { page, complaints, close } = await openConsole(tenant);
  const waiting = page.getByRole("table", { name: "Waiting" }).locator('[data-id="crm"]');
  await waiting.getByRole("link", { name: /its last \d+ attempts failed/ }).click();
  const crm = page.getByRole("table", { name: "Receivers" }).locator('[data-id="crm"]');
  await crm.getByText(/^failing: its last \d+ attempts$/).waitFor();
  expect(new URL(page.url()).searchParams.get("receiver")).toBe("crm");
  receiver.behave = answer(204);
  expect(await post({ ...deposits[0], txRef: "tx_8", userId: "usr_1" })).toBe(200);
  await worker.tick();
  await crm.getByText("on", { exact: true }).waitFor({ timeout: 5000 });
  expect(troubles(complaints)).toEqual([]);
  await close();
});
