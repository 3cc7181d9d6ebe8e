import { describe, expect, test } from "vitest";
import { SAMPLE_EVENTS, sampleWebhook } from "../../src/app/webhooks/webhook-samples.ts";
import { operations } from "../../src/contract/operations.ts";
import { Deposit, KycEvent, StripeEvent } from "../../src/contract/resources/inbound.ts";
import { readStripeEvent } from "../../src/providers/stripe/read.ts";

const seed = { id: "0199", now: Date.UTC(2027, 0, 1) };

describe("a sample webhook", () => {
  test.each(SAMPLE_EVENTS)("of %s is one that the server takes", (event) => {
    const { endpoint, body } = sampleWebhook(event, [], seed);
    if (endpoint === "stripe") {
      const parsed = StripeEvent.parse({ ...body, tenantId: "acme" });
      expect(readStripeEvent(parsed.type, parsed.data.object)?.fact.kind).not.toBe("unusable");
      expect(readStripeEvent(parsed.type, parsed.data.object)?.reference).toBe("pi_0199");
    } else if (event.startsWith("kyc."))
      expect(KycEvent.safeParse({ ...body, tenantId: "acme" }).error).toBeUndefined();
    else if (endpoint === "oracle") {
      const { input } = operations.receivePrice;
      expect(input.safeParse({ ...body, tenantId: "acme" }).error).toBeUndefined();
      expect(sampleWebhook(event, ["price=12.50"], seed)).toMatchObject({
        path: "/oracle/inbound/",
        body: { price: "12.50" },
      });
    } else expect(Deposit.safeParse(body).error).toBeUndefined();
  });

  test("takes fields from the command line: text where text stands, numbers where they do, and fields that the sample leaves out", () => {
    const deposit = sampleWebhook("deposit.completed", ["userId=42", "amountUsd=12.5", "txRef=a=b"], seed);
    expect(deposit.body).toMatchObject({ userId: "42", amountUsd: 12.5, txRef: "a=b" });
    expect(sampleWebhook("kyc.passed", ["jurisdiction=CH"], seed).body).toMatchObject({ jurisdiction: "CH" });
    const { body } = sampleWebhook(
      "stripe:payment_intent.succeeded",
      ["metadata.userId=usr_9", "amount_received=700"],
      seed,
    );
    expect(body).toMatchObject({ data: { object: { metadata: { userId: "usr_9" }, amount_received: 700 } } });
  });

  test.each([
    ["kyc.pased", [], "did you mean kyc.passed?"],
    ["constructor", [], "the events are: kyc.passed"],
    ["stripe:constructor", [], "the events are:"],
    ["kyc.passed", ["userId"], "must be KEY=VALUE"],
    ["kyc.passed", ["__proto__.x=1"], "has no field"],
    ["deposit.completed", ["amount=1000"], 'has no field "amount"; did you mean amountUsd?'],
    ["deposit.completed", ["currency=EUR"], "its fields are: event, userId, amountUsd, txRef"],
    ["kyc.passed", ["juristiction=CH"], "did you mean jurisdiction?"],
    ["stripe:payment_intent.succeeded", ["metadata.user=usr_1"], "did you mean metadata.userId?"],
  ])("refuses %s %j", (event, assignments, message) => {
    expect(() => sampleWebhook(event, assignments, seed)).toThrow(message);
  });
});
