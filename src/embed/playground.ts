import type { PlaygroundData } from "../contract/resources/embed.ts";
import type { Embed, EmbedOptions } from "./host/types.ts";
import type { Theme, View } from "./protocol.ts";

/** The demo's page: what a publisher writes, and switches for theme and trader. */
declare const PredictionMarkets: { embed(selector: string, options: EmbedOptions): Embed };

const KNOWN_EVENTS = 6;
const RIVAL_USD = 40;
const { apiKey, tokens, marketId } = JSON.parse(document.getElementById("data")?.textContent ?? "{}") as PlaygroundData;
const [reader = "", rival = ""] = Object.keys(tokens);
let trader = reader;

const views: View[] = ["market", "portfolio", "markets"];
const embeds = views.map((view) =>
  PredictionMarkets.embed(`#${view}`, {
    view,
    theme: "dark",
    autoHeight: true,
    getToken: () => tokens[trader],
    onEvent: ({ name, detail }) => note(`${view}: ${name}`, detail),
    ...(view === "market" && marketId !== "" ? { marketId } : {}),
  }),
);

onChoice("theme", (theme) => {
  document.documentElement.dataset.theme = theme;
  for (const embed of embeds) embed.setTheme(theme as Theme);
});
onChoice("trader", (name) => {
  trader = name;
  for (const embed of embeds) embed.refreshToken();
});
for (const button of document.querySelectorAll<HTMLButtonElement>(".rival button"))
  button.addEventListener("click", async () => {
    button.disabled = true;
    await buyAs(rival, button.dataset.side ?? "yes").catch((error) => note("another trader", { error: String(error) }));
    button.disabled = false;
  });

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

function note(title: string, detail: object): void {
  const list = document.getElementById("events");
  const item = document.createElement("li");
  const [name, rest] = [document.createElement("b"), document.createElement("code")];
  name.textContent = title;
  rest.textContent = JSON.stringify(detail);
  item.append(name, " ", rest);
  list?.querySelector(".none")?.remove();
  list?.prepend(item);
  list?.children[KNOWN_EVENTS]?.remove();
}
