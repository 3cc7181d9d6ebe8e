import { randomBytes } from "node:crypto";
import type { PlaygroundData } from "../../contract/resources/embed.ts";
import { completeTheme } from "../../domain/theme/stated-theme.ts";
import { themeStyle } from "../../domain/theme/style.ts";
import type { Route } from "../routes.ts";
import type { EmbedServices } from "./embed-page.ts";
import { jsonInScript, pagePolicy, escapeHtml as text } from "./html.ts";

export interface PlaygroundOptions {
  /** Tokens of the demo's traders, by user id: the first is signed in on the page, the second trades at a button. */
  tokens(): Promise<Record<string, string>>;
  /** Programs that trade by themselves while the page is open. */
  crowd: readonly string[];
}

/** `/playground`: the widget as a publisher's page shows it, with a trader who is signed in. For the demo alone. */
export function playgroundRoute({ options, assets, reader, keys }: EmbedServices, play: PlaygroundOptions): Route {
  return {
    method: "GET",
    path: "/playground",
    forBrowsers: false,
    async answer() {
      await keys.ready();
      const { market } = await reader.read("market", undefined);
      const data: PlaygroundData = {
        apiKey: options.publicKeys[0] ?? "",
        tokens: await play.tokens(),
        marketId: market?.detail.id ?? "",
      };
      const nonce = randomBytes(16).toString("base64");
      return {
        status: 200,
        contentType: "text/html; charset=utf-8",
        contentSecurityPolicy: pagePolicy({
          scripts: [`'nonce-${nonce}'`],
          styles: [`'nonce-${nonce}'`],
          frames: ["'self'"],
          ancestors: ["'none'"],
        }),
        body: `<!doctype html>
<html lang="en" data-theme="dark"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Playground - ${text(options.name)}</title><style nonce="${nonce}">${themeStyle(completeTheme(options.theme))}${assets.playgroundStyle}</style></head>
<body>${pageBody(options.name, play.crowd)}
<script type="application/json" id="data">${jsonInScript(data)}</script>
<script nonce="${nonce}" src="${assets.hashedPath}" integrity="${assets.integrity}" crossorigin="anonymous"></script>
<script nonce="${nonce}">${assets.playgroundScript}</script></body></html>`,
      };
    },
  };
}

function pageBody(name: string, crowd: readonly string[]): string {
  const programs = crowd.map((each) => `<b>${text(each)}</b>`).join(", ");
  const others =
    crowd.length === 0 ? "" : ` The programs ${programs} trade small sums of invented money all the while.`;
  return `<header><div><p class="over">${text(name)}</p><h1>What will happen next?</h1>
<p class="lead">Three widgets on an ordinary page. Prices move with every trade, and you are Alice, with money to play with.${others}</p></div>
<div class="controls">
<fieldset id="theme"><legend>Theme</legend>${choice("theme", ["dark", "light", "auto"])}</fieldset>
<fieldset id="trader"><legend>Signed in</legend>${choice("trader", ["alice", "nobody"])}</fieldset>
</div></header>
<main>
<div class="side">
<section aria-labelledby="t1"><h2 id="t1">One market <code>view: "market"</code></h2>
<div id="market" class="widget"></div>
<div class="rival"><span>Another trader:</span>
<button type="button" data-side="yes">Bob buys $40 of Yes</button><button type="button" data-side="no">Bob buys $40 of No</button></div></section>
</div>
<div class="side">
<section aria-labelledby="t2"><h2 id="t2">Your positions <code>view: "portfolio"</code></h2><div id="portfolio" class="widget"></div></section>
<section aria-labelledby="t4"><h2 id="t4">What this page hears <code>onEvent</code></h2><ol id="events" aria-live="polite"><li class="none">Nothing yet: trade, or open a market.</li></ol></section>
</div>
<section class="all" aria-labelledby="t3"><h2 id="t3">All markets <code>view: "markets"</code></h2><div id="markets" class="widget"></div></section>
</main>
<footer>On your own page: <code>pmctl embed snippet</code> prints two lines of HTML.</footer>`;
}

function choice(name: string, values: readonly string[]): string {
  return values
    .map(
      (value, index) =>
        `<label><input type="radio" name="${name}" value="${value}"${index === 0 ? " checked" : ""}><span>${value}</span></label>`,
    )
    .join("");
}
