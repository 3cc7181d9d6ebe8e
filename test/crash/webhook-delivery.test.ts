import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answer, SECRET, TestReceiver } from "../outgoing/support/receiver.ts";
import { newOperator, type Operator, postWebhook } from "../support/operator.ts";

const EVENTS = "wallet.credited, kyc.updated, user.notified";

let operator: Operator;
let receiver: TestReceiver;

beforeAll(async () => {
  operator = await newOperator();
  receiver = await new TestReceiver().open();
  await operator.run("init", "acme");
  const outbound = `{ name: crm, url: "${receiver.url}", events: [${EVENTS}], secret: { env: ACME_CRM_SECRET } }`;
  await operator.edit("acme", (text) =>
    `${text}\nnetwork: { allowPrivate: ["127.0.0.0/8"] }\n`.replace(
      "webhooks:\n",
      `webhooks:\n  outbound: [${outbound}]\n`,
    ),
  );
  await appendFile(join(operator.directory, ".env"), `\nACME_CRM_SECRET=${SECRET}\n`);
  const applied = await operator.run("apply", "acme");
  expect(applied).toMatchObject({ exitCode: 0 });
});
afterAll(async () => {
  await operator?.close();
  await receiver?.close();
});

test("kill -9 between a commit and its delivery loses nothing, and the events are told by the next process", async () => {
  const { ACME_WEBHOOK_SECRET: secret = "" } = await operator.secrets();
  const deposit = (url: string, txRef: string) =>
    postWebhook(url, "/payments/inbound/acme", secret, {
      event: "deposit.completed",
      userId: "usr_1",
      amountUsd: 5,
      txRef,
    });
  const first = await operator.serve("acme");
  receiver.behave = answer(500);
  for (let index = 0; index < 10; index++) expect((await deposit(first.url, `before ${index}`)).status).toBe(200);
  // Whatever the worker had begun, and the last commit, which it cannot have seen.
  expect((await deposit(first.url, "last")).status).toBe(200);
  await first.kill("SIGKILL");
  expect(receiver.received.every(({ type }) => type === "wallet.credited")).toBe(true);
  receiver.behave = answer(200);
  const second = await operator.serve("acme");
  await receiver.until(11);
  const told = receiver.received.map(({ data }) => data.txRef);
  expect(new Set(told)).toEqual(new Set([...Array.from({ length: 10 }, (_, index) => `before ${index}`), "last"]));
  expect(receiver.forgeries).toEqual([]);

  const failed = { userId: "usr_1", status: "failed", provider: "kyc", verifiedAt: "2026-01-01T00:00:00Z" };
  expect((await postWebhook(second.url, "/kyc/inbound/acme", secret, failed)).status).toBe(200);
  await receiver.until(13);
  const notified = receiver.received.find(({ type }) => type === "user.notified");
  expect(notified?.data).toMatchObject({ userId: "usr_1", kind: "kyc.failed" });
  const metrics = async () => (await fetch(`${second.opsUrl}/metrics`)).text();
  while (!/pmctl_webhook_deliveries_total\{receiver="crm",result="delivered"\} \d\d/.test(await metrics()))
    await delay(50);
  expect(await second.kill("SIGTERM")).toBe(0);
});
