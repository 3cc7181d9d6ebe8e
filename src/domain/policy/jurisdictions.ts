import { createRequire } from "node:module";

interface Country {
  alpha3: string;
  /** Codes without the country prefix. */
  subdivisions: Set<string>;
}

let countries: Map<string, Country> | undefined;

/** ISO 3166 by alpha-2 code, with subdivisions. Loaded at the first lookup: that takes 8 ms, which should not delay starts. */
function isoCountries(): ReadonlyMap<string, Country> {
  if (countries) return countries;
  const { iso31661, iso31662 } = createRequire(import.meta.url)("iso-3166") as typeof import("iso-3166");
  countries = new Map(iso31661.map(({ alpha2, alpha3 }) => [alpha2, { alpha3, subdivisions: new Set<string>() }]));
  for (const { code, parent } of iso31662)
    countries.get(parent.slice(0, 2))?.subdivisions.add(code.slice(code.indexOf("-") + 1));
  return countries;
}

/** The alpha-2 code of a country by its alpha-3 code. */
function alpha2Of(alpha3: string): string | undefined {
  if (!/^[A-Z]{3}$/.test(alpha3)) return undefined;
  return [...isoCountries()].find(([, country]) => country.alpha3 === alpha3)?.[0];
}

/** The problem of a country or subdivision code in capital letters; undefined for a code of ISO 3166. */
export function problemOfCountry(code: string): string | undefined {
  if (isCountry(code)) return undefined;
  const meant = countryMeant(code);
  if (meant !== undefined) return `${code} is not a code; ${meant}?`;
  if (!/^[A-Z]{2}(-[A-Z0-9]{1,3})?$/.test(code)) return "must be an ISO 3166 code such as US or US-NY";
  const [country = "", subdivision] = code.split("-");
  return isCountry(country)
    ? `${code} is not a code: ISO 3166-2 has no ${subdivision} in ${country}`
    : `${code} is not a code of ISO 3166`;
}

/**
 * The current code for another or former ISO 3166 code: `GB` for `GBR`, and for `UK` according to Unicode's aliases.
 */
export function countryMeant(code: string): string | undefined {
  const [country = "", ...subdivision] = code.split("-");
  const region = alpha2Of(country) ?? aliasOf(country);
  const meant = [region, ...subdivision].join("-");
  return meant !== code && isCountry(meant) ? meant : undefined;
}

function aliasOf(country: string): string | undefined {
  return /^[A-Z]{2}$/.test(country) ? new Intl.Locale(`und-${country}`).region : undefined;
}

function isCountry(code: string): boolean {
  const [country = "", subdivision, ...rest] = code.split("-");
  if (rest.length > 0) return false;
  const listed = isoCountries().get(country);
  return listed !== undefined && (subdivision === undefined || listed.subdivisions.has(subdivision));
}

/** Other codes with a single meaning: those that the United Kingdom and the European Union use themselves. */
const OTHER_CODES = new Map([
  ["UK", "GB"],
  ["EL", "GR"],
]);

/**
 * A user's place for a code from a provider or token: `GB` for `uk` and `GBR`, `US-NY` for `USA-NY`. Undefined if the
 * code does not certainly mean an ISO 3166 country; it then means no other country either.
 */
export function placeOf(code: string): string | undefined {
  const [country = "", ...subdivision] = code.trim().toUpperCase().split("-");
  const place = [OTHER_CODES.get(country) ?? alpha2Of(country) ?? country, ...subdivision].join("-");
  return isCountry(place) ? place : undefined;
}

/** The recorded code for an unreadable place: Unicode reserves it for no country. */
export const UNREADABLE_PLACE = "ZZ";
