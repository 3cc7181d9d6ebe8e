import type { PlaygroundData } from "../../contract/resources/embed.ts";
import { type SnippetForm, type SnippetTerms, snippetOptions, writeSnippet } from "../../domain/embed/snippet.ts";
import type { Embed, EmbedOptions } from "../host/types.ts";
import type { Theme, View } from "../protocol.ts";
import { note } from "./note.ts";

/** The demo's page: what a publisher writes, and switches for theme, language and trader. */
declare const PredictionMarkets: { embed(selector: string, options: EmbedOptions): Embed };

/** The widget as an element, whose properties its script defines. */
interface WidgetElement extends HTMLElement {
  getToken: EmbedOptions["getToken"];
  refreshToken(): void;
}

const RIVAL_USD = 40;
const { origin, apiKey, tokens, marketIds } = JSON.parse(
  document.getElementById("data")?.textContent ?? "{}",
) as PlaygroundData;
const [marketId = "", otherId = marketId] = marketIds;
const [reader = "", rival = ""] = Object.keys(tokens);
let trader = reader;
let theme: Theme = "auto";
let locale = "en";

const MARKETS: Record<View, readonly string[]> = {
  market: [marketId],
  portfolio: [],
  card: [marketId],
  compare: marketIds,
  markets: [],
};
const getToken = (): string | undefined => tokens[trader];
const places = (Object.keys(MARKETS) as View[]).filter((view) => document.getElementById(view));
const embeds = places.map((view) =>
  PredictionMarkets.embed(`#${view}`, {
    ...snippetOptions(termsOf(view)),
    getToken,
    onEvent: ({ name, detail }) => {
      if (name !== "height") note("events", `${view}: ${name}`, detail);
    },
  }),
);
const element = document.createElement("prediction-market") as WidgetElement;
element.getToken = getToken;
element.addEventListener("pm-trade", (event) =>
  note("events", "element: pm-trade", (event as CustomEvent<object>).detail),
);
const tile = document.createElement("img");
Object.assign(tile, { alt: "The chance of the market above, drawn now", width: 600, height: 400 });
document.getElementById("element")?.append(element);
document.getElementById("tile")?.append(tile);
show();

onChoice("theme", (value) => {
  theme = value as Theme;
  document.documentElement.dataset.theme = theme;
  show();
});
onChoice("locale", (value) => {
  locale = value;
  show();
});
onChoice("trader", (name) => {
  trader = name;
  for (const widget of [...embeds, element]) widget.refreshToken();
});
for (const button of document.querySelectorAll<HTMLButtonElement>(".rival button"))
  button.addEventListener("click", async () => {
    button.disabled = true;
    await buyAs(rival, button.dataset.side ?? "yes").catch((error) =>
      note("events", "another trader", { error: String(error) }),
    );
    button.disabled = false;
  });

/** Every widget in the theme and language that are chosen, and its code. */
function show(): void {
  for (const [index, view] of places.entries()) {
    embeds[index]?.update({ theme, locale });
    writeCode(view, code("script", termsOf(view)));
  }
  const other: SnippetTerms = { ...termsOf("card"), marketIds: [otherId] };
  for (const [name, value] of Object.entries({ market: otherId, view: "card", theme, locale, "auto-height": "" }))
    element.setAttribute(name, value);
  writeCode("element", code("element", other));
  const page = `/m/${encodeURIComponent(marketId)}`;
  tile.src = `${page}/tile.png?theme=${theme === "auto" ? "light" : theme}&locale=${locale}`;
  writeCode(
    "tile",
    `<a href="${origin}${page}">\n<img src="${origin}${tile.getAttribute("src")?.replace("&", "&amp;")}"\n width="600" height="400" alt="…"></a>`,
  );
}

function termsOf(view: View): SnippetTerms {
  return { origin, view, theme, locale, marketIds: MARKETS[view], title: "" };
}

function code(form: SnippetForm, terms: SnippetTerms): string {
  return writeSnippet(form, terms).html.join("\n");
}

function writeCode(id: string, text: string): void {
  const block = document.querySelector(`[data-code=${id}]`);
  if (block) block.textContent = text;
}

function onChoice(name: string, apply: (value: string) => void): void {
  document.getElementById(name)?.addEventListener("change", (event) => apply((event.target as HTMLInputElement).value));
}

/** A trade as any program of a trader makes it. */
async function buyAs(userId: string, side: string): Promise<void> {
  const response = await fetch("/v1/trade", {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": apiKey, authorization: `Bearer ${tokens[userId]}` },
    body: JSON.stringify({ marketId, selection: { side }, amount: RIVAL_USD }),
  });
  if (!response.ok) throw new Error((await response.json()).error);
}
