import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import type { WireResult } from "../../src/contract/operations.ts";
import { SIGNATURE_FAULTS } from "../../src/domain/access/signature-faults.ts";
import { signBody } from "../../src/providers/signature.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { ADMIN_KEY, WEBHOOK_SECRET } from "./support/harness.ts";

const V2_SECRET = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const tenant = tenantOfTests({
  trustProxy: ["127.0.0.1/32"],
  webhookSecrets: {
    payments: { secrets: [WEBHOOK_SECRET], scheme: "any" },
    kyc: { secrets: [V2_SECRET], scheme: "v2" },
  },
  stripeSecrets: ["whsec_stripe_0123456789abcdef0123"],
});
const BODY = '{"event":"refund.completed","txRef":"tx_secret"}';
const now = () => Math.floor(Date.now() / 1000);
const v1 = (secret = WEBHOOK_SECRET, extra = {}) => ({ "x-signature": signBody(Buffer.from(BODY), secret), ...extra });
function v2(sec = now(), secret = V2_SECRET): Record<string, string> {
  const signature = new Webhook(secret).sign("msg_1", new Date(sec * 1000), BODY);
  return { "webhook-id": "msg_1", "webhook-timestamp": String(sec), "webhook-signature": signature };
}

const [payments, kyc, oracle, stripe] = ["payments/inbound", "kyc/inbound", "oracle/inbound", "payments/stripe"];
const OTHER = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;

test.each<[fault: keyof typeof SIGNATURE_FAULTS, path: string | undefined, headers: () => Record<string, string>]>([
  ["no-secret", `${oracle}/acme`, () => v1()],
  ["other-tenant", `${payments}/zoe`, () => v1()],
  ["signature-missing", `${payments}/acme`, () => ({})],
  ["signature-missing", `${kyc}/acme`, () => ({})],
  ["signature-missing", `${stripe}/acme`, () => ({})],
  ["scheme-old", `${kyc}/acme`, () => v1(V2_SECRET)],
  ["id-invalid", `${kyc}/acme`, () => ({ ...v2(), "webhook-id": "msg.1" })],
  ["signature-wrong", `${payments}/acme`, () => v1("another secret")],
  ["signature-wrong", `${kyc}/acme`, () => v2(now(), OTHER)],
  ["signature-wrong", `${kyc}/acme`, () => v2(now() - 400, OTHER)],
  ["time-invalid", `${kyc}/acme`, () => ({ ...v2(), "webhook-timestamp": "today" })],
  ["time-off", `${kyc}/acme`, () => v2(now() - 400)],
  ["time-off", `${kyc}/acme`, () => v2(now() * 1000)],
  ["time-off", `${payments}/acme`, () => v1(WEBHOOK_SECRET, { "x-timestamp": String(now() - 400) })],
  ["provider-signature", `${stripe}/acme`, () => ({ "stripe-signature": `t=${now()},v1=${"0".repeat(64)}` })],
])("%s of a webhook to %s is in the security log; its sender reads what all read", async (fault, path, headers) => {
  const address = `203.0.113.${Object.keys(SIGNATURE_FAULTS).indexOf(fault) + 1}`;
  const before = await entries(address);
  const answer = await fetch(`${tenant.url}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": address, ...headers() },
    body: BODY,
  });
  expect([answer.status, answer.headers.get("error-code"), await answer.json()]).toEqual([
    401,
    "SIGNATURE_INVALID",
    { error: "Invalid signature" },
  ]);
  const told = (await entries(address)).filter(({ route }) => !before.some((each) => each.route === route));
  for (const { reason, detail } of told) expect([reason, detail]).toEqual(["signature", fault]);
  const count = (of: typeof before) => of.reduce((sum, each) => sum + each.count, 0);
  expect(count(await entries(address)) - count(before)).toBe(1);
  expect(JSON.stringify(told)).not.toMatch(/whsec|tx_secret/);
});

async function entries(address: string): Promise<WireResult<"listSecurityEvents">["entries"]> {
  const headers = { "x-api-key": ADMIN_KEY, "x-forwarded-for": "192.0.2.250" };
  const response = await fetch(`${tenant.url}/v1/audit/security?event=auth.failed&limit=200`, { headers });
  const { entries } = (await response.json()) as WireResult<"listSecurityEvents">;
  return entries.filter((entry) => entry.address === address && entry.detail !== null);
}
