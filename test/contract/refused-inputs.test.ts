import { expect, test } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "../../src/config/schema/json-schema.ts";
import { type OperationId, operations } from "../../src/contract/operations.ts";
import { Fault } from "../../src/domain/fault.ts";
import { decodeInput } from "../../src/services/invoke.ts";
import { documentsWithOneMistake } from "../support/schema-places.ts";

const FRACTION = '{"yes": q} with 0 < q < 1, at most six decimals';

function refusalOf(id: OperationId, input: unknown): string {
  try {
    decodeInput(id, input);
    return "";
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

test("whatever an operation is asked with, a refused input is named in our words", () => {
  const ids = Object.keys(operations) as OperationId[];
  const told = ids.flatMap((id) => {
    const written = z.toJSONSchema(operations[id].input, { target: "draft-7", io: "input", unrepresentable: "any" });
    return [...documentsWithOneMistake(written as JsonSchema)].map(({ document }) => refusalOf(id, document));
  });
  expect([...new Set(told)].filter((text) => /Invalid|received|Too (small|big)|expected /.test(text))).toEqual([]);
  expect(told).toContain("amount: must be at most 8589934592");
});

test.each([
  ["placeTrade", { marketId: "m", selection: { side: "maybe" }, amount: 1 }, "selection.side: must be one of yes, no"],
  ["placeTrade", { marketId: "m", selection: {}, amount: 1 }, "selection.side: is required: one of yes, no"],
  ["placeTrade", { marketId: "m", selection: { side: "yes" }, amount: "1" }, "amount: must be a number"],
  ["placeTrade", { selection: { side: "yes" }, amount: 1 }, "marketId: is required"],
  ["settleMarket", { marketId: "m" }, "outcome: is required"],
  ["settleMarket", { marketId: "m", outcome: "void" }, `outcome: must be yes, no, or ${FRACTION}`],
  ["settleMarket", { marketId: "m", outcome: { yes: 1 } }, `outcome: must be yes, no, or ${FRACTION}`],
  [
    "correctMarket",
    { id: "m", outcome: { yes: 0.1234567 }, reason: "r" },
    `outcome: must be yes, no, void, or ${FRACTION}`,
  ],
  ["updatePolicy", { feeBps: 1e300 }, "feeBps: must be at most 1000"],
] as const)("%s with %j answers: %s", (id, input, sentence) => {
  expect(refusalOf(id, input)).toBe(sentence);
});
