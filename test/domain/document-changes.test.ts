import { describe, expect, test } from "vitest";
import { changesByKind, countChanges, listChanges, withWritten } from "../../src/domain/audit/document-changes.ts";

const document = {
  tenant: "acme",
  policy: { maxTradeUsd: 500, jurisdictions: { blocked: ["US"] } },
  kyc: { required: true },
  treasury: { capitalUsd: 100 },
  markets: { liquidityUsd: 10, files: ["markets/*.yaml"] },
  rateLimit: { perMinute: 20 },
  keyring: { ops: "admin fp:00000000" },
  declared: { rain: { question: "Rain?", closeAt: 0, state: "open" } },
  adopted: {},
};

describe("what differs between two applies", () => {
  test("is named as plans name it, each kind by itself; patterns of files and references of keys are no change", () => {
    const after = {
      ...document,
      policy: { ...document.policy, maxTradeUsd: 400 },
      markets: { liquidityUsd: 10, files: ["*.yaml"] },
      rateLimit: { perMinute: 30 },
      keyring: { web: "public fp:11111111" },
      declared: { rain: { question: "Rain?", closeAt: 0, state: "suspended" } },
    };
    const changes = changesByKind(document, after);
    expect(countChanges(changes)).toEqual({ policy: 1, markets: 1, keys: 2, settings: 1 });
    const at = { question: "Rain?", closeAt: "1970-01-01T00:00:00.000Z" };
    expect(listChanges(changes)).toEqual([
      { field: "policy.maxTradeUsd", before: 500, after: 400 },
      { field: "markets.rain", before: { ...at, state: "open" }, after: { ...at, state: "suspended" } },
      { field: "keys.ops", before: "admin fp:00000000", after: null },
      { field: "keys.web", before: null, after: "public fp:11111111" },
      { field: "rateLimit.perMinute", before: 20, after: 30 },
    ]);
  });

  test("a live value that an apply kept counts in place of the file's", () => {
    const adopted = { "policy.maxTradeUsd": 30, "markets.rain": "suspended", "kyc.required": false };
    expect(listChanges(changesByKind(document, { ...document, adopted }))).toMatchObject([
      { field: "policy.maxTradeUsd", before: 500, after: 30 },
      { field: "markets.rain", after: { state: "suspended" } },
      { field: "kyc.required", before: true, after: false },
    ]);
    expect(listChanges(changesByKind(document, { ...document, adopted: { "policy.maxTradeUsd": 500 } }))).toEqual([]);
  });

  test("what was written over live values counts too, once and with what it replaced", () => {
    const after = { ...document, policy: { ...document.policy, maxTradeUsd: 400 } };
    const written = {
      maxTradeUsd: { from: 77, to: 400 },
      jurisdictions: { from: { allowed: [], blocked: ["US"] }, to: { allowed: ["GB"], blocked: ["US"] } },
    };
    const changes = withWritten(changesByKind(document, after), written);
    expect(changes.policy).toEqual([
      { field: "policy.jurisdictions.allowed", before: [], after: ["GB"] },
      { field: "policy.maxTradeUsd", before: 77, after: 400 },
    ]);
    expect(countChanges(changes)).toMatchObject({ policy: 2, markets: 0 });
  });

  test("a first apply lists no defaults; a document may lack sections", () => {
    const first = listChanges(changesByKind(undefined, document)).map(({ field }) => field);
    expect(first).toEqual([
      ...["policy.jurisdictions.blocked", "policy.maxTradeUsd", "markets.rain", "keys.ops"],
      ...["kyc.required", "markets.liquidityUsd", "treasury.capitalUsd"],
    ]);
    expect(countChanges(changesByKind({ tenant: "acme" }, { tenant: "acme", policy: {} }))).toEqual({
      policy: 0,
      markets: 0,
      keys: 0,
      settings: 0,
    });
  });
});
