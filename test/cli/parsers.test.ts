import { expect, test } from "vitest";
import { decimal, marketOutcome, settledOutcome } from "../../src/cli/input/parsers.ts";

test("a decimal takes every digit that a program prints of a number, as the API does", () => {
  for (const value of [0.9564017511843703, 1 / 3, 0.1 + 0.2, 12.5, -7]) expect(decimal(String(value))).toBe(value);
  for (const text of ["1e3", "1,5", "", ".5", "0x10", "1_000"])
    expect(() => decimal(text)).toThrow("It must be a number");
});

test("an outcome that is none is refused with what the command takes, and a bare number with the fraction it means", () => {
  expect(settledOutcome("yes=0.37")).toEqual({ yes: 0.37 });
  expect(() => settledOutcome("0.37")).toThrow("It must be yes, no, or what a YES share is paid, such as yes=0.37.");
  expect(() => settledOutcome("maybe")).toThrow("such as yes=0.4.");
  expect(() => settledOutcome("void")).toThrow("pmctl market void");
  expect(() => marketOutcome("0.5")).toThrow("yes, no, void, or what a YES share is paid, such as yes=0.5.");
});
