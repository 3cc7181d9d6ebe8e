import {
  type ConfiguratorTenant,
  type Configured,
  configuredBy,
  OFFERED_COLORS,
} from "../../../../domain/embed/configuration.ts";
import { SNIPPET_FORMS, SNIPPET_THEMES, SNIPPET_VIEWS, snippetPolicy } from "../../../../domain/embed/snippet.ts";
import { snippetWithPolicy } from "../../../../domain/embed/snippet-with-policy.ts";
import { OVERRIDABLE, type Overridable, type StatedTheme } from "../../../../domain/theme/stated-theme.ts";
import { DENSITIES, MAX_RADIUS_PX, SCHEMES } from "../../../../domain/theme/tokens.ts";
import { escapeHtml as text } from "../../html.ts";
import { codeBlock } from "./parts.ts";

/** A market that can be chosen. */
export interface Choice {
  id: string;
  question: string;
}

export interface ConfiguratorTerms {
  tenant: ConfiguratorTenant;
  /** The first is chosen unless another is asked for. */
  markets: readonly Choice[];
  overridable: StatedTheme["overridable"];
  /** What is asked for. */
  query: URLSearchParams;
}

/** What each view is called where it is chosen. */
const VIEWS: Record<(typeof SNIPPET_VIEWS)[number], string> = {
  market: "one market",
  markets: "list of markets",
  portfolio: "the reader's positions",
  card: "card with the odds",
  compare: "two markets compared",
};
const FORMS: Record<(typeof SNIPPET_FORMS)[number], string> = {
  script: "script and call",
  element: "element",
  iframe: "frame, to look at",
};

/** A form that needs no script: its button asks for this page with another snippet in it. */
export function configurator({ tenant, markets, overridable = [], query }: ConfiguratorTerms): string {
  const asked = new URLSearchParams(query);
  for (const [index, name] of ["market", "versus"].entries()) {
    const id = markets[index]?.id;
    if (!asked.has(name) && id !== undefined) asked.set(name, id);
  }
  const configured = configuredBy(asked, tenant);
  const languages = Object.keys(tenant.titles).map((tag): [string, string] => [tag, languageName(tag)]);
  return `<div class="beside"><div><form id="configurator" action="/docs/embed" method="get" aria-label="Configurator" data-view="${text(configured?.terms.view)}">
${select(asked, "as", "As", named(SNIPPET_FORMS, FORMS))}
${select(asked, "view", "View", named(SNIPPET_VIEWS, VIEWS))}
${select(asked, "market", "Market", [...choices(markets), ["", "the most traded one"]])}
${select(asked, "versus", "Second market", choices(markets), "second")}
${input(asked, "marketId", "or a market by its id", 'maxlength="64" placeholder="mkt_…" spellcheck="false" autocomplete="off"')}
${select(asked, "theme", "Theme", named(SNIPPET_THEMES, { dark: "dark", light: "light", auto: "the reader's" }))}
${select(asked, "locale", "Language", [["", "the page's"], ...languages])}
${input(asked, "height", "Reserved height, px", 'type="number" min="120" max="4000" placeholder="usual"')}
${select(asked, "loading", "Loading", [
  ["", "when it comes near"],
  ["eager", "at once"],
])}
${select(asked, "consent", "Storage", [
  ["", "its height"],
  ["false", "none"],
])}
${brandFields(asked, tenant, overridable)}
<button class="wide">Write the snippet</button></form>
<p id="missing" role="status"${configured ? " hidden" : ""}>Choose two markets to compare.</p>
<section aria-labelledby="snippet-title"><h3 id="snippet-title">Paste this</h3>
${result(configured, tenant)}</section></div>
<section aria-labelledby="preview-title"><h3 id="preview-title">What your readers get</h3><div id="preview"></div>
<noscript><p>The widget needs scripts. Without them readers see its question, chance and closing time.</p></noscript>
<h4>What the page hears</h4><ol id="heard" aria-live="polite"><li class="none soft">Nothing yet.</li></ol></section></div>`;
}

function result(configured: Configured | null, { origin }: ConfiguratorTenant): string {
  const { html, csp } = configured
    ? snippetWithPolicy(configured.form, configured.terms)
    : { html: [], csp: snippetPolicy("element", origin, undefined) };
  return `${codeBlock(html.join("\n"), "the snippet", 'id="snippet" data-pm="configured"')}
<p class="soft">A page with a Content-Security-Policy has to allow:</p>${codeBlock(csp, "what the page's policy allows", 'id="snippet-policy"')}
<p class="soft"><code>pmctl embed snippet</code> prints the same.</p>`;
}

const COLOR_FIELD = 'pattern="#[0-9a-fA-F]{6}" spellcheck="false"';

/** Only what the tenant lets pages change; nothing where that is nothing. */
function brandFields(asked: URLSearchParams, tenant: ConfiguratorTenant, overridable: readonly Overridable[]): string {
  const fields: Record<Overridable, () => string> = {
    colors: () =>
      OFFERED_COLORS.flatMap((token) =>
        SCHEMES.map((scheme) => {
          const name = `${token}${scheme === "light" ? "Light" : "Dark"}`;
          const usual = tenant.colors[token][scheme];
          return input(asked, name, `${token}, ${scheme}`, `${COLOR_FIELD} placeholder="${text(usual)}"`);
        }),
      ).join(""),
    font: () => input(asked, "family", "Font", 'maxlength="100" placeholder="Georgia"'),
    radius: () => input(asked, "radius", "Corners, px", `type="number" min="0" max="${MAX_RADIUS_PX}"`),
    density: () => select(asked, "density", "Density", [["", "the service's"], ...DENSITIES.map(itself)]),
    words: () =>
      input(asked, "yesWord", "Word for Yes", 'maxlength="20"') +
      input(asked, "noWord", "Word for No", 'maxlength="20"'),
  };
  const shown = OVERRIDABLE.filter((each) => overridable.includes(each)).map((each) => fields[each]());
  if (shown.length === 0) return '<fieldset id="brand-fields" hidden></fieldset>';
  return `<details class="wide"><summary>Brand, of a snippet as script</summary><fieldset id="brand-fields" aria-label="Brand">${shown.join("")}</fieldset></details>`;
}

const choices = (markets: readonly Choice[]): [string, string][] =>
  markets.map(({ id, question }) => [id, question.length > 70 ? `${question.slice(0, 69)}…` : question]);

const named = <Name extends string>(names: readonly Name[], words: Record<Name, string>): [string, string][] =>
  names.map((name) => [name, words[name]]);

const itself = (value: string): [string, string] => [value, value];

function select(asked: URLSearchParams, name: string, label: string, options: [string, string][], kind = ""): string {
  const items = options.map(
    ([value, words]) =>
      `<option value="${text(value)}"${value === (asked.get(name) ?? "") ? " selected" : ""}>${text(words)}</option>`,
  );
  return `<label${kind ? ` class="${kind}"` : ""}>${text(label)}<select name="${name}">${items.join("")}</select></label>`;
}

function input(asked: URLSearchParams, name: string, label: string, attributes: string): string {
  return `<label>${text(label)}<input name="${name}" value="${text(asked.get(name))}" ${attributes}></label>`;
}

function languageName(tag: string): string {
  return `${new Intl.DisplayNames(["en"], { type: "language" }).of(tag) ?? tag} (${tag})`;
}
