import fc from "fast-check";
import { expect, test } from "vitest";
import { type Entry, sealedLine } from "../../src/app/audit/walk-log.ts";
import { auditLines, canonicalJson } from "../../src/domain/audit/audit-link.ts";
import type { SealedLines } from "../../src/domain/audit/chain-walk.ts";
import { parseJson } from "../../src/domain/json/parse-json.ts";

const PAYLOADS = [
  { amount: "25", side: "yes", userId: "usr_1" },
  {},
  { note: '},"hash":"0","ts":"1","keyId":"2","payloadText":"{}"}', nested: { list: [1, "a\\b", null] } },
  { hash: "x", keyId: "z", payloadText: "{}", ts: "y" },
  { reason: "line\nbreak \u2028 \u{1f600} \ud800" },
];
const damage = fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom("", " ", '"', "\\", "}", ",", "x", "\\u0061", "\t"));
const shape = fc.constantFrom<(entry: Entry) => unknown>(
  (entry) => entry,
  ({ payloadText, ...entry }) => ({ payloadText, ...entry }),
  (entry) => ({ ...entry, actor: 'user:"quoted"' }),
  (entry) => ({ ...entry, payloadText: ` ${entry.payloadText}` }),
  (entry) => ({ ...entry, payload: { ...entry.payload, amount: "26" } }),
);

/** What a line says when all of it is parsed; undefined for what is no entry. */
function parsed(line: string): SealedLines | undefined {
  const entry = parseJson(line) as Entry | undefined;
  if (typeof entry?.seq !== "number" || typeof entry.payloadText !== "string" || typeof entry.hash !== "string")
    return undefined;
  const shown = canonicalJson(entry.payload);
  const sealed = parseJson(entry.payloadText) as Entry["payload"] | undefined;
  const payloadText = sealed !== undefined && canonicalJson(sealed) === shown ? entry.payloadText : shown;
  return { lines: auditLines({ ...entry, seq: BigInt(entry.seq), payloadText }), hash: entry.hash };
}

function read(line: string): SealedLines | undefined {
  try {
    return sealedLine(line, "a line");
  } catch {
    return undefined;
  }
}

test("a line of an export is read as if all of it were parsed, and a damaged one never as what was sealed", () => {
  fc.assert(
    fc.property(fc.constantFrom(...PAYLOADS), shape, fc.array(damage, { maxLength: 2 }), (payload, change, damages) => {
      const payloadText = canonicalJson(payload);
      const entry = {
        ...{
          seq: 7,
          type: "trade.executed",
          actor: "user:usr_1",
          payload: JSON.parse(payloadText),
          hash: "f".repeat(64),
        },
        ...{ ts: "2026-01-01T00:00:00.000Z", keyId: "ak_0123456789ab", payloadText },
      } as Entry;
      const written = JSON.stringify(change(entry));
      const line = damages.reduce((text, [place, cut, piece]) => {
        const at = place % text.length;
        return text.slice(0, at) + piece + text.slice(at + cut);
      }, written);
      const found = read(line);
      const expected = parsed(line);
      if (expected) expect(found).toEqual(expected);
      else expect(found).not.toEqual(parsed(JSON.stringify(entry)));
    }),
    { numRuns: 2000 },
  );
});
