import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkReason } from "../../src/app/tenant/actor.ts";
import { checkMarketFile } from "../../src/config/tenant-files/market-files.ts";
import type { Api } from "../../src/contract/operations.ts";
import { doors, type TestDoor } from "../cli/support/doors.ts";
import { configErrorOf, parse, tenantText } from "../config/support.ts";
import { anyMarket } from "../support/market.ts";

/** Both ends of each range that text for people may not contain, and each half of a surrogate pair. */
const HIDDEN = [
  0x00, 0x09, 0x0a, 0x1f, 0x7f, 0x9f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069, 0xfeff, 0xd800, 0xdfff,
];
/** The neighbours of those ranges, and writing from right to left, which needs no marks. */
const SHOWN = [0x20, 0x7e, 0xa0, 0x2027, 0x202f, 0x2065, 0x206a, 0xfefe, 0xff00, 0x1f600, 0x05d0];

const hidden = HIDDEN.map((code): [string, string] => [`U+${code.toString(16)}`, `a${String.fromCodePoint(code)}b`]);
const shown = SHOWN.map((code): [string, string] => [`U+${code.toString(16)}`, `a${String.fromCodePoint(code)}b`]);
/** JSON in YAML double quotes says any character, half a pair too. */
const quoted = (text: string) =>
  `"${[...text].map((one) => (/[\w ?]/.test(one) ? one : `\\U${one.codePointAt(0)?.toString(16).padStart(8, "0")}`)).join("")}"`;

describe.each(doors)("through the door %s", (_name, open) => {
  let door: TestDoor;
  let api: Api;
  beforeAll(async () => {
    door = await open();
    api = door.api();
    await door.deposit("usr_1", 5);
  });
  afterAll(() => door?.close());
  const refused = { code: "BAD_REQUEST", status: 400, exitCode: 6 };

  test.each(hidden)("a market takes %s in none of its texts", async (_code, text) => {
    const change: Record<string, unknown>[] = [
      { question: text },
      { category: text },
      { resolutionRef: text },
      { meta: { [text]: 1 } },
      { meta: { deep: [{ [text]: 1 }] } },
    ];
    if (!/[\t\n]/.test(text)) change.push({ meta: { value: text } }, { meta: { deep: [{ list: [text] }] } });
    for (const each of change) await expect(api.createMarket(anyMarket(each) as never)).rejects.toMatchObject(refused);
    await expect(api.creditWallet({ id: "usr_1", amount: 1, reason: text })).rejects.toMatchObject(refused);
  });

  test.each(hidden)("a hedge tag and the custom oracle's address take no %s", async (_code, text) => {
    const { id } = await api.createMarket(anyMarket({}));
    const tag = { symbol: "BTCUSD", direction: "long", notional: 1, externalRef: "pos-7" } as const;
    const trade = { marketId: id, selection: { side: "yes" }, amount: 1 } as const;
    for (const hedgeRef of [
      { ...tag, symbol: text },
      { ...tag, externalRef: text },
    ])
      await expect(door.api("usr_1").placeTrade({ ...trade, hedgeRef })).rejects.toMatchObject(refused);
    const patch = { resolution_url: `https://oracle.acme.example/${text}` };
    await expect(api.updatePolicy(patch as never)).rejects.toMatchObject(refused);
  });

  test("a market takes everything else as it is, and newlines and tabs in values of meta", async () => {
    for (const [, text] of shown) {
      const meta = { [text]: text, lines: `${text}\n\t${text}`, deep: [{ lines: "a\nb" }] };
      const { id } = await api.createMarket(anyMarket({ question: text, resolutionRef: text, meta }));
      expect(await api.getMarket({ id })).toMatchObject({ question: text, resolutionRef: text, meta });
      await api.creditWallet({ id: "usr_1", amount: 1, reason: text });
    }
  });
});

test.each(hidden.filter(([code]) => !/d800|dfff/.test(code)))(
  "files take %s neither in a market nor in a name",
  (_code, text) => {
    const terms = "category: crypto\nkind: lmsr\np0: 0.5\ncloseAt: 2030-01-01T00:00:00Z\n";
    for (const [question, reference] of [
      [text, "r"],
      ["q", text],
    ] as const) {
      const { problems } = checkMarketFile(
        `key: a\nquestion: ${quoted(question)}\n${terms}resolutionRef: ${quoted(reference)}\n`,
        "markets/a.yaml",
        new Map(),
      );
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatchObject({
        path: question === text ? "question" : "resolutionRef",
        file: "markets/a.yaml",
      });
      expect(problems[0]?.line).toBeGreaterThan(1);
    }
    const { problems } = configErrorOf(() => parse(tenantText({ name: quoted(text) })));
    expect(problems).toMatchObject([{ path: "name" }]);
  },
);

test.each(hidden)("--reason takes no %s", (_code, text) => {
  expect(() => checkReason(text)).toThrow(expect.objectContaining({ exitCode: 6 }));
});
test.each([
  ["pay\u202etac", "a direction mark (U+202E) at character 4"],
  ["\u{1f600}\n", "a control character (U+000A) at character 2"],
  ["a\ud800", "half a surrogate pair (U+D800) at character 2"],
  ["\ufeff", "a byte order mark (U+FEFF) at character 1"],
  ["\u2028", "a line separator (U+2028) at character 1"],
])("what a text may not hold is named: %j", (text, named) => {
  expect(() => checkReason(text)).toThrow(named);
});
test.each(shown)("--reason takes %s", (_code, text) => {
  expect(checkReason(text)).toBe(text);
});
