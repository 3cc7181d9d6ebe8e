import { createHash, createHmac } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  auditLines,
  auditPreimage,
  canonicalJson,
  GENESIS_HASH,
  type Json,
} from "../../src/domain/audit/audit-link.ts";
import { hmacOfTexts } from "../../src/domain/audit/hmac.ts";
import { auditHash, auditKey } from "../../src/domain/audit/seal.ts";
import { runs } from "./random.ts";

describe("canonicalJson", () => {
  test.each<[string, Json, string]>([
    [
      "keys sorted at every level",
      { b: { d: 1, c: 2 }, a: [{ z: 1, y: 2 }] },
      '{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}',
    ],
    ["sorted by code unit, not by language", { é: 1, z: 2, Z: 3, "10": 4, "9": 5 }, '{"10":4,"9":5,"Z":3,"z":2,"é":1}'],
    ["undefined entries left out", { a: undefined, b: null }, '{"b":null}'],
    ["arrays keep their order", [3, 1, 2], "[3,1,2]"],
    ["no line break, whatever the text", "a\nb\r\u2028\u0000", '"a\\nb\\r\u2028\\u0000"'],
    ["half a surrogate pair is escaped, so the text is valid UTF-8", "\ud800", '"\\ud800"'],
    ["empty containers", { a: [], b: {} }, '{"a":[],"b":{}}'],
  ])("%s", (_what, value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  test("keys in any order give the text of sorted keys, numbers among them too", () => {
    const sorted = (value: Json): string => {
      if (value === null || typeof value !== "object") return JSON.stringify(value);
      if (Array.isArray(value)) return `[${value.map(sorted)}]`;
      const keys = Object.keys(value).sort();
      return `{${keys.map((key) => `${JSON.stringify(key)}:${sorted(value[key] as Json)}`)}}`;
    };
    const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<Json>(null, true, 0.5, "x\u2028"),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("10", "9", "A", "a", "ab", "b", "é", "0"), tie("tree")),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        expect(canonicalJson(value)).toBe(sorted(value));
      }),
      runs(150),
    );
  });

  test("one line, equal values give equal text, and the text reads back as the value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false } as fc.JsonSharedConstraints), (value) => {
        const text = canonicalJson(value as Json);
        expect(text).not.toContain("\n");
        expect(canonicalJson(JSON.parse(text))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      runs(150),
    );
  });
});

describe("the chain's format is pinned", () => {
  const key = auditKey("audit-secret-0123456789-ümlaut");
  const entry = {
    seq: 1n,
    type: "market.settled",
    actor: "admin:ops",
    payloadText: '{"marketId":"mkt_1","outcome":"yes","paid":"25.5","reason":"final score 2\\u20131"}',
    ts: "2026-06-01T12:00:00.000Z",
    keyId: "ak_test",
  };

  test("the preimage is eight lines: format, previous hash, key, number, time, type, actor, payload", () => {
    expect(auditPreimage(GENESIS_HASH, auditLines(entry))).toBe(
      [
        "pmctl-audit-v1",
        "0".repeat(64),
        "ak_test",
        "1",
        "2026-06-01T12:00:00.000Z",
        "market.settled",
        "admin:ops",
        entry.payloadText,
      ].join("\n"),
    );
  });

  /** Computed once with `printf '%s' "$preimage" | openssl dgst -sha256 -hmac 'audit-secret-0123456789-ümlaut'`. */
  test("the hash is what openssl dgst says", () => {
    expect(auditHash(key, GENESIS_HASH, auditLines(entry))).toBe(
      "41bccde5d2647adb431a9f69d3392dcebbd0a6dd418376584e5769c1bc895e04",
    );
  });

  test("the HMAC is that of node:crypto, for keys and texts of any length and with halves of surrogate pairs", () => {
    const unit = fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 300 });
    const texts = fc.tuple(unit, fc.constantFrom(1, 1, 1, 40, 400)).map(([text, times]) => text.repeat(times));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 150 }), fc.array(texts, { maxLength: 4 }), (bytes, list) => {
        const hmac = hmacOfTexts(Buffer.from(bytes));
        for (const text of list) expect(hmac(text)).toBe(createHmac("sha256", bytes).update(text).digest("hex"));
      }),
      runs(100),
    );
  });

  test.each(["seq", "type", "actor", "payloadText", "ts", "keyId"] as const)("another %s is another hash", (field) => {
    const changed = { ...entry, [field]: field === "seq" ? 2n : `${entry[field]}x` };
    expect(auditHash(key, GENESIS_HASH, auditLines(changed))).not.toBe(auditHash(key, GENESIS_HASH, auditLines(entry)));
  });

  test("the key's id follows from the secret and does not reveal it", () => {
    expect(auditKey("a").id).not.toBe(auditKey("b").id);
    expect(auditKey("a").id).toBe(auditKey("a").id);
    expect(auditKey("a").id).toBe(`ak_${createHash("sha256").update("pmctl-audit-key\na").digest("hex").slice(0, 12)}`);
  });
});
