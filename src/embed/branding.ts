import { applyBrand, type BrandedTheme } from "../domain/theme/brand.ts";
import { completeTheme, type StatedTheme } from "../domain/theme/stated-theme.ts";
import { themeStyle } from "../domain/theme/style.ts";
import { withSides } from "../locales/languages.ts";
import type { Messages } from "../locales/messages.ts";

export interface Branding extends Pick<BrandedTheme, "refused"> {
  /** The style sheet of the tenant's theme with the brand over it. */
  style: string;
  /** The messages with the brand's names of the sides. */
  named(messages: Messages, locale: string): Messages;
}

/** The tenant's theme with a page's brand over it. */
export function brandingOf(stated: StatedTheme, brand: unknown): Branding {
  const { theme, refused } = applyBrand(stated, brand);
  return {
    refused,
    style: themeStyle(completeTheme(theme)),
    named: (messages, locale) => withSides(messages, theme.words ?? {}, locale),
  };
}
