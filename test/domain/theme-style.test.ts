import { expect, test } from "vitest";
import { themeStyle } from "../../src/domain/theme/style.ts";
import { BUILT_IN, COLOR_TOKENS } from "../../src/domain/theme/tokens.ts";

test("each block of a theme's style names every token, and what the system's choice is for dark is the page's too", () => {
  const style = themeStyle(BUILT_IN);
  const blocks = [...style.matchAll(/([^{}]+)\{([^{}]+)\}/g)].map(([, selector, body = ""]) => ({ selector, body }));
  expect(blocks.map(({ selector }) => selector)).toEqual([":root", "[data-theme=dark]", "[data-theme=auto]", ":root"]);
  for (const { body } of blocks)
    expect([...body.matchAll(/--pm-(\w+):(?:#|[A-Z])/g)].map(([, token]) => token)).toEqual([...COLOR_TOKENS]);
  expect(blocks[1]?.body).toBe(blocks[2]?.body);
  expect(style.split(BUILT_IN.colors.surface.light)).toHaveLength(2);
  expect(style).toContain("--pm-radius:8px;--pm-density:1;");
});

test("no text of a theme ends its quotes or the element around it", () => {
  const font = { family: 'A"}</style><script>', url: 'https://fonts.example/a")b.woff2' };
  const style = themeStyle({ ...BUILT_IN, font });
  expect(style).not.toMatch(/<|>/);
  expect(style).toContain(String.raw`"A\22 }\3c /style\3e \3c script\3e "`);
  expect(style).toContain(String.raw`url("https://fonts.example/a\22 )b.woff2")`);
});
