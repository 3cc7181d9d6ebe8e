import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { compiledDecoder } from "../../src/contract/compiled.ts";
import { csvOf } from "../../src/contract/csv.ts";
import { encode, interpret } from "../../src/contract/encode.ts";
import { operationIds, operations } from "../../src/contract/operations.ts";
import { streamEvents } from "../../src/contract/resources/stream.ts";
import { webhookBodies } from "../../src/contract/resources/webhooks.ts";
import { Timestamp, Usd, UsdAmount } from "../../src/contract/scalars.ts";

/** What no schema expects, and what a column, a sum or an older version may hold all the same. */
const strange = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, Number.NaN, Number.POSITIVE_INFINITY, -0, 1e300, 2 ** 60, -1, 1.000001),
  fc.constantFrom<unknown>("", "\0", "\ud800", "line\nline", "\u202eevil", "q".repeat(1000), "not a date"),
  fc.constantFrom<unknown>(2n ** 80n, -(2n ** 80n), 10n ** 400n, 0n, new Date(Number.NaN), Symbol("s"), () => 1),
  fc.constantFrom<unknown>(8.64e15 + 1, -62_135_596_800_001, 253_402_300_800_000, [], {}, [[1n]], { a: { b: 1n } }),
  fc.anything({ withBigInt: true, withDate: true }),
);

/** Values of about a schema's shape; any part may be strange. */
function nearly(schema: z.core.$ZodType, depth = 0): fc.Arbitrary<unknown> {
  if (depth > 6) return strange;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const within = (inner: z.core.$ZodType) => nearly(inner, depth + 1);
  const mostly = (shaped: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 12, arbitrary: shaped }, { weight: 1, arbitrary: strange });
  switch (def.type) {
    case "object": {
      const fields = Object.entries(def.shape).map(([key, field]) => [key, within(field)] as const);
      return mostly(fc.record({ ...Object.fromEntries(fields), unknownToTheSchema: strange }, { requiredKeys: [] }));
    }
    case "array":
      return mostly(fc.array(within(def.element), { maxLength: 3 }));
    case "record":
      return mostly(fc.dictionary(fc.string(), within(def.valueType), { maxKeys: 3 }));
    case "optional":
    case "nullable":
      return mostly(within(def.innerType));
    case "union":
      return mostly(fc.oneof(...def.options.map(within)));
    case "pipe":
      return within(def.out);
    case "bigint":
      return fc.oneof(fc.bigInt(), strange);
    case "number":
      return fc.oneof(fc.double(), fc.integer(), strange);
    case "enum":
      return fc.oneof(fc.constantFrom<unknown>(...Object.values(def.entries)), strange);
    default:
      return fc.oneof(fc.string({ unit: "binary" }), strange);
  }
}

/** Values that mostly fit the schema: 499 of 500 leaves are valid for their own schema. */
function mostlyFitting(schema: z.core.$ZodType, depth = 0): fc.Arbitrary<unknown> {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const within = (inner: z.core.$ZodType) => mostlyFitting(inner, depth + 1);
  const mostly = (shaped: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 499, arbitrary: shaped }, { weight: 1, arbitrary: strange });
  switch (def.type) {
    case "object": {
      const fields = Object.entries(def.shape).map(([key, field]) => [key, within(field)] as const);
      const required = Object.entries(def.shape).filter(([, field]) => field._zod.optin === undefined);
      const requiredKeys = required.map(([key]) => key);
      return mostly(fc.record(Object.fromEntries(fields), { requiredKeys }));
    }
    case "array":
      return mostly(fc.array(within(def.element), { maxLength: 3 }));
    case "record":
      return mostly(fc.dictionary(fc.string(), within(def.valueType), { maxKeys: 3 }));
    case "nullable":
      return mostly(fc.oneof(fc.constant(null), within(def.innerType)));
    case "optional":
    case "default":
      return mostly(within(def.innerType));
    case "union":
      return mostly(fc.oneof(...def.options.map(within)));
    case "pipe":
      return within(def.out);
    case "lazy":
      return mostly(fc.jsonValue({ maxDepth: 2 }));
    default: {
      const fitting = LEAVES.filter((leaf) => z.safeEncode(schema, leaf).success);
      const values = def.type === "enum" ? Object.values(def.entries) : def.type === "literal" ? def.values : fitting;
      return values.length === 0 ? strange : mostly(fc.constantFrom<unknown>(...values));
    }
  }
}

const LEAVES = [
  ...[
    "a",
    "usr_1",
    "12",
    "Größer als 100 €?",
    "0".repeat(64),
    "https://example.org/x",
    "10.0.0.0/8",
    "US-NY",
    "2027-01-31T18:00:00.000Z",
  ],
  ...[0, 1, 0.5, -1, 200, 1_800_000_000_000, 1.25, 0n, 1n, 2_500_000n, -7n, true, false, null],
];

const schemas: [name: string, schema: z.ZodType][] = [
  ...operationIds.map((id): [string, z.ZodType] => [id, operations[id].output]),
  ...Object.entries(streamEvents).map(([name, schema]): [string, z.ZodType] => [`event ${name}`, schema]),
  ...Object.entries(webhookBodies).map(([name, schema]): [string, z.ZodType] => [`webhook ${name}`, schema]),
];

describe("encoding is total:", () => {
  test.each(schemas)("%s: whatever the value, there is JSON, and what fits is not called a mismatch", (_, schema) => {
    fc.assert(
      fc.property(nearly(schema), (value) => {
        const { wire, mismatch } = encode(schema, value);
        const text = JSON.stringify(wire);
        if (wire !== undefined) expect(JSON.parse(text)).toBeDefined();
        expect(text ?? "").not.toContain("unknownToTheSchema");
        if (mismatch === undefined) expect(z.safeEncode(schema, value).success).toBe(true);
        else expect(mismatch.length).toBeLessThan(10_000);
      }),
      { numRuns: 150, seed: 11 },
    );
  });
});

test("a compiled encoder gives what zod gives, and finds the same mismatches", () => {
  for (const [name, schema] of schemas) {
    let fitting = 0;
    const values = fc.oneof({ weight: 3, arbitrary: mostlyFitting(schema) }, { weight: 1, arbitrary: nearly(schema) });
    fc.assert(
      fc.property(values, (value) => {
        const encoded = encode(schema, value);
        expect(encoded, name).toStrictEqual(interpret(schema, value));
        if (encoded.mismatch === undefined) fitting += 1;
      }),
      { numRuns: 40, seed: 14 },
    );
    expect(fitting, name).toBeGreaterThan(0);
  }
});

test("a compiled decoder takes what zod takes, makes the same of it, and names the same faults", () => {
  const taken = new Set<string>();
  for (const id of operationIds) {
    const schema: z.ZodType = operations[id].input;
    const decoder = compiledDecoder(schema);
    const examples = schema.meta()?.examples;
    const exemplary = Array.isArray(examples) ? [fc.constantFrom<unknown>(...examples)] : [];
    const requests = mostlyFitting(schema).map((value) => interpret(schema, value).wire);
    fc.assert(
      fc.property(fc.oneof(...exemplary, requests, nearly(schema)), (value) => {
        const { data, error } = decoder.safeParse(value);
        const byZod = schema.safeParse(value);
        expect({ data, issues: error?.issues }, id).toStrictEqual({ data: byZod.data, issues: byZod.error?.issues });
        if (byZod.success) taken.add(id);
      }),
      { numRuns: 20, seed: 14 },
    );
  }
  expect(taken).toContain("placeTrade");
  expect(taken.size).toBeGreaterThan(operationIds.length / 2);
});

describe("what does not fit is told as well as it can be:", () => {
  const row = z.object({ id: z.string(), amount: UsdAmount, at: Timestamp, name: z.string().max(3) });
  const good = { id: "a", amount: 2_500_000n, at: 0, name: "ann" };
  const fits = { id: "a", amount: 2.5, at: "1970-01-01T00:00:00.000Z", name: "ann" };

  test.each([
    ["what fits, as it is", {}, {}],
    ["an amount out of bounds", { amount: -1_000_000n }, { amount: -1 }],
    ["an amount beyond 2^53 micro-dollars", { amount: 2n ** 70n }, { amount: Number(2n ** 70n) / 1e6 }],
    ["null where a number is meant: null, and not 0", { amount: null, at: null }, { amount: null, at: null }],
    ["no date", { at: Number.NaN }, { at: null }],
    ["a date beyond all dates", { at: 9e15 }, { at: 9e15 }],
    ["a text that is too long", { name: "anne" }, { name: "anne" }],
    ["a bigint where a text is meant", { id: 7n }, { id: 7 }],
    ["a field that the schema does not name: nothing", { secret: "s", name: "anne" }, { name: "anne" }],
  ])("%s", (_, change, told) => {
    const { wire, mismatch } = encode(row, { ...good, ...change });
    expect(JSON.parse(JSON.stringify(wire))).toEqual({ ...fits, ...told });
    expect(mismatch === undefined).toBe(Object.keys(told).length === 0);
    expect(encode(z.array(row), [good, { ...good, ...change }]).wire).toEqual([fits, { ...fits, ...told }]);
  });

  test("a mismatch names the place, and neither the value nor more than five of many", () => {
    const { mismatch = "" } = encode(z.array(row), Array(9).fill({ ...good, name: "secret" }));
    expect(mismatch).toMatch(/^0\.name: .*and 4 more$/);
    expect(mismatch).not.toContain("secret");
  });

  test("a sum is told to the nearest micro-dollar, however large", () => {
    for (const usd of [2 ** 33, 2 ** 40, -(2 ** 40), 0])
      expect(Number(encode(Usd, BigInt(usd) * 1_000_000n).wire)).toBe(usd);
  });
});

test("sums beyond 2^33 dollars keep each decimal in JSON and CSV, and calculate as doubles", () => {
  const schema = z.object({ sum: Usd, list: z.array(Usd), none: Usd.nullable() });
  const value = { sum: 49_999_999_998_999_999n, list: [-49_999_999_998_999_999n, 1n], none: null };
  for (const encoded of [encode(schema, value), interpret(schema, { ...value, sum: 1n, list: [] })])
    expect(encoded.mismatch).toBeUndefined();
  const { wire } = encode(schema, value);
  expect(JSON.stringify(wire)).toBe('{"sum":49999999998.999999,"list":[-49999999998.999999,0.000001],"none":null}');
  expect(Number((wire as { sum: number }).sum)).toBe(49_999_999_999);
  expect(csvOf(["sum"], [wire as { sum: number }])).toBe("sum\r\n49999999998.999999\r\n");
  // Beside a field that does not fit, too.
  const approximated = interpret(schema, { ...value, none: "x" });
  expect(JSON.stringify(approximated.wire)).toContain('"sum":49999999998.999999');
});
