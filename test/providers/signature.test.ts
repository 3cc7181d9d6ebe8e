import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isTimely, verifySignature } from "../../src/providers/signature.ts";
import { runs } from "../domain/random.ts";

const SECRET = "whsec_tenant_demo_0123456789abcdef";

/** Reference signatures, computed outside this project. */
const VECTORS = [
  {
    body: '{"userId":"usr_1","status":"passed","provider":"sumsub","verifiedAt":"2026-06-01T12:00:00Z"}',
    signature: "f3a67a0984134d3a4b3761e47a0217b0a259aa9a2bb7e12bca9087539becef3c",
  },
  {
    body: '{"event":"deposit.completed","userId":"usr_1","amountUsd":250,"txRef":"tx_0001"}',
    signature: "4b104c685000cbbbe94f5ffca36689369bb66e465e4b9f573efb0ab8de41661b",
  },
  {
    body: '{"event":"deposit.completed","userId":"usr_1","amountUsd":250,"txRef":"tx_0001"}\n',
    signature: "c7c227ad211b96ffd363ca72d0a26e871e40a53fac53893d6a9256c7dd4626f3",
  },
];
const [{ body, signature }] = VECTORS as [(typeof VECTORS)[0]];
const bytes = Buffer.from(body);

describe("verifySignature", () => {
  test.each(VECTORS)("accepts the reference signature of $body", (vector) => {
    expect(verifySignature(Buffer.from(vector.body), vector.signature, [SECRET])).toBe(true);
  });

  test.each([
    ["the sha256= prefix", `sha256=${signature}`],
    ["upper case", signature.toUpperCase()],
    ["both", `SHA256=${signature.toUpperCase()}`],
  ])("accepts %s", (_name, header) => {
    expect(verifySignature(bytes, header, [SECRET])).toBe(true);
  });

  test("accepts any active secret, wherever it is in the list", () => {
    expect(verifySignature(bytes, signature, ["other", SECRET])).toBe(true);
    expect(verifySignature(bytes, signature, [SECRET, "other"])).toBe(true);
    expect(verifySignature(bytes, signature, ["other"])).toBe(false);
    expect(verifySignature(bytes, signature, [])).toBe(false);
  });

  test.each([
    ["no header", undefined],
    ["an empty one", ""],
    ["the prefix alone", "sha256="],
    ["a digit missing", signature.slice(1)],
    ["a digit more", `${signature}0`],
    ["a bad digit at the end", `${signature.slice(0, -1)}g`],
    ["rubbish after it", `${signature}zz`],
    ["two of them, as a header sent twice arrives", `${signature}, ${signature}`],
    ["base64", Buffer.from(signature, "hex").toString("base64")],
    ["another scheme", `sha1=${signature}`],
    ["an inner space", `sha256= ${signature}`],
    ["digits of another script", signature.replace(/\d/g, "\u0661")],
  ])("refuses %s", (_name, header) => {
    expect(verifySignature(bytes, header, [SECRET])).toBe(false);
  });

  test("an empty secret never verifies, although anybody can sign under it", () => {
    const forged = createHmac("sha256", "").update(bytes).digest("hex");
    expect(verifySignature(bytes, forged, [""])).toBe(false);
  });

  test("never throws, and only the signed bytes pass", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.string(), (other, header) => {
        expect(verifySignature(other, header, [SECRET])).toBe(false);
        expect(verifySignature(other, signature, [SECRET])).toBe(Buffer.compare(other, bytes) === 0);
      }),
      runs(1000),
    );
  });
});

describe("isTimely", () => {
  const now = Date.parse("2026-06-01T12:00:00Z");
  test.each([
    [undefined, true],
    [String(now / 1000), true],
    [String(now / 1000 - 300), true],
    [String(now / 1000 + 300), true],
    [String(now / 1000 - 301), false],
    [String(now / 1000 + 301), false],
    ["2026-06-01T12:04:59Z", true],
    ["2026-06-01T14:04:59.5+02:00", true],
    ["2026-06-01T12:05:01Z", false],
    ["2026-06-01T11:54:59Z", false],
    [String(now), false],
    ["2026-06-01T12:00:00", false],
    ["2026-06-01", false],
    ["", false],
    ["now", false],
    ["-1", false],
    ["1e9", false],
    [`${now / 1000}, ${now / 1000}`, false],
  ])("%s: %s", (header, expected) => {
    expect(isTimely(header, now)).toBe(expected);
  });
});
