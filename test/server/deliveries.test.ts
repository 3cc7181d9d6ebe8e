import { createHash, createHmac } from "node:crypto";
import Stripe from "stripe";
import { expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import { usd } from "../engine/world.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { WEBHOOK_SECRET } from "./support/harness.ts";

const STRIPE_SECRET = "whsec_stripe-of-the-tests-0123456789";

const tenant = tenantOfTests({ stripeSecrets: [STRIPE_SECRET] });

const sha256 = (raw: string) => createHash("sha256").update(raw).digest("hex");

async function post(path: string, raw: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${tenant.url}${path}/acme`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: raw,
  });
  const body = await response.json();
  if (response.status === 200) expect(body).toEqual({ received: true });
  return response.status;
}

const signed = (raw: string) => ({ "x-signature": createHmac("sha256", WEBHOOK_SECRET).update(raw).digest("hex") });
const pay = (raw: string) => post("/payments/inbound", raw, signed(raw));
const kyc = (raw: string) => post("/kyc/inbound", raw, signed(raw));
const stripe = (raw: string) => {
  const header = Stripe.webhooks.generateTestHeaderString({ payload: raw, secret: STRIPE_SECRET });
  return post("/payments/stripe", raw, { "stripe-signature": header });
};

/** What is on record of a raw body. */
async function kept(raw: string) {
  return tenant.backend.sql`
    select provider, event, reference, user_id, outcome, body
      from inbound_delivery
     where sha256 = ${sha256(raw)}`;
}

const deposit = (change: object = {}) =>
  JSON.stringify({ event: "deposit.completed", userId: "usr_d", amountUsd: 20, txRef: "tx_d", ...change });

test("a delivery is on record with what came of it, by its hash and without its body", async () => {
  const raw = deposit({ note: "from Ada Lovelace, 12 St James's Square" });
  expect(await pay(raw)).toBe(200);
  const row = { provider: "payments", event: "deposit.completed", reference: "tx_d", user_id: "usr_d", body: null };
  expect(await kept(raw)).toEqual([{ ...row, outcome: "wallet.credited" }]);
  const conflict = deposit({ amountUsd: 21 });
  expect(await pay(conflict)).toBe(200);
  expect(await kept(conflict)).toEqual([{ ...row, outcome: "payment.conflict" }]);
  const known = deposit({ again: true });
  expect(await pay(known)).toBe(200);
  expect(await kept(known)).toEqual([{ ...row, outcome: "no effect" }]);
});

test("the same bytes again change nothing: no second conflict, no second row", async () => {
  const raw = deposit({ txRef: "tx_twice" });
  const conflict = deposit({ txRef: "tx_twice", amountUsd: 5 });
  for (const each of [raw, conflict, conflict, raw, conflict]) expect(await pay(each)).toBe(200);
  expect(await Promise.all([conflict, conflict, conflict].map(pay))).toEqual([200, 200, 200]);
  const entries = await tenant.audit("payment.conflict", "wallet.credited");
  expect(entries.filter(({ payload }) => payload.txRef === "tx_twice").map(({ type }) => type)).toEqual([
    "wallet.credited",
    "payment.conflict",
  ]);
  expect(await kept(conflict)).toHaveLength(1);
});

test("another event is kept whole, up to 64 KiB, and the journal does not hear of it", async () => {
  const [before] = await tenant.backend.sql`select seq, hash from head`;
  const raw = JSON.stringify({
    event: "deposit.pending",
    userId: "usr_d",
    txRef: "tx_p",
    text: 'quo"te \\ {brace}, ü',
  });
  for (let repeat = 0; repeat < 3; repeat++) expect(await pay(raw)).toBe(200);
  const row = { provider: "payments", event: "deposit.pending", reference: "tx_p", user_id: "usr_d", outcome: "kept" };
  expect(await kept(raw)).toEqual([{ ...row, body: raw }]);
  const large = JSON.stringify({
    event: "statement.ready",
    txRef: 7,
    userId: { no: "text" },
    x: "x".repeat(65 * 1024),
  });
  expect(await pay(large)).toBe(200);
  const bare = { reference: null, user_id: null, body: null };
  expect(await kept(large)).toEqual([{ ...row, event: "statement.ready", ...bare }]);
  expect((await tenant.backend.sql`select seq, hash from head`)[0]).toEqual(before);
  expect(await tenant.isSound()).toBe(true);
});

test("identity checks are on record under their provider, with and without effect", async () => {
  const event = (change: object) =>
    JSON.stringify({ userId: "usr_k", provider: "idv", verifiedAt: "2026-01-01T00:00:00Z", ...change });
  const [passed, pending] = [event({ status: "passed" }), event({ status: "pending" })];
  for (const raw of [passed, pending, passed]) expect(await kyc(raw)).toBe(200);
  const row = { provider: "kyc:idv", reference: null, user_id: "usr_k", body: null };
  expect(await kept(passed)).toEqual([{ ...row, event: "passed", outcome: "kyc.updated" }]);
  expect(await kept(pending)).toEqual([{ ...row, event: "pending", outcome: "kyc.unrecognised" }]);
});

test("Stripe's events are on record, those too that say nothing of money", async () => {
  const intent = {
    id: "pi_d",
    status: "succeeded",
    amount_received: 700,
    currency: "usd",
    metadata: { userId: "usr_s" },
  };
  const paid = JSON.stringify({ id: "evt_paid", type: "payment_intent.succeeded", data: { object: intent } });
  const other = JSON.stringify({
    id: "evt_other",
    type: "customer.created",
    data: { object: { email: "a@b.example" } },
  });
  for (const raw of [paid, other, paid, other]) expect(await stripe(raw)).toBe(200);
  const row = { provider: "stripe", body: null };
  const type = "payment_intent.succeeded";
  expect(await kept(paid)).toEqual([
    { ...row, event: type, reference: "evt_paid", user_id: "usr_s", outcome: "wallet.credited" },
  ]);
  expect(await kept(other)).toEqual([
    { ...row, event: "customer.created", reference: "evt_other", user_id: null, outcome: "no effect" },
  ]);
  expect(await tenant.balance("wallet:usr_s")).toBe(usd(7));
});

test("operators list what providers sent, newest first, by provider, each with the entry that it caused", async () => {
  const api = localApi(tenant.services.handlers, { actor: "admin:ops" });
  const { items } = await api.listInboundWebhooks({});
  expect(items.map(({ provider, event, outcome }) => [provider, event, outcome])).toEqual([
    ["stripe", "customer.created", "no effect"],
    ["stripe", "payment_intent.succeeded", "wallet.credited"],
    ["kyc:idv", "pending", "kyc.unrecognised"],
    ["kyc:idv", "passed", "kyc.updated"],
    ["payments", "statement.ready", "kept"],
    ["payments", "deposit.pending", "kept"],
    ["payments", "deposit.completed", "payment.conflict"],
    ["payments", "deposit.completed", "wallet.credited"],
    ["payments", "deposit.completed", "no effect"],
    ["payments", "deposit.completed", "payment.conflict"],
    ["payments", "deposit.completed", "wallet.credited"],
  ]);
  for (const { sequence, outcome, userId } of items) {
    if (outcome === "no effect" || outcome === "kept") expect(sequence).toBeNull();
    else expect(await api.getAuditEntry({ seq: sequence ?? 0 })).toMatchObject({ type: outcome, payload: { userId } });
  }
  expect(new Set(items.map(({ sequence }) => sequence).filter((each) => each !== null)).size).toBe(7);
  const first = await api.listInboundWebhooks({ provider: "payments", limit: 3 });
  const rest = await api.listInboundWebhooks({ provider: "payments", cursor: first.nextCursor ?? "" });
  expect([...first.items, ...rest.items]).toEqual(items.filter(({ provider }) => provider === "payments"));
  expect(JSON.stringify(items)).not.toContain("Ada Lovelace");
  for (const item of items) {
    const { body, ...found } = await api.getInboundWebhook({ provider: item.provider, sha256: item.sha256 });
    expect(found).toEqual(item);
    expect(body === null ? null : sha256(body)).toBe(item.event === "deposit.pending" ? item.sha256 : null);
  }
  const hash = items.find(({ event }) => event === "deposit.pending")?.sha256 ?? "";
  await tenant.backend.sql`update inbound_delivery set body = '{}' where sha256 = ${hash}`;
  expect(await api.getInboundWebhook({ provider: "payments", sha256: hash })).toMatchObject({ body: null });
  await expect(api.getInboundWebhook({ provider: "stripe", sha256: hash })).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});

test("deposits of one user at one moment each lead to their own entry", async () => {
  const api = localApi(tenant.services.handlers, { actor: "admin:ops" });
  const references = Array.from({ length: 12 }, (_, index) => `tx_m${index}`);
  expect(new Set(await Promise.all(references.map((txRef) => pay(deposit({ userId: "usr_m", txRef })))))).toEqual(
    new Set([200]),
  );
  const { items } = await api.listInboundWebhooks({ limit: references.length });
  expect(items.map(({ reference }) => reference).toSorted()).toEqual(references.toSorted());
  for (const { sequence, reference } of items)
    expect(await api.getAuditEntry({ seq: sequence ?? 0 })).toMatchObject({ payload: { txRef: reference } });
});

test("what is refused is not on record, and is judged anew when it comes again", async () => {
  const raw = deposit({ txRef: "tx_bad", amountUsd: 0 });
  for (let repeat = 0; repeat < 2; repeat++) expect(await pay(raw)).toBe(400);
  expect(await kept(raw)).toEqual([]);
});
