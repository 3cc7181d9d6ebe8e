import { iso31661, iso31662 } from "iso-3166";
import { expect, test } from "vitest";
import { isoCountries } from "../../src/domain/policy/countries.ts";
import { countryMeant, problemOfCountry } from "../../src/domain/policy/jurisdictions.ts";

test("the kept list has every country and subdivision of the package, and no other", () => {
  const listed = [...isoCountries()].flatMap(([country, subdivisions]) => [
    country,
    ...[...subdivisions].map((subdivision) => `${country}-${subdivision}`),
  ]);
  const published = [...iso31661.map(({ alpha2 }) => alpha2), ...iso31662.map(({ code }) => code)];
  expect(listed.toSorted()).toEqual(published.toSorted());
});

test.each(["GB", "US", "NO", "US-NY", "GB-ENG", "DE-BY", "CN-HK"])("%s is a code", (code) => {
  expect(problemOfCountry(code)).toBeUndefined();
});

test.each([
  ["UK", "UK is not a code; GB?", "GB"],
  ["UK-ENG", "UK-ENG is not a code; GB-ENG?", "GB-ENG"],
  ["XX", "XX is not a code of ISO 3166", undefined],
  ["US-ZZ", "US-ZZ is not a code: ISO 3166-2 has no ZZ in US", undefined],
  ["USA", "must be an ISO 3166 code such as US or US-NY", undefined],
  ["US-NY-X", "must be an ISO 3166 code such as US or US-NY", undefined],
  ["", "must be an ISO 3166 code such as US or US-NY", undefined],
])("%j is refused: %s", (code, problem, meant) => {
  expect(problemOfCountry(code)).toBe(problem);
  expect(countryMeant(code)).toBe(meant);
});
