import { randomBytes } from "node:crypto";
import type { PlaygroundData } from "../../contract/resources/embed.ts";
import { completeTheme } from "../../domain/theme/stated-theme.ts";
import { themeStyle } from "../../domain/theme/style.ts";
import type { Route } from "../routes.ts";
import type { EmbedServices } from "./embed-page.ts";
import { jsonInScript, pagePolicy, escapeHtml as text } from "./html.ts";
import type { ReaderAddress } from "./reader-address.ts";

export interface PlaygroundOptions {
  /** Tokens of the demo's traders, by user id. The page signs in the first; the second trades at the push of a button. */
  tokens(): Promise<Record<string, string>>;
  /** Programs that trade automatically while the page is open. */
  crowd: readonly string[];
}

/** `/playground`: every view as on a publisher's page, with its code and a signed-in trader. Only the demo has it. */
export function playgroundRoute(
  { options, assets, reader, keys, languages }: EmbedServices,
  play: PlaygroundOptions,
  readers: ReaderAddress,
): Route {
  return {
    method: "GET",
    path: "/playground",
    forBrowsers: false,
    bucket: "embed",
    async answer(exchange) {
      await keys.ready();
      const { trending = [], markets = [] } = await reader.read("markets", undefined);
      const wanted = new URLSearchParams(exchange.search).get("market");
      const ids = new Set([...trending, ...markets].map(({ id }) => id));
      const data: PlaygroundData = {
        origin: readers.originFor(exchange),
        apiKey: options.publicKeys[0] ?? "",
        tokens: await play.tokens(),
        marketIds: [...ids].sort((one, other) => Number(other === wanted) - Number(one === wanted)).slice(0, 2),
      };
      const nonce = randomBytes(16).toString("base64");
      return {
        status: 200,
        contentType: "text/html; charset=utf-8",
        contentSecurityPolicy: pagePolicy({
          scripts: [`'nonce-${nonce}'`],
          styles: [`'nonce-${nonce}'`],
          images: ["'self'"],
          frames: ["'self'"],
          ancestors: ["'none'"],
        }),
        body: `<!doctype html>
<html lang="en" data-theme="auto"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Playground - ${text(options.name)}</title><style nonce="${nonce}">${themeStyle(completeTheme(options.theme))}${assets.playgroundStyle}</style></head>
<body>${pageBody(options.name, play.crowd, languages.locales, data.marketIds.length)}
<script type="application/json" id="data">${jsonInScript(data)}</script>
<script nonce="${nonce}" src="${assets.hashedPath}" integrity="${assets.integrity}" crossorigin="anonymous"></script>
<script nonce="${nonce}">${assets.playgroundScript}</script></body></html>`,
      };
    },
  };
}

function pageBody(name: string, crowd: readonly string[], locales: readonly string[], markets: number): string {
  const programs = crowd.map((each) => `<b>${text(each)}</b>`).join(", ");
  const others = crowd.length === 0 ? "" : ` The programs ${programs} keep trading small sums of play money.`;
  const languages = locales.map((tag) => `<option${tag === "en" ? " selected" : ""}>${text(tag)}</option>`);
  return `<header><div><p class="over">${text(name)}</p><h1>What will happen next?</h1>
<p class="lead">Every widget on an ordinary page, with the lines that put it there. Prices move with every trade, and you are Alice, with money to play with.${others}</p></div>
<div class="controls">
<fieldset id="theme"><legend>Theme</legend>${choice("theme", ["auto", "light", "dark"])}</fieldset>
<fieldset id="trader"><legend>Signed in</legend>${choice("trader", ["alice", "no user"])}</fieldset>
<label class="language">Language <select id="locale">${languages.join("")}</select></label>
</div></header>
<main>
<div class="side">
${widget(
  "market",
  "One market",
  `<div class="rival"><span>Another trader:</span>
<button type="button" data-side="yes">Bob buys $40 of Yes</button><button type="button" data-side="no">Bob buys $40 of No</button></div>`,
)}
</div>
<div class="side">
${widget("portfolio", "Your positions")}
<section aria-labelledby="t-events"><h2 id="t-events">What this page hears <code>onEvent</code></h2><ol id="events" aria-live="polite"><li class="none">Nothing yet: trade, or open a market.</li></ol></section>
</div>
<div class="all row">
${widget("card", "The odds alone")}
${widget("element", "As an element")}
${widget("tile", "A picture, for a newsletter")}
</div>
<div class="all">${markets > 1 ? widget("compare", "Two markets") : ""}</div>
<div class="all">${widget("markets", "All markets")}</div>
</main>
<footer>On your own page: <a href="/docs/embed">the configurator</a> writes the lines, and explains every option. <code>pmctl embed snippet</code> prints them.</footer>`;
}

/** A place for a widget, with its code below. The page's script fills both. */
function widget(id: string, title: string, more = ""): string {
  return `<section aria-labelledby="t-${id}"><h2 id="t-${id}">${title}</h2>
<div id="${id}" class="widget"></div>${more}
<details><summary>Code<span class="unseen"> of ${title}</span></summary><pre tabindex="0" role="region" aria-label="Code of ${title}" data-code="${id}"></pre></details></section>`;
}

function choice(name: string, values: readonly string[]): string {
  return values
    .map(
      (value, index) =>
        `<label><input type="radio" name="${name}" value="${value}"${index === 0 ? " checked" : ""}><span>${value}</span></label>`,
    )
    .join("");
}
