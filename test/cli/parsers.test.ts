import { expect, test } from "vitest";
import { decimal } from "../../src/cli/input/parsers.ts";

test("a decimal takes every digit that a program prints of a number, as the API does", () => {
  for (const value of [0.9564017511843703, 1 / 3, 0.1 + 0.2, 12.5, -7]) expect(decimal(String(value))).toBe(value);
  for (const text of ["1e3", "1,5", "", ".5", "0x10", "1_000"])
    expect(() => decimal(text)).toThrow("It must be a number");
});
