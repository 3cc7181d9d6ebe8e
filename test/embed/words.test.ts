import { expect, test } from "vitest";
import { operations } from "../../src/contract/operations.ts";
import { faultFacts } from "../../src/domain/fault.ts";
import { Refused } from "../../src/embed/api.ts";
import { wordsFor } from "../../src/embed/words.ts";

test("the widget has words of its own, which are translated, for every refusal of a trade", () => {
  const english = "What the server says of a limit of 25 USD";
  const untold = operations.placeTrade.refusals.filter((code) => !wordsFor(new Refused(code, english)).key);
  expect(untold).toEqual([]);
});

test("the widget offers what the API names as the user's action; support is named in words", () => {
  for (const code of operations.placeTrade.refusals) {
    const { action } = faultFacts(code);
    expect([code, wordsFor(new Refused(code, "")).offer]).toEqual([code, action === "contact" ? undefined : action]);
  }
});
