import { iso31661, iso31662 } from "iso-3166";
import { expect, test } from "vitest";
import { PlaceCode } from "../../src/contract/resources/policy.ts";
import { countryMeant, placeOf, problemOfCountry } from "../../src/domain/policy/jurisdictions.ts";

test("every country and subdivision of ISO 3166 is a code, and three letters mean their country", () => {
  const published = [...iso31661.map(({ alpha2 }) => alpha2), ...iso31662.map(({ code }) => code)];
  expect(published.filter((code) => problemOfCountry(code) !== undefined)).toEqual([]);
  expect(iso31661.filter(({ alpha2, alpha3 }) => placeOf(alpha3) !== alpha2)).toEqual([]);
});

test.each([
  ["gb", "GB"],
  ["UK", "GB"],
  ["uk-eng", "GB-ENG"],
  ["GBR", "GB"],
  ["usa-ny", "US-NY"],
  [" CH ", "CH"],
  ["EL", "GR"],
  ["SU", undefined],
  ["AN", undefined],
  ["XX", undefined],
  ["ZZ", undefined],
  ["US-ZZ", undefined],
  ["XXX", undefined],
  ["Switzerland", undefined],
  ["", undefined],
])("as a provider writes it, %j is %j", (code, place) => {
  expect(placeOf(code)).toBe(place);
});

test("identity checks and tokens are read so, and what has no form of a code is refused as before", () => {
  expect(["us-ny", "UK", "gbr", "XX"].map((code) => PlaceCode.parse(code))).toEqual(["US-NY", "GB", "GB", "XX"]);
  for (const text of ["XXX", "Switzerland", "", "U"]) expect(PlaceCode.safeParse(text).success).toBe(false);
});

test.each(["GB", "US", "NO", "US-NY", "GB-ENG", "DE-BY", "CN-HK"])("%s is a code", (code) => {
  expect(problemOfCountry(code)).toBeUndefined();
});

test.each([
  ["UK", "UK is not a code; GB?", "GB"],
  ["UK-ENG", "UK-ENG is not a code; GB-ENG?", "GB-ENG"],
  ["XX", "XX is not a code of ISO 3166", undefined],
  ["US-ZZ", "US-ZZ is not a code: ISO 3166-2 has no ZZ in US", undefined],
  ["USA", "USA is not a code; US?", "US"],
  ["GBR", "GBR is not a code; GB?", "GB"],
  ["USA-NY", "USA-NY is not a code; US-NY?", "US-NY"],
  ["USA-ZZ", "must be an ISO 3166 code such as US or US-NY", undefined],
  ["XXX", "must be an ISO 3166 code such as US or US-NY", undefined],
  ["US-NY-X", "must be an ISO 3166 code such as US or US-NY", undefined],
  ["", "must be an ISO 3166 code such as US or US-NY", undefined],
])("%j is refused: %s", (code, problem, meant) => {
  expect(problemOfCountry(code)).toBe(problem);
  expect(countryMeant(code)).toBe(meant);
});
