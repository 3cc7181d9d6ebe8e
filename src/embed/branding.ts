import { applyBrand, type BrandRefusal } from "../domain/theme/brand.ts";
import { completeTheme, type StatedTheme } from "../domain/theme/stated-theme.ts";
import { themeStyle } from "../domain/theme/style.ts";
import { withSides } from "../locales/languages.ts";
import type { Messages } from "../locales/messages.ts";

/** A page's brand as a frame shows it. */
export interface Branding {
  /** The style sheet of the tenant's theme with the brand over it. */
  style: string;
  /** What was left out of the brand and why; empty if nothing was. */
  leftOut: string;
  /** The messages with the brand's names of the sides. */
  named(messages: Messages, locale: string): Messages;
}

/** Characters of a message; the page around may show or log it. */
const LONGEST_MESSAGE = 1000;

/** The tenant's theme with a page's brand over it. */
export function brandingOf(stated: StatedTheme, brand: unknown): Branding {
  const { theme, refused } = applyBrand(stated, brand);
  return {
    style: themeStyle(completeTheme(theme)),
    leftOut: sentenceOf(refused),
    named: (messages, locale) => withSides(messages, theme.words ?? {}, locale),
  };
}

function sentenceOf(refused: readonly BrandRefusal[]): string {
  const whole = refused
    .map(({ field, reason }) => (field === "brand" ? `brand ${reason}` : `brand.${field}: ${reason}`))
    .join("; ");
  return whole.length > LONGEST_MESSAGE ? `${whole.slice(0, LONGEST_MESSAGE)}…` : whole;
}
