import { TAGS } from "../../../../contract/operation.ts";
import type { ConfiguratorTenant } from "../../../../domain/embed/configuration.ts";
import { Fault } from "../../../../domain/fault.ts";
import { completeTheme } from "../../../../domain/theme/stated-theme.ts";
import type { Languages } from "../../../../locales/languages.ts";
import type { Route } from "../../../routes.ts";
import { LOADER_PATH } from "../../assets.ts";
import { chooseEncoding, compressed } from "../../compress.ts";
import type { FrameReader } from "../../embed-data.ts";
import type { EmbedServices } from "../../embed-page.ts";
import { hashSource, jsonInScript, pagePolicy, escapeHtml as text } from "../../html.ts";
import { absolute } from "../../market/site.ts";
import { documentOf, STYLE_SOURCE } from "../layout.ts";
import { type Choice, configurator } from "./configurator.ts";
import { guideSections } from "./guide.ts";

const PATH = "/docs/embed";
/** More than a publisher scrolls through; others are named by id. */
const CHOICES = 50;
/** In examples of a tenant without a market. */
const NO_MARKET = "mkt_…";

/** `/docs/embed`: how publishers show the widget, with a form that writes the snippet. */
export function embedDocsRoute({ options, assets, reader, languages }: EmbedServices): Route {
  const { accent, yes, no } = completeTheme(options.theme).colors;
  const scripts = `<script src="${LOADER_PATH}"></script><script>${assets.configuratorScript}</script>`;
  const policy = pagePolicy({
    scripts: ["'self'", hashSource(assets.configuratorScript)],
    styles: [STYLE_SOURCE, hashSource(assets.configuratorStyle)],
    frames: ["'self'"],
    forms: ["'self'"],
    ancestors: ["'none'"],
  });
  return {
    method: "GET",
    path: PATH,
    forBrowsers: false,
    async answer(exchange) {
      const { origin } = new URL(absolute(options, exchange, "/"));
      const tenant: ConfiguratorTenant = { origin, ...titlesOf(languages), colors: { accent, yes, no } };
      const markets = await choicesOf(reader);
      const sections = guideSections(assets.reference, origin, markets[0]?.id ?? NO_MARKET);
      const form = configurator({
        tenant,
        markets,
        overridable: options.theme?.overridable,
        query: new URLSearchParams(exchange.search),
      });
      const body = documentOf(
        {
          path: PATH,
          title: `Widget of ${options.name}`,
          content: `<p>Markets of ${text(options.name)} on your own pages: choose, paste, done. Everything else is told below.</p><h2 id="configure">Configurator</h2>${form}${sections
            .map(({ id, title, content }) => `<h2 id="${id}">${text(title)}</h2>${content}`)
            .join("")}`,
          parts: [
            { href: "#configure", label: "Configurator" },
            ...sections.map(({ id, title }) => ({ href: `#${id}`, label: title })),
          ],
          style: assets.configuratorStyle,
          end: `<script type="application/json" id="data">${jsonInScript(tenant)}</script>${scripts}`,
        },
        { title: options.name, groups: Object.keys(TAGS).map((name) => ({ name })) },
      );
      const page = { status: 200, body, contentType: "text/html; charset=utf-8", contentSecurityPolicy: policy };
      return compressed(page, chooseEncoding(exchange.header("accept-encoding")));
    },
  };
}

function titlesOf(languages: Languages): Pick<ConfiguratorTenant, "titles" | "usualTitle"> {
  const title = (asked: readonly string[]): string => String(languages.choose(asked).messages["page.marketFrame"]);
  return { titles: Object.fromEntries(languages.locales.map((tag) => [tag, title([tag])])), usualTitle: title([]) };
}

/** Open markets, the most traded ones first; none while the database is away, when the page can be read all the same. */
async function choicesOf(reader: FrameReader): Promise<Choice[]> {
  try {
    const { trending = [], markets = [] } = await reader.read("markets", undefined);
    const byId = new Map([...trending, ...markets].map(({ id, question }) => [id, { id, question }]));
    return [...byId.values()].slice(0, CHOICES);
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}
