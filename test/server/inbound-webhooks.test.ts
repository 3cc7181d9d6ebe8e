import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Handlers } from "../../src/services/invoke.ts";
import { serverOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, everyEndpoint, userToken, WEBHOOK_SECRET } from "./support/harness.ts";
import { exchangeRaw, expectRefusal, parseRaw } from "./support/requests.ts";

const OLD_SECRET = "whsec_the_one_before_0123456789abcdef";
/** The time stands still, so that five minutes are five minutes. */
const NOW = Date.UTC(2027, 0, 1);
const calls: { input: unknown; actor: string }[] = [];
const record = async (input: unknown, { actor }: { actor: string }) => {
  calls.push({ input, actor });
  return { received: true };
};

const handlers = { receiveKyc: record, receivePayment: record, receiveStripe: record } as unknown as Handlers;
beforeAll(() => void vi.useFakeTimers({ now: NOW, toFake: ["Date"] }));
const { server } = serverOfTests(handlers, { webhookSecrets: everyEndpoint(WEBHOOK_SECRET, OLD_SECRET) });
afterAll(() => void vi.useRealTimers());
beforeEach(() => {
  calls.length = 0;
});

const deposit = '{"event":"deposit.completed","userId":"usr_1","amountUsd":250,"txRef":"tx_0001"}';
const kyc = '{"userId":"usr_1","status":"passed","provider":"sumsub","verifiedAt":"2026-06-01T12:00:00Z"}';
const sign = (body: string | Buffer, secret = WEBHOOK_SECRET) =>
  createHmac("sha256", secret).update(body).digest("hex");

function send(path: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(server.url + path, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "x-signature": sign(body), ...headers },
  });
}

describe("a signed webhook", () => {
  test("is received, with the tenant of its path", async () => {
    const response = await send("/payments/inbound/acme", deposit.replace("{", '{"tenantId":"other",'));
    expect([response.status, await response.json()]).toEqual([200, { received: true }]);
    expect(calls).toMatchObject([{ actor: "provider:payments", input: { tenantId: "acme", txRef: "tx_0001" } }]);
  });

  test("of identity verification is received too", async () => {
    expect((await send("/kyc/inbound/acme", kyc)).status).toBe(200);
    expect(calls).toMatchObject([{ actor: "provider:kyc", input: { userId: "usr_1", provider: "sumsub" } }]);
  });

  test.each([
    ["the other active secret", { "x-signature": sign(deposit, OLD_SECRET) }],
    ["a prefix and capitals", { "x-signature": `sha256=${sign(deposit).toUpperCase()}` }],
    ["a time in seconds", { "x-timestamp": String(NOW / 1000 - 300) }],
    ["a time in ISO 8601", { "x-timestamp": new Date(NOW + 300_000).toISOString() }],
    ["credentials that it does not need", { "x-api-key": "wrong", authorization: "Bearer x" }],
  ])("may carry %s", async (_name, headers) => {
    expect((await send("/payments/inbound/acme", deposit, headers)).status).toBe(200);
  });

  test("is verified over the bytes that arrived, whatever they mean", async () => {
    for (const body of ["", "{", "[]", "null", deposit.replace("{", '{"x":[-1e400],')])
      await expectRefusal(await send("/payments/inbound/acme", body), 400, "BAD_REQUEST");
    await expectRefusal(await send("/payments/inbound/acme", Buffer.from([0x7b, 0xff, 0x7d])), 400, "BAD_REQUEST");
    const form = await send("/payments/inbound/acme", deposit, { "content-type": "text/plain" });
    await expectRefusal(form, 400, "BAD_REQUEST");
    await expectRefusal(await send("/payments/inbound/acme", "{}"), 400, "BAD_REQUEST");
    expect(calls).toEqual([]);
  });

  test("may be 256 KiB, and no more", async () => {
    const padded = (size: number) => deposit.replace("{", `{"x":"${"x".repeat(size - deposit.length - 7)}",`);
    expect((await send("/payments/inbound/acme", padded(256 * 1024))).status).toBe(200);
    await expectRefusal(await send("/payments/inbound/acme", padded(256 * 1024 + 1)), 400, "BAD_REQUEST");
  });
});

describe("is 401 Invalid signature, and nothing happens:", () => {
  test.each<[string, Record<string, string>]>([
    ["no signature", { "x-signature": "" }],
    ["another body's", { "x-signature": sign(`${deposit}\n`) }],
    ["another secret's", { "x-signature": sign(deposit, "guess") }],
    ["one that is no hex", { "x-signature": "z".repeat(64) }],
    ["a stale one", { "x-timestamp": String(NOW / 1000 - 301) }],
    ["one from the future", { "x-timestamp": String(NOW / 1000 + 301) }],
    ["an unreadable time", { "x-timestamp": "yesterday" }],
    ["an admin key in its place", { "x-signature": "", "x-api-key": ADMIN_KEY }],
  ])("%s", async (_name, headers) => {
    for (const path of ["/payments/inbound/acme", "/kyc/inbound/acme"])
      await expectRefusal(await send(path, deposit, headers), 401, "SIGNATURE_INVALID", "Invalid signature");
    expect(calls).toEqual([]);
  });

  test.each(["other", "ACME", "acme%00", "%zz", "acme%2F", "__proto__"])("the unknown tenant %s", async (tenant) => {
    const response = await send(`/payments/inbound/${tenant}`, deposit);
    await expectRefusal(response, 401, "SIGNATURE_INVALID", "Invalid signature");
    expect(calls).toEqual([]);
  });

  test("a signature that is sent twice", async () => {
    const signature = `x-signature: ${sign(deposit)}\r\n`;
    const head = `POST /payments/inbound/acme HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n`;
    const request = `${head}content-length: ${deposit.length}\r\n${signature}${signature}\r\n${deposit}`;
    await expectRefusal(parseRaw(await exchangeRaw(server.port, request)), 401, "SIGNATURE_INVALID");
  });

  test("a user's token in place of a signature", async () => {
    const headers = { "x-signature": "", authorization: `Bearer ${await userToken()}` };
    await expectRefusal(await send("/kyc/inbound/acme", kyc, headers), 401, "SIGNATURE_INVALID");
  });
});

test("the generic signature is none of Stripe's", async () => {
  await expectRefusal(await send("/payments/stripe/acme", "{}"), 401, "SIGNATURE_INVALID", "Invalid signature");
});

test("a webhook path takes nothing but POST", async () => {
  await expectRefusal(await fetch(`${server.url}/kyc/inbound/acme`), 404, "NOT_FOUND");
});
