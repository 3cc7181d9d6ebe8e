import { describe, expect, test } from "vitest";
import { signAsStripe, verifyStripeSignature } from "../../src/providers/stripe/verify.ts";

/** The published vector: the whole secret, `whsec_` included, is the key. */
const SECRET = "whsec_test_secret";
const SEC = 1614265330;
const PAYLOAD = '{\n  "id": "evt_test_webhook",\n  "object": "event"\n}';
const V1 = "af4ead0627a34a8cca29808e8de9ada8e41a92e6237c63cef6eacf51d36cca34";
const HEADER = `t=${SEC},v1=${V1}`;

const verify = (header: string | undefined, { payload = PAYLOAD, secrets = [SECRET], laterSec = 0 } = {}) =>
  verifyStripeSignature(Buffer.from(payload), header, secrets, (SEC + laterSec) * 1000);

describe("Stripe-Signature", () => {
  test("of the published vector is made as published, and verifies", async () => {
    expect(await signAsStripe(PAYLOAD, SECRET, SEC * 1000)).toBe(HEADER);
    expect(await verify(HEADER)).toBe(true);
  });

  test("may carry other versions and older signatures beside the good one, under any active secret", async () => {
    expect(await verify(`t=${SEC},v1=${"0".repeat(64)},v1=${V1},v0=1234`)).toBe(true);
    expect(await verify(HEADER, { secrets: ["whsec_next", SECRET] })).toBe(true);
  });

  test.each([
    [300, true],
    [301, false],
    [-300, true],
    [-301, false],
  ])("%i seconds after its time: %s", async (laterSec, expected) => {
    expect(await verify(HEADER, { laterSec })).toBe(expected);
  });

  test("holds for these bytes and this secret only", async () => {
    expect(await verify(HEADER, { payload: `${PAYLOAD}\n` })).toBe(false);
    expect(await verify(HEADER, { secrets: [SECRET.slice("whsec_".length)] })).toBe(false);
    expect(await verify(HEADER, { secrets: [] })).toBe(false);
    expect(await verify(undefined)).toBe(false);
    expect(await verify(`t=${SEC},v0=${V1}`)).toBe(false);
    expect(await verify(`t=${SEC},t=${SEC},v1=${V1}`)).toBe(false);
  });
});
