import {
  MARKETS_OF,
  SNIPPET_FORMS,
  SNIPPET_THEMES,
  SNIPPET_VIEWS,
  type SnippetForm,
  type SnippetTerms,
} from "./snippet.ts";

export interface Configured {
  form: SnippetForm;
  terms: SnippetTerms;
}

/**
 * The snippet that a form asks for, by the names of the configurator's controls. What is empty or unknown has its usual value.
 * @param origin of the tenant
 * @param title what a frame is called in the language that is chosen
 * @returns null while a market is missing that the view needs
 */
export function configuredBy(query: URLSearchParams, origin: string, title: string): Configured | null {
  const text = (name: string): string | undefined => query.get(name)?.trim() || undefined;
  const view = oneOf(SNIPPET_VIEWS, text("view")) ?? "market";
  const [least, most] = MARKETS_OF[view];
  const marketIds = [text("marketId") ?? text("market"), text("versus")]
    .filter((id) => id !== undefined)
    .slice(0, most);
  if (marketIds.length < least) return null;
  const heightPx = Math.round(Number(text("height")));
  return {
    form: oneOf(SNIPPET_FORMS, text("as")) ?? "script",
    terms: {
      origin,
      view,
      theme: oneOf(SNIPPET_THEMES, text("theme")) ?? "dark",
      marketIds,
      locale: text("locale"),
      title,
      heightPx: heightPx > 0 ? heightPx : undefined,
      loading: text("loading") === "eager" ? "eager" : undefined,
      consent: text("consent") === "false" ? false : undefined,
      brand: undefined,
    },
  };
}

function oneOf<Value extends string>(values: readonly Value[], text: string | undefined): Value | undefined {
  return values.find((value) => value === text);
}
