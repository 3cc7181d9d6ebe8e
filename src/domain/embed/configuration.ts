import type { SchemeColors } from "../theme/tokens.ts";
import {
  MARKETS_OF,
  SNIPPET_FORMS,
  SNIPPET_THEMES,
  SNIPPET_VIEWS,
  type SnippetForm,
  type SnippetTerms,
} from "./snippet.ts";

/** Colours of a brand that the configurator offers. */
export const OFFERED_COLORS = ["accent", "yes", "no"] as const;
export type OfferedColor = (typeof OFFERED_COLORS)[number];

/** What a configurator needs to know of its tenant. */
export interface ConfiguratorTenant {
  /** Scheme and host. */
  origin: string;
  /** Names of a frame by language, each a language that can be chosen. */
  titles: Readonly<Record<string, string>>;
  /** Its name where none is chosen. */
  usualTitle: string;
  /** The tenant's colours that a page may change. */
  colors: Readonly<Record<OfferedColor, SchemeColors>>;
}

export interface Configured {
  form: SnippetForm;
  terms: SnippetTerms;
}

/**
 * The snippet that a form or an address asks for, by the names of the configurator's controls. What is empty or unknown has its
 * usual value.
 * @returns null while a market is missing that the view needs
 */
export function configuredBy(query: URLSearchParams, tenant: ConfiguratorTenant): Configured | null {
  const text = (name: string): string | undefined => query.get(name)?.trim() || undefined;
  const view = oneOf(SNIPPET_VIEWS, text("view")) ?? "market";
  const [least, most] = MARKETS_OF[view];
  const marketIds = [text("marketId") ?? text("market"), text("versus")]
    .filter((id) => id !== undefined)
    .slice(0, most);
  if (marketIds.length < least) return null;
  const locale = oneOf(Object.keys(tenant.titles), text("locale"));
  const heightPx = Math.round(Number(text("height")));
  const form = oneOf(SNIPPET_FORMS, text("as")) ?? "script";
  return {
    form,
    terms: {
      origin: tenant.origin,
      view,
      theme: oneOf(SNIPPET_THEMES, text("theme")) ?? "dark",
      marketIds,
      locale,
      title: (locale && tenant.titles[locale]) ?? tenant.usualTitle,
      heightPx: heightPx > 0 ? heightPx : undefined,
      loading: text("loading") === "eager" ? "eager" : undefined,
      consent: text("consent") === "false" ? false : undefined,
      brand: form === "script" ? brandOf(text, tenant) : undefined,
    },
  };
}

/** Only what is stated; the widget leaves out what the tenant does not allow. */
function brandOf(text: (name: string) => string | undefined, { colors }: ConfiguratorTenant): object | undefined {
  const stated = (parts: readonly (readonly [string, unknown])[]): object | undefined => {
    const entries = parts.filter(([, value]) => value !== undefined);
    return entries.length > 0 ? Object.fromEntries(entries) : undefined;
  };
  // No colour can be read on light and on dark, so the other scheme's is stated too.
  const colorOf = (token: OfferedColor): SchemeColors | undefined => {
    const [light, dark] = [text(`${token}Light`), text(`${token}Dark`)];
    return light || dark ? { light: light ?? colors[token].light, dark: dark ?? colors[token].dark } : undefined;
  };
  const radius = text("radius");
  const family = text("family");
  return stated([
    ["colors", stated(OFFERED_COLORS.map((token) => [token, colorOf(token)]))],
    ["font", family && { family }],
    ["radius", radius && Number(radius)],
    ["density", text("density")],
    ["words", stated([["yes", text("yesWord")] as const, ["no", text("noWord")] as const])],
  ]);
}

function oneOf<Value extends string>(values: readonly Value[], text: string | undefined): Value | undefined {
  return values.find((value) => value === text);
}
