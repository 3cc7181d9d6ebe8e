import { expect, test } from "vitest";
import { contrastRatio, faintPairs, faintText, TEXT_PAIRS } from "../../src/domain/theme/contrast.ts";
import { completeTheme } from "../../src/domain/theme/stated-theme.ts";
import { BUILT_IN } from "../../src/domain/theme/tokens.ts";

test.each([
  ["#000000", "#ffffff", 21],
  ["#777777", "#ffffff", 4.478],
  ["#767676", "#ffffff", 4.542],
  ["#0000FF", "#ffffff", 8.592],
  ["#ff0000", "#00ff00", 2.914],
  ["#123456", "#123456", 1],
])("the contrast of %s and %s is %d, in either order", (one, other, ratio) => {
  expect(contrastRatio(one, other)).toBeCloseTo(ratio, 3);
  expect(contrastRatio(other, one)).toBe(contrastRatio(one, other));
});

test("the built-in theme can be read in both schemes", () => {
  expect(TEXT_PAIRS).toHaveLength(13);
  expect(faintPairs(BUILT_IN.colors)).toEqual([]);
});

test("a faint pair is found in its scheme alone, and its ratio is never rounded up to what it needs", () => {
  const { colors } = completeTheme({ colors: { muted: { light: "#777777", dark: "#9ca8b7" }, surface: "#ffffff" } });
  const said = faintPairs(colors).filter(({ scheme }) => scheme === "light");
  expect(said.map(faintText)).toEqual([
    "muted on background in light has a contrast of 4.47:1, and needs 4.5:1",
    "muted on surface in light has a contrast of 4.47:1, and needs 4.5:1",
  ]);
});
