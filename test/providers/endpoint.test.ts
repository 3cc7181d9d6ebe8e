import { createHmac } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { type EndpointSecrets, inboundFault, signInbound } from "../../src/providers/endpoint.ts";
import { signBody } from "../../src/providers/signature.ts";
import { runs } from "../domain/random.ts";

const NOW_SEC = Date.UTC(2027, 0, 1) / 1000;
const STANDARD = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const TEXT = "a payment provider's secret of 32 bytes or more";
/** Behind the prefix stands no base64, so all of it is the key. */
const UNDECODABLE = "whsec_tenant_demo_0123456789abcdef";
const BODY = '{"event":"deposit.completed",  "txRef":"tx_☂"}\n';

type Headers = Record<string, string | undefined>;

/** As the scheme's own library signs; it takes other secrets than its own only as raw bytes. */
function signed(secret: string, { id = "msg_1", sec = NOW_SEC, body = BODY } = {}): Headers {
  const isStandard = secret === STANDARD;
  const webhook = isStandard ? new Webhook(secret) : new Webhook(new TextEncoder().encode(secret), { format: "raw" });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(sec),
    "webhook-signature": webhook.sign(id, new Date(sec * 1000), body),
  };
}
const v1 = (secret: string): Headers => ({ "x-signature": signBody(Buffer.from(BODY), secret) });

function holds(headers: Headers, endpoint: Partial<EndpointSecrets> = {}, body: Buffer = Buffer.from(BODY)): boolean {
  const secrets = { secrets: [TEXT, STANDARD, UNDECODABLE], scheme: "any", ...endpoint } as const;
  return inboundFault(body, (name) => headers[name], secrets, NOW_SEC * 1000 + 999) === undefined;
}

describe("a provider's webhook in the scheme of Standard Webhooks", () => {
  test.each([STANDARD, TEXT, UNDECODABLE])("holds as the scheme's own library signs it under %s", (secret) => {
    expect(holds(signed(secret))).toBe(true);
    expect(holds(signed(secret), { scheme: "v2" })).toBe(true);
    expect(holds(signed(secret), { secrets: [] })).toBe(false);
    expect(holds(signed(secret), { secrets: ["a secret of another endpoint, also long"] })).toBe(false);
  });

  test.each([
    [-301, false],
    [-300, true],
    [300, true],
    [301, false],
  ])("%i seconds off: %s", (off, expected) => {
    expect(holds(signed(STANDARD, { sec: NOW_SEC + off }))).toBe(expected);
  });

  test("holds when one of several signatures does, whatever the others are", () => {
    const { "webhook-signature": good, ...rest } = signed(STANDARD);
    const bad = `v1,${Buffer.alloc(32, 1).toString("base64")}`;
    const joined = (...parts: (string | undefined)[]) => holds({ ...rest, "webhook-signature": parts.join(" ") });
    expect(joined(bad, good)).toBe(true);
    expect(joined(good, bad)).toBe(true);
    expect(joined("v1a,rubbish", "", "v1,", good)).toBe(true);
    expect(joined(bad, bad)).toBe(false);
    expect(joined(good?.replace("v1,", "v2,"))).toBe(false);
    expect(joined(good?.slice(3))).toBe(false);
    expect(joined(`${good}A`)).toBe(false);
  });

  test.each<[string, Headers]>([
    ["another id", { "webhook-id": "msg_2" }],
    ["another time", { "webhook-timestamp": String(NOW_SEC + 1) }],
    ["no id", { "webhook-id": undefined }],
    ["no time", { "webhook-timestamp": undefined }],
    ["an empty signature", { "webhook-signature": "" }],
    ["a time with a fraction", { "webhook-timestamp": `${NOW_SEC}.0` }],
    ["a time in hex", { "webhook-timestamp": `0x${NOW_SEC.toString(16)}` }],
    ["a time with rubbish behind it", { "webhook-timestamp": `${NOW_SEC}z` }],
    ["a time in milliseconds", { "webhook-timestamp": String(NOW_SEC * 1000) }],
    ["a time that is sent twice", { "webhook-timestamp": `${NOW_SEC}, ${NOW_SEC}` }],
  ])("with %s does not hold", (_name, headers) => {
    expect(holds({ ...signed(STANDARD), ...headers })).toBe(false);
  });

  test.each([
    ["x".repeat(255), true],
    ["!~,-/", true],
    ["x".repeat(256), false],
    ["", false],
    // The dot separates what is signed: with one in the id, part of the time could pass for part of the id.
    ["msg.1", false],
    ["msg 1", false],
    ["msg\t1", false],
    ["é", false],
    ["\u0000", false],
  ])("under the id %j: %s", (id, expected) => {
    expect(holds(signed(STANDARD, { id }))).toBe(expected);
  });

  test("is verified over the bytes that arrived, also those that are no UTF-8", () => {
    const bytes = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
    const key = Buffer.from(STANDARD.slice("whsec_".length), "base64");
    const mac = createHmac("sha256", key).update(`msg_1.${NOW_SEC}.`).update(bytes).digest("base64");
    const headers = { ...signed(STANDARD), "webhook-signature": `v1,${mac}` };
    expect(holds(headers, {}, bytes)).toBe(true);
    // What a library that decodes first would take for the same body.
    expect(holds(headers, {}, Buffer.from(bytes.toString()))).toBe(false);
  });

  test("never holds under an empty key, which anybody has", () => {
    for (const secret of ["", "whsec_"]) {
      const mac = createHmac("sha256", "").update(`msg_1.${NOW_SEC}.${BODY}`).digest("base64");
      expect(holds({ ...signed(STANDARD), "webhook-signature": `v1,${mac}` }, { secrets: [secret] })).toBe(false);
    }
  });

  test("is signed here as its library verifies it", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), fc.string({ unit: "grapheme" }), (key, body) => {
        const secret = `whsec_${Buffer.from(key).toString("base64")}`;
        const headers = signInbound("msg_7", Buffer.from(body), NOW_SEC, secret);
        const library = new Webhook(secret);
        const at = new Date(NOW_SEC * 1000);
        expect(headers["webhook-signature"]).toBe(library.sign("msg_7", at, Buffer.from(body)));
        expect(holds(headers, { secrets: [secret] }, Buffer.from(body))).toBe(true);
      }),
      runs(200),
    );
  });
});

describe("the two schemes", () => {
  test("are both taken, unless the endpoint takes v2 only", () => {
    expect(holds(v1(TEXT))).toBe(true);
    expect(holds(v1(TEXT), { scheme: "v2" })).toBe(false);
  });

  test("do not stand in for each other: beside a webhook-signature the old one does not count", () => {
    expect(holds({ ...v1(TEXT), ...signed(TEXT, { sec: NOW_SEC - 301 }) })).toBe(false);
    expect(holds({ ...v1(TEXT), "webhook-signature": "" })).toBe(false);
    expect(holds({ "x-signature": "0", ...signed(TEXT) })).toBe(true);
  });
});
