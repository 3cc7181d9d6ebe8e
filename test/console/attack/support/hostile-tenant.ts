import { createHmac } from "node:crypto";
import { expect } from "vitest";
import { localApi } from "../../../../src/client/local-api.ts";
import type { Api, OperationId } from "../../../../src/contract/operations.ts";
import type { Caller } from "../../../../src/services/invoke.ts";
import { configInput } from "../../../server/support/config-input.ts";
import { PUBLIC_KEY, userToken, WEBHOOK_SECRET } from "../../../server/support/harness.ts";
import { post as postStripe, signed } from "../../../server/support/stripe.ts";
import type { ServedTenant } from "../../../server/support/tenant.ts";
import { statedTexts } from "./free-texts.ts";
import { ADDRESS, BROKEN_OUT, COMMAND, FORMULA, LINE, long, MORE, OPEN, REVERSED } from "./hostile.ts";

export const USERS = [REVERSED, BROKEN_OUT, LINE, COMMAND, ADDRESS, long(255)];

/** Where to look at what strangers wrote, and which fields they filled. */
export interface HostileTenant {
  filled: ReadonlySet<string>;
  markets: readonly string[];
  /** Of a request that was refused. */
  requestId: string;
}

/** Fills a tenant with hostile texts, each by the way that a stranger has. */
export async function fillWithHostile(tenant: ServedTenant): Promise<HostileTenant> {
  const filled = new Set<string>();
  const note = (id: OperationId, input: unknown) => {
    for (const [path, text] of statedTexts(id, input)) if (text.includes(OPEN)) filled.add(path);
  };
  const as = (caller: Caller): Api => {
    const api = localApi(tenant.services.handlers, caller);
    const noted = (id: OperationId) => (input: Record<string, unknown>) => {
      note(id, input);
      return (api[id] as (given: object) => Promise<unknown>)(input);
    };
    return new Proxy(api, { get: (_, id) => noted(id as OperationId) });
  };
  const operator = as({ actor: `cli:${REVERSED}`, reason: LINE });
  const second = as({ actor: "admin:second", reason: MORE });
  const user = (id: string) => as({ actor: `user:${id}`, user: { id } });
  const inbound = async (id: "receiveKyc" | "receivePayment", path: string, event: object) => {
    note(id, event);
    const body = JSON.stringify(event);
    const signature = createHmac("sha256", WEBHOOK_SECRET).update(body).digest("hex");
    const headers = { "content-type": "application/json", "x-signature": signature };
    const response = await fetch(`${tenant.url}/${path}/inbound/acme`, { method: "POST", headers, body });
    expect([event, response.status, await response.text()]).toEqual([event, 200, expect.any(String)]);
  };
  const stripe = async (event: { id: string; type: string; data: { object: object } }) => {
    const payload = JSON.stringify({ object: "event", ...event });
    note("receiveStripe", JSON.parse(payload));
    expect((await postStripe(tenant.url, payload, signed(payload))).status).toBe(200);
  };

  await moneyComesIn(inbound, stripe);
  const markets = await marketsLive({ operator, second, user });
  await operator.creditWallet({ id: LINE, amount: 3, reason: LINE });
  await second.debitWallet({ id: BROKEN_OUT, amount: 2, reason: MORE });
  for (const id of USERS) await operator.restrictUser({ id });
  for (const id of USERS) await operator.releaseUser({ id });
  await configurationIsApplied(tenant, operator);
  await rowsOfOthers(tenant);
  const headers = { "x-api-key": PUBLIC_KEY, "content-type": "application/json" };
  const token = await userToken({ sub: REVERSED, jurisdiction: LINE, name: MORE });
  const refused = await fetch(`${tenant.url}/v1/trade`, {
    method: "POST",
    headers: { ...headers, authorization: `Bearer ${token}`, "user-agent": "<script>hit()</script>" },
    body: JSON.stringify({ marketId: MORE.slice(0, 60), selection: { side: "yes" }, amount: 1 }),
  });
  return { filled, markets, requestId: refused.headers.get("request-id") ?? "" };
}

type Inbound = (id: "receiveKyc" | "receivePayment", path: string, event: object) => Promise<void>;
type Stripe = (event: { id: string; type: string; data: { object: object } }) => Promise<void>;

async function moneyComesIn(inbound: Inbound, stripe: Stripe): Promise<void> {
  const references = [FORMULA, REVERSED, BROKEN_OUT, LINE, ADDRESS, long(255)];
  for (const [index, userId] of USERS.entries()) {
    const deposit = { event: "deposit.completed", userId, amountUsd: 500, txRef: references[index] };
    await inbound("receivePayment", "payments", { ...deposit, [LINE]: { more: REVERSED } });
    await inbound("receivePayment", "payments", { ...deposit, amountUsd: 400 });
    const verdict = { userId, provider: index === 0 ? BROKEN_OUT.replace(/[\u2060-\u2069\u202a-\u202e]/g, "") : LINE };
    const verifiedAt = new Date(Date.now() - 60_000).toISOString();
    await inbound("receiveKyc", "kyc", { ...verdict, status: index % 2 ? "failed" : "passed", verifiedAt });
    await inbound("receiveKyc", "kyc", { ...verdict, status: REVERSED, verifiedAt: new Date().toISOString() });
  }
  await inbound("receivePayment", "payments", { event: REVERSED, userId: LINE, amountUsd: BROKEN_OUT, txRef: LINE });
  const intent = { object: "payment_intent", status: "succeeded", amount: 900, amount_received: 900, currency: "usd" };
  const paid = { ...intent, id: REVERSED, metadata: { userId: BROKEN_OUT, note: LINE } };
  await stripe({ id: REVERSED, type: "payment_intent.succeeded", data: { object: paid } });
  const dispute = { id: LINE, amount: 900, currency: "usd", status: "lost", payment_intent: REVERSED, reason: LINE };
  await stripe({ id: LINE, type: "charge.dispute.closed", data: { object: dispute } });
  await stripe({
    id: BROKEN_OUT,
    type: BROKEN_OUT,
    data: { object: { [LINE]: LINE }, [LINE]: LINE },
    ...{ [LINE]: LINE },
  });
}

interface Parties {
  operator: Api;
  second: Api;
  user(id: string): Api;
}

/** Markets in every state: open, suspended, voided, corrected, and with proposals that wait and that were rejected. */
async function marketsLive({ operator, second, user }: Parties): Promise<string[]> {
  const terms = { category: "weather", kind: "lmsr", p0: 0.5, liquidityUsd: 100 } as const;
  const open = async (question: string, more: object = {}) => {
    const closeAt = new Date(Date.now() + 3_600_000).toISOString();
    const meta = { [LINE]: LINE, list: [MORE, { [LINE]: ADDRESS }] };
    const { id } = await operator.createMarket({ ...terms, question, closeAt, resolutionRef: LINE, meta, ...more });
    for (const [index, userId] of USERS.entries()) {
      const hedgeRef = { symbol: `${OPEN}<b>\u05d0`, externalRef: LINE, direction: "long", notional: 100 } as const;
      const wanted = { marketId: id, amount: 5 + index };
      if (index % 2) await user(userId).placeTrade({ ...wanted, selection: { side: "yes" }, hedgeRef } as never);
      else await user(userId).placeOrder({ ...wanted, selection: { outcome: 1 }, hedgeRef } as never);
    }
    return id;
  };
  const governed = { resolution: { approvals: 2, holdHours: 1 } };
  const [voided, corrected, halted, waiting, refused, wide] = [
    await open(LINE),
    await open(MORE),
    await open(FORMULA),
    await open(ADDRESS, governed),
    await open(`${LINE} again`, governed),
    await open(long(500)),
  ];
  for (const text of [LINE, MORE]) await operator.clarifyMarket({ id: halted, text: `${text}\n\t${text}` });
  await operator.suspendMarket({ id: halted });
  await operator.voidMarket({ id: voided, reason: REVERSED, evidence: BROKEN_OUT });
  await operator.settleMarket({ marketId: corrected, outcome: "yes", evidence: REVERSED });
  await second.correctMarket({ id: corrected, outcome: "no", reason: BROKEN_OUT, evidence: REVERSED });
  await operator.settleMarket({ marketId: waiting, outcome: "yes", evidence: REVERSED });
  for (const id of USERS) await user(id).objectToProposal({ id: waiting, reason: REVERSED });
  const proposal = await operator.voidMarket({ id: refused, reason: BROKEN_OUT, evidence: LINE });
  const { proposalId } = proposal as unknown as { proposalId: string };
  await second.rejectProposal({ id: proposalId, reason: REVERSED });
  await operator.voidMarket({ id: refused, reason: REVERSED });
  for (const id of USERS) {
    await user(id).requestWithdrawal({ amount: 12.5 });
    await user(id).submitSuitability({ answers: { [REVERSED]: 3, [LINE]: 4 } });
  }
  return [voided, corrected, halted, waiting, refused, wide];
}

async function configurationIsApplied({ services }: ServedTenant, operator: Api): Promise<void> {
  const { version } = await localApi(services.handlers, { actor: "cli:test" }).getConfig({});
  const plain = configInput();
  const closeAt = new Date(Date.now() + 7_200_000).toISOString();
  const terms = { category: "weather", kind: "lmsr", p0: 0.5, resolutionRef: LINE, meta: { [LINE]: MORE } } as const;
  const market = { ...terms, key: "rain", question: MORE, closeAt, liquidityUsd: 50, state: "open" };
  const declared = { ...market, closeAt: Date.parse(closeAt), [LINE]: REVERSED };
  const document = {
    ...plain.document,
    kyc: { required: false, [LINE]: REVERSED },
    treasury: { ...plain.document.treasury, [REVERSED]: LINE },
    markets: { ...plain.document.markets, [LINE]: { [REVERSED]: BROKEN_OUT } },
    embed: { title: REVERSED, [BROKEN_OUT]: [LINE] },
    keyring: { [LINE]: REVERSED },
    declared: { rain: declared, [LINE]: { ...declared, category: REVERSED } },
    adopted: { [REVERSED]: BROKEN_OUT },
  };
  const stated = { ...plain, ifVersion: version, document, markets: [market], adopted: [REVERSED], gitCommit: null };
  await operator.applyConfig(stated as never);
  const until = new Date(Date.now() + 3_600_000).toISOString();
  await operator.freezeConfig({ until, reason: LINE });
}

/** What receivers answered, and who was turned away: written by the server in the background. */
async function rowsOfOthers({ backend: { sql } }: ServedTenant): Promise<void> {
  await sql`insert into webhook_receiver (name, fingerprint, position, disabled_at) values ('crm', 'x', 1, 1000)`;
  for (const [index, excerpt] of [REVERSED, BROKEN_OUT, LINE, long(200)].entries())
    await sql`
      insert into webhook_delivery
        (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at, last_attempt_at, last_status, last_excerpt)
      values ('crm', ${`evt_${index}`}, ${index + 1}, 'order.filled', 'dead', 12, 1000, 0, 2000, 500, ${excerpt})`;
  await sql`
    insert into security_event (id, ts, event, reason, detail, address, fingerprint, key_name, route, count)
    values ('x', 1000, 'auth.failed', 'key', ${LINE}, ${REVERSED}, ${BROKEN_OUT}, ${REVERSED}, ${LINE}, 1)`;
}
