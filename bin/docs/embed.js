// The page for publishers, from docs/guides/publisher.md and a form that a script fills.
import { readFileSync } from "node:fs";
import { codeBlock, renderMarkdown } from "../../dist/app/docs/markdown.js";
import { SNIPPET_FORMS, SNIPPET_THEMES, SNIPPET_VIEWS } from "../../dist/domain/embed/snippet.js";
import { CATALOGUES } from "../../dist/locales/catalogues.js";
import { DOCS_ADDRESS } from "../../dist/server/pages/docs.js";
import { text } from "./html.js";

/** The labels of views and forms in the configurator. */
const WORDS = {
  market: "one market",
  markets: "list of markets",
  portfolio: "the reader's positions",
  card: "card with the odds",
  compare: "two markets compared",
  script: "script and call",
  element: "element",
  iframe: "frame, to look at",
  auto: "the reader's",
};

/** @param assets reads a file of `dist/assets` */
export function embedPage(root, assets) {
  const guide = readFileSync(new URL("docs/guides/publisher.md", root), "utf8");
  const { html, headings } = renderMarkdown(guide, placeAtServer);
  const parts = headings.filter(({ depth }) => depth === 2).map(({ id, title }) => ({ href: `#${id}`, label: title }));
  const content = html.replace(
    "<!-- configurator -->",
    () => `<h2 id="configurator-title">Configurator</h2>${configurator()}`,
  );
  return {
    path: "/docs/embed",
    title: "The widget on your pages",
    content,
    parts: [{ href: "#configurator-title", label: "Configurator" }, ...parts],
    style: assets("configurator.css"),
    end: `<script src="/assets/v1/embed.js"></script><script>${assets("configurator.js")}</script>`,
  };
}

/** A server has its own pages and this guide's headings, but not the project's other documents. */
function placeAtServer(href) {
  if (href.startsWith(`${DOCS_ADDRESS}/`)) return href.slice(DOCS_ADDRESS.length);
  return href.startsWith("#") ? href : undefined;
}

function configurator() {
  const languages = Object.entries(CATALOGUES).map(([tag, messages]) => [
    tag,
    `${new Intl.DisplayNames(["en"], { type: "language" }).of(tag)} (${tag})`,
    `data-title="${text(messages["page.marketFrame"])}"`,
  ]);
  const named = (names) => names.map((name) => [name, WORDS[name] ?? name]);
  return `<div class="beside"><div><form id="configurator" aria-label="Configurator">
${select("as", "As", named(SNIPPET_FORMS))}
${select("view", "View", named(SNIPPET_VIEWS))}
${select("market", "Market", [["", "the most traded one"]])}
${select("versus", "Second market", [["", "none"]], "second")}
<label>or a market by its id<input name="marketId" maxlength="64" placeholder="mkt_…" spellcheck="false" autocomplete="off"></label>
${select("theme", "Theme", named(SNIPPET_THEMES))}
${select("locale", "Language", [["", "the page's"], ...languages])}
<label>Reserved height, px<input name="height" type="number" min="120" max="4000" placeholder="usual"></label>
${select("loading", "Loading", [
  ["", "when it comes near"],
  ["eager", "at once"],
])}
${select("consent", "Storage", [
  ["", "its height"],
  ["false", "none"],
])}</form>
<p id="missing" role="status" hidden>Choose two markets to compare.</p>
<p id="unknown" role="status" hidden>No market has this id.</p>
<section aria-labelledby="snippet-title"><h3 id="snippet-title">Paste this</h3>
${codeBlock("", "the snippet", 'id="snippet" data-pm="configured"')}
<p class="soft">A page with a Content-Security-Policy has to allow:</p>${codeBlock("", "what the page's policy allows", 'id="snippet-policy"')}
<p class="soft"><code>pmctl embed snippet</code> prints the same.</p></section></div>
<section aria-labelledby="preview-title"><h3 id="preview-title">What your readers get</h3><div id="preview"></div>
<noscript><p>The configurator needs scripts; <code>pmctl embed snippet</code> does not.</p></noscript>
<h4>What the page hears</h4><ol id="heard" aria-live="polite"><li class="none soft">Nothing yet.</li></ol></section></div>`;
}

function select(name, label, options, kind = "") {
  const items = options.map(
    ([value, words, attributes = ""]) =>
      `<option value="${text(value)}"${attributes && ` ${attributes}`}>${text(words)}</option>`,
  );
  return `<label${kind ? ` class="${kind}"` : ""}>${text(label)}<select name="${name}">${items.join("")}</select></label>`;
}
