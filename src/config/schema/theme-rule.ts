import { faintPairs, faintText } from "../../domain/theme/contrast.ts";
import { sideWordFaults } from "../../domain/theme/side-words.ts";
import { mergeColors, type StatedColors } from "../../domain/theme/stated-theme.ts";
import { BUILT_IN, type ColorToken, type Scheme } from "../../domain/theme/tokens.ts";
import type { Finding, Path } from "../config-error.ts";
import type { TenantFile } from "./schema.ts";

/** Text in the tenant's colours, laid over the built-in ones, stands out from its ground in both schemes. */
export function themeIsReadable({ embed }: Partial<TenantFile>): Finding[] {
  const stated = embed?.theme.colors ?? {};
  return faintPairs(mergeColors(BUILT_IN.colors, stated)).map((pair) => {
    // The built-in colours are readable together, so the tenant stated one of the two.
    const token = stated[pair.foreground] === undefined ? pair.ground : pair.foreground;
    return { path: placeOf(stated, token, pair.scheme), message: faintText(pair), code: "LOW_CONTRAST" };
  });
}

/** The names of the sides can be seen, and neither is a word of the other side. */
export function sidesAreNamed({ embed }: Partial<TenantFile>): Finding[] {
  return sideWordFaults(embed?.theme.words ?? {}).map(({ side, tag, reason }) => ({
    path: ["embed", "theme", "words", side, ...(tag === undefined ? [] : [tag])],
    message: reason,
  }));
}

function placeOf(stated: StatedColors, token: ColorToken, scheme: Scheme): Path {
  const path = ["embed", "theme", "colors", token];
  return typeof stated[token] === "object" ? [...path, scheme] : path;
}
