import { expect, test } from "vitest";
import { type Direction, parseTime, TimeSyntaxError } from "../../src/domain/time/time-grammar.ts";

/** A Wednesday, 14:30 in Berlin. */
const NOW = Date.parse("2030-01-16T13:30:00Z");
const read = (text: string, direction: Direction = "ahead", now = NOW) =>
  new Date(parseTime(text, now, direction)).toISOString().replace(":00.000Z", "Z");

test("a duration points back or ahead as the option means it", () => {
  expect(["90s", "15m", "2h", "7d"].map((text) => parseTime(text, NOW, "ahead") - NOW)).toEqual([
    90_000, 900_000, 7_200_000, 604_800_000,
  ]);
  expect(parseTime("2h", NOW, "ago")).toBe(NOW - 7_200_000);
});

test("a day with a clock time is read by the clocks of its zone", () => {
  expect(read("today 18:00 Europe/Berlin")).toBe("2030-01-16T17:00Z");
  expect(read("today 9:00 UTC")).toBe("2030-01-16T09:00Z");
  expect(read("tomorrow 18:00 America/New_York")).toBe("2030-01-17T23:00Z");
  expect(read("Tomorrow 00:15 Asia/Kolkata")).toBe("2030-01-16T18:45Z");
  // It is the 17th already in Auckland.
  expect(read("today 09:00 Pacific/Auckland")).toBe("2030-01-16T20:00Z");
});

test("a weekday is the nearest one in the direction, the same day included", () => {
  expect(read("friday 18:00 UTC")).toBe("2030-01-18T18:00Z");
  expect(read("fri 18:00 UTC", "ago")).toBe("2030-01-11T18:00Z");
  expect(read("wednesday 18:00 UTC")).toBe("2030-01-16T18:00Z");
  expect(read("wednesday 18:00 UTC", "ago")).toBe("2030-01-09T18:00Z");
  expect(read("wednesday 09:00 UTC")).toBe("2030-01-23T09:00Z");
  expect(read("wednesday 09:00 UTC", "ago")).toBe("2030-01-16T09:00Z");
});

test("an hour that clocks skip is refused, and of one that they show twice the first is meant", () => {
  const beforeSpring = Date.parse("2030-03-30T12:00:00Z");
  expect(read("tomorrow 01:59 Europe/Berlin", "ahead", beforeSpring)).toBe("2030-03-31T00:59Z");
  expect(() => parseTime("tomorrow 02:30 Europe/Berlin", beforeSpring, "ahead")).toThrow(
    "Clocks in Europe/Berlin skip",
  );
  expect(read("tomorrow 03:00 Europe/Berlin", "ahead", beforeSpring)).toBe("2030-03-31T01:00Z");
  const beforeAutumn = Date.parse("2030-10-26T12:00:00Z");
  expect(read("tomorrow 02:30 Europe/Berlin", "ahead", beforeAutumn)).toBe("2030-10-27T00:30Z");
});

test("an instant needs its zone", () => {
  expect(read("2030-01-31T18:00:00Z")).toBe("2030-01-31T18:00Z");
  expect(read("2030-01-31T18:00+02:00")).toBe("2030-01-31T16:00Z");
  for (const text of ["2030-01-31", "2030-01-31T18:00:00", "2030-01-31 18:00", "today 18:00", "friday 18:00"])
    expect(() => parseTime(text, NOW, "ahead")).toThrow("The time has no zone");
});

test("whatever is no time is refused with the three ways to write one", () => {
  for (const text of ["", "0h", "-2h", "2w", "soon", "yesterday 18:00 UTC", "1767225600", "2030-02-30T00:00:00Z"])
    expect(() => parseTime(text, NOW, "ahead")).toThrow("The time must be a duration");
  expect(() => parseTime("today 24:00 UTC", NOW, "ahead")).toThrow(TimeSyntaxError);
  expect(() => parseTime("today 18:00 Europe/Belin", NOW, "ahead")).toThrow("no time zone Europe/Belin");
});
