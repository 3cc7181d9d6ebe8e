import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { signMessage } from "../../src/outgoing/sign.ts";

const NOW = Date.UTC(2027, 0, 1);
const BODY = '{"type":"order.filled","data":{"question":"Wird es regnen? ☂"}}';
const STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const plain = (secret: string) =>
  createHmac("sha256", secret)
    .update(`evt_1.${NOW / 1000}.${BODY}`)
    .digest("base64");

beforeAll(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
});
afterAll(() => {
  vi.useRealTimers();
});

/** The published vectors of Standard Webhooks, from the tests of its libraries. */
const PUBLISHED = [
  {
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    sec: 1614265330,
    body: '{"test": 2432232314}',
    signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
  {
    secret: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    id: "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
    sec: 1649367553,
    body: '{"email":"test@example.com","username":"test_user"}',
    signature: "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
  },
];

describe("an outgoing signature", () => {
  test.each(PUBLISHED)("of $id is the published one", ({ secret, id, sec, body, signature }) => {
    expect(signMessage(id, body, sec * 1000, [secret])["webhook-signature"]).toBe(signature);
  });

  test("is what the official library verifies, and no other body's or secret's", () => {
    const headers = signMessage("evt_1", BODY, NOW, [STANDARD]);
    expect(headers).toMatchObject({ "webhook-id": "evt_1", "webhook-timestamp": String(NOW / 1000) });
    expect(new Webhook(STANDARD).verify(BODY, headers)).toEqual(JSON.parse(BODY));
    expect(() => new Webhook(STANDARD).verify(`${BODY} `, headers)).toThrow();
    expect(() => new Webhook("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").verify(BODY, headers)).toThrow();
  });

  test("is good for the old secret and the new one while they change", () => {
    const old = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const headers = signMessage("evt_1", BODY, NOW, [STANDARD, old]);
    expect(headers["webhook-signature"].split(" ")).toHaveLength(2);
    for (const secret of [STANDARD, old]) expect(new Webhook(secret).verify(BODY, headers)).toBeTruthy();
  });

  test.each(["a passphrase, with spaces", "whsec_not_base64-at_all", "0123456789abcdef-ö"])(
    "under %j, which is no base64, is an HMAC under its bytes",
    (secret) => {
      expect(signMessage("evt_1", BODY, NOW, [secret])["webhook-signature"]).toBe(`v1,${plain(secret)}`);
    },
  );

  test("under base64 without a prefix is right for both who decode it and who do not", () => {
    const secret = STANDARD.slice("whsec_".length);
    const headers = signMessage("evt_1", BODY, NOW, [secret]);
    expect(new Webhook(secret).verify(BODY, headers)).toBeTruthy();
    expect(headers["webhook-signature"].split(" ")).toContain(`v1,${plain(secret)}`);
  });
});
