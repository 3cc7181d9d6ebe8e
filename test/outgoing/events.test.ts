import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localApi } from "../../src/client/local-api.ts";
import {
  type WebhookEventType,
  webhookBodies,
  webhookEvents,
  webhookEventTypes,
} from "../../src/contract/resources/webhooks.ts";
import { contentOf } from "../../src/domain/audit/audit-payloads.ts";
import { type FollowedEntry, readEntriesAfter } from "../../src/queries/stream.ts";
import { liveEventsOf } from "../../src/services/streams.ts";
import {
  bodyOf,
  eventNamesOf,
  marketOf,
  type OutgoingEvent,
  outgoingEventsOf,
} from "../../src/services/webhooks/outgoing-events.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";

const QUESTION = "Will it rain?";

/**
 * The order of each event's fields. A delivery that is repeated after an upgrade is signed over bytes that the receiver
 * has seen under the same `webhook-id`, so a released order is kept.
 */
const FIELD_ORDER: Record<WebhookEventType, string> = {
  "order.filled":
    "sequence orderId tradeId userId marketId question side outcome action amount fee shares avgPrice yesPriceAfter realizedPnl ts hedgeRef",
  "market.created": "sequence marketId question status category kind p0 closeAt resolutionRef",
  "market.suspended": "sequence marketId question status",
  "market.resumed": "sequence marketId question status",
  "market.closed": "sequence marketId question status closeAt",
  "market.clarified": "sequence marketId question id text",
  "market.settled": "sequence marketId question status outcome settledAt payoutsProcessed paid",
  "market.voided":
    "sequence marketId question status settledAt reason payoutsProcessed refunded fromFees fromTreasury toTreasury",
  "market.corrected": "sequence marketId question status from outcome correctedAt reason takenBack receivables paid",
  "proposal.created":
    "sequence proposalId kind status marketId question outcome finalAt reason evidence approvalsNeeded",
  "proposal.approved": "sequence proposalId kind status marketId question outcome finalAt approvals approvalsNeeded",
  "proposal.objected": "sequence proposalId kind status marketId question outcome finalAt userId reason objections",
  "proposal.rejected": "sequence proposalId kind status marketId question outcome finalAt reason",
  "proposal.executed": "sequence proposalId kind status marketId question outcome finalAt",
  "wallet.credited": "sequence userId amount provider txRef cause",
  "kyc.updated": "sequence userId status provider verifiedAt jurisdiction",
  "user.notified": "sequence userId kind reason",
  "audit.anchored": "tenant seq hash ts keyId signature",
  "webhook.test": "sequence receiver",
};

let tenant: TestTenant;
let entries: FollowedEntry[];
let events: OutgoingEvent[];
let order: Awaited<ReturnType<ReturnType<TestTenant["api"]>["placeOrder"]>>;
let sale: Awaited<ReturnType<ReturnType<TestTenant["api"]>["placeTrade"]>>;

beforeAll(async () => {
  tenant = await openTestTenant({ correctionHours: 24 });
  const { services } = tenant;
  const marketId = await tenant.market();
  await tenant.deposit("usr_1", 500);
  const hedgeRef = { symbol: "btc", direction: "long", notional: 12_345, externalRef: "pos_1" } as const;
  order = await tenant.api("usr_1").placeOrder({ marketId, selection: { outcome: 1 }, amount: 25.37, hedgeRef });
  sale = await tenant.api("usr_1").placeTrade({ marketId, selection: { side: "yes", action: "sell" }, shares: 10 });
  await tenant.api().suspendMarket({ id: marketId });
  await tenant.api().resumeMarket({ id: marketId });
  await tenant.api().clarifyMarket({ id: marketId, text: "Drizzle counts." });
  for (const [status, verifiedAt] of [
    ["passed", 1000],
    ["failed", 2000],
  ] as const)
    await services.sequencer.submit({
      command: {
        type: "recordKyc",
        traderId: "usr_1",
        status,
        provider: "sumsub",
        verifiedAt,
        jurisdiction: status === "passed" ? "CH" : undefined,
      },
      actor: "provider:sumsub",
    });
  await services.sequencer.submit({
    command: { type: "recordAct", act: { type: "webhook.tested", payload: { receiver: "crm" } } },
    actor: "admin:ops",
  });
  await tenant.api().settleMarket({ marketId, outcome: "yes" });
  await tenant.api().correctMarket({ id: marketId, outcome: { yes: 0.4 }, reason: "The final report" });
  const voidedId = await tenant.market();
  await tenant.api().voidMarket({ id: voidedId, reason: "The match was called off" });
  const judgedId = await tenant.market({ resolution: { approvals: 2 } });
  await tenant.api("usr_1").placeTrade({ marketId: judgedId, selection: { side: "no" }, amount: 10 });
  const proposed = async (answer: Promise<object>) => (await answer) as { proposalId: string };
  const rejected = await proposed(
    tenant.api().settleMarket({ marketId: judgedId, outcome: { yes: 0.25 }, evidence: "A draw" }),
  );
  await tenant.api("usr_1").objectToProposal({ id: judgedId, reason: "It was no draw" });
  await tenant.api().rejectProposal({ id: rejected.proposalId, reason: "It was no draw" });
  const voided = await proposed(tenant.api().voidMarket({ id: judgedId, reason: "Nobody knows" }));
  const other = localApi(services.handlers, { actor: "admin:eve" });
  await other.approveProposal({ id: voided.proposalId });
  entries = await readEntriesAfter(tenant.sql, { after: 0n, limit: 500 }, services.isSealed);
  events = entries.flatMap((entry) =>
    outgoingEventsOf(entry, [marketId, voidedId, judgedId].includes(marketOf(entry) ?? "") ? QUESTION : ""),
  );
});
afterAll(() => tenant.close());

const find = <Type extends WebhookEventType>(type: Type) =>
  events.filter((event): event is Extract<OutgoingEvent, { type: Type }> => event.type === type);

describe("events derived from the log", () => {
  test("are what the contract says, every type of them", () => {
    for (const event of events) {
      const body: unknown = JSON.parse(bodyOf(event));
      expect(Object.keys(body as object)).toEqual(["type", "timestamp", "data"]);
      // Strict, so that nothing travels that is not documented.
      const schema = webhookBodies[event.type];
      expect([event.type, schema.safeParse(body).error]).toEqual([event.type, undefined]);
      const { data } = schema.shape as unknown as { data: { shape: object } };
      expect(Object.keys(data.shape)).toEqual(expect.arrayContaining(Object.keys((body as { data: object }).data)));
    }
    // A closing waits for its time, which the tests of the sweeper have; an anchor is no entry's event.
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set(webhookEventTypes.filter((type) => type !== "market.closed" && type !== "audit.anchored")),
    );
  });

  test("keep the order of their fields, which their signed bytes depend on", () => {
    for (const event of events) {
      const { data } = JSON.parse(bodyOf(event)) as { data: object };
      const order = FIELD_ORDER[event.type].split(" ").filter((field) => field in data);
      expect([event.type, ...Object.keys(data)]).toEqual([event.type, ...order]);
    }
    expect(Object.keys(find("order.filled")[0]?.data ?? {})).toContain("hedgeRef");
    expect(Object.keys(find("order.filled")[1]?.data ?? {})).toEqual(expect.arrayContaining(["action", "realizedPnl"]));
    for (const type of webhookEventTypes)
      expect([type, ...Object.keys(webhookEvents[type].shape)]).toEqual([type, ...FIELD_ORDER[type].split(" ")]);
  });

  test("carry the whole order and its hedge tag, as the trader was answered", () => {
    const { orderId, tradeId, marketId, side, outcome, amount, fee, shares, avgPrice, yesPriceAfter, ts, hedgeRef } =
      order;
    expect(find("order.filled")[0]?.data).toEqual({
      sequence: expect.any(Number),
      userId: "usr_1",
      question: QUESTION,
      action: "buy",
      ...{ orderId, tradeId, marketId, side, outcome, amount, fee, shares, avgPrice, yesPriceAfter, ts, hedgeRef },
    });
    expect(hedgeRef).toMatchObject({ symbol: "BTC", notional: 12_345 });
  });

  test("tell what a settlement paid to the micro-dollar, however large it is", () => {
    const settled = entries.find(({ content }) => content?.type === "market.settled");
    if (settled?.content?.type !== "market.settled") throw new Error("nothing settled");
    const payload = { ...settled.content.payload, paid: "49999999998.999999" };
    const [event] = outgoingEventsOf({ ...settled, content: { type: "market.settled", payload } }, QUESTION);
    expect(event && bodyOf(event)).toContain('"paid":49999999998.999999}');
  });

  test("tell each step of a proposal: its market, its outcome, and who objects and why", () => {
    const named = { question: QUESTION, marketId: expect.any(String), finalAt: expect.stringMatching(/Z$/) };
    expect(find("proposal.created").map(({ data }) => data)).toEqual([
      expect.objectContaining({
        ...named,
        kind: "settle",
        outcome: { yes: 0.25 },
        evidence: "A draw",
        approvalsNeeded: 2,
      }),
      expect.objectContaining({ ...named, kind: "void", outcome: "void", reason: "Nobody knows", status: "pending" }),
    ]);
    expect(find("proposal.objected")[0]?.data).toMatchObject({
      userId: "usr_1",
      reason: "It was no draw",
      objections: 1,
    });
    expect(find("proposal.rejected")[0]?.data).toMatchObject({ status: "rejected", reason: "It was no draw" });
    expect(find("proposal.approved")[0]?.data).toMatchObject({ status: "pending", approvals: 2, approvalsNeeded: 2 });
    expect(find("proposal.executed")[0]?.data).toMatchObject({ ...named, kind: "void", status: "executed" });
  });

  test("tell a sale as one, with what it realised", () => {
    const { tradeId, amount, avgPrice, realizedPnl } = sale;
    expect(find("order.filled")[1]?.data).toMatchObject({ tradeId, action: "sell", amount, avgPrice, realizedPnl });
  });

  test("report a failed identity check twice: as a changed status, and as a reason to tell the user", () => {
    expect(find("kyc.updated").map(({ data }) => data.status)).toEqual(["passed", "failed"]);
    expect(find("user.notified").map(({ data }) => data)).toEqual([
      {
        sequence: find("kyc.updated")[1]?.data.sequence,
        userId: "usr_1",
        kind: "kyc.failed",
        reason: "Identity verification by sumsub failed",
      },
    ]);
  });

  test("are in the order of the commits, under ids of their own that do not change", () => {
    const sequences = events.flatMap(({ data }) => ("sequence" in data ? [data.sequence] : []));
    expect(sequences).toHaveLength(events.length);
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    expect(entries.flatMap(eventNamesOf).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });

  test("come of no other entries", () => {
    const entry = (type: string, payloadText: string): FollowedEntry => ({
      seq: 1n,
      hash: "0".repeat(64),
      ts: "2027-01-01T00:00:00.000Z",
      content: contentOf({ type, payloadText }),
    });
    for (const type of ["policy.updated", "wallet.debited", "key.created", "payment.conflict", "oracle.held"])
      expect(outgoingEventsOf(entry(type, '{"userId":"usr_1"}'))).toEqual([]);
    const closed = entry("market.closed", '{"marketId":"m","closeAt":"2027-01-01T00:00:00Z"}');
    const [event] = outgoingEventsOf(closed, QUESTION);
    expect(webhookBodies["market.closed"].safeParse(JSON.parse(bodyOf(event as OutgoingEvent))).error).toBeUndefined();
  });
});

test("a trade's live events keep the order of their fields", () => {
  const trade = entries.find(({ content }) => content?.type === "trade.executed") as FollowedEntry;
  expect(liveEventsOf(trade).map(({ name, data }) => `${name}: ${Object.keys(data).join(" ")}`)).toEqual([
    "price: marketId yesPrice noPrice ts",
    "trade: marketId side amount shares yesPriceAfter ts",
    "fill: tradeId marketId side amount fee shares yesPriceAfter ts",
  ]);
});

test("an entry whose text was broken has no events, and stops no other's", () => {
  for (const type of ["trade.executed", "kyc.updated", "market.settled"]) {
    const content = contentOf({ type, payloadText: '{"marketId":' });
    const broken = { ...(entries[0] as FollowedEntry), content };
    expect([eventNamesOf(broken), outgoingEventsOf(broken), marketOf(broken)]).toEqual([[], [], undefined]);
    expect(liveEventsOf(broken)).toEqual([]);
  }
});
