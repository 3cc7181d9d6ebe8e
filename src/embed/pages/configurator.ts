/** The page for publishers, `/docs/embed`: writes the snippet that its form asks for, and shows the widget that it makes. */
import {
  MARKETS_OF,
  SNIPPET_FORMS,
  SNIPPET_THEMES,
  SNIPPET_VIEWS,
  type SnippetForm,
  type SnippetTerms,
  snippetOptions,
  snippetPolicy,
  writeSnippet,
} from "../../domain/embed/snippet.ts";
import type { PredictionMarkets } from "../host/types.ts";
import { note } from "./note.ts";

declare global {
  interface Window {
    PredictionMarkets?: PredictionMarkets;
  }
}

interface Choice {
  id: string;
  question: string;
}

/** The widget waits until a text is typed. */
const TYPING_MS = 400;

const form = part<HTMLFormElement>("configurator");
const snippet = part("snippet");
const policy = part("snippet-policy");
const missing = part("missing");
const unknown = part("unknown");
const preview = part("preview");
/** Where readers of this page can sign in; null where no page is known that takes trades. */
let tradeAt: string | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

document.documentElement.dataset.scripts = "";
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", ({ target }) => {
  const isTyped = target instanceof HTMLInputElement && target.type !== "checkbox";
  follow(isTyped ? TYPING_MS : 0);
});
for (const block of document.querySelectorAll<HTMLElement>(".code")) addCopyButton(block);
offerMarkets().finally(() => {
  for (const [name, value] of new URLSearchParams(location.search)) {
    const control = form.elements.namedItem(name);
    if (control instanceof HTMLSelectElement || control instanceof HTMLInputElement) control.value = value;
  }
  follow(0);
});

/** Open markets, the most traded ones first; none while the service cannot say, when one can be named by its id. */
async function offerMarkets(): Promise<void> {
  const {
    trending = [],
    markets = [],
    ...data
  } = (await (await fetch("/embed/data/markets")).json()) as {
    trending?: Choice[];
    markets?: Choice[];
    tradeAt: string | null;
  };
  tradeAt = data.tradeAt;
  const choices = new Map([...trending, ...markets].map(({ id, question }) => [id, question]));
  const first = [...choices.keys()];
  for (const [index, name] of ["market", "versus"].entries()) {
    const select = form.elements.namedItem(name) as HTMLSelectElement;
    for (const [id, question] of choices)
      select.add(new Option(question.length > 70 ? `${question.slice(0, 69)}…` : question, id));
    select.value = first[index] ?? "";
  }
}

/** @param waitMs before the widget follows; the text does so at once */
function follow(waitMs: number): void {
  const query = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  for (const name of [...query.keys()]) if (query.get(name) === "") query.delete(name);
  const [language] = (form.elements.namedItem("locale") as HTMLSelectElement).selectedOptions;
  const title = language?.dataset.title ?? "Prediction market";
  const configured = configuredBy(query, location.origin, title);
  form.dataset.view = query.get("view") ?? "";
  missing.hidden = configured !== null;
  if (!configured) return;
  // The address makes the same page again, for a colleague or a reload.
  history.replaceState(null, "", `?${query}${location.hash}`);
  const { html, call } = writeSnippet(configured.form, configured.terms);
  const text = html.join("\n");
  snippet.textContent = text;
  hashOf(call).then((hash) => {
    if (snippet.textContent === text)
      policy.textContent = snippetPolicy(configured.form, configured.terms.origin, hash);
  });
  clearTimeout(timer);
  timer = setTimeout(() => show(configured), waitMs);
}

function show({ terms }: Configured): void {
  window.PredictionMarkets?.mount(preview, {
    ...snippetOptions(terms),
    signIn: false,
    onEvent: ({ name, detail }) => {
      if (name !== "height") note("heard", name, detail);
      if (name === "view") unknown.hidden = true;
      if (name === "error" && detail.code === "MARKET_NOT_FOUND") unknown.hidden = false;
    },
    onAction: ({ name, marketId }) => {
      note("heard", "onAction", { name });
      if (name === "signin" && tradeAt !== null) location.assign(placeToTrade(tradeAt, marketId));
    },
  });
}

/** The playground shows the market that it is asked for; another site has addresses of its own. */
function placeToTrade(address: string, marketId: string | undefined): string {
  return marketId && address.startsWith("/") ? `${address}?market=${encodeURIComponent(marketId)}` : address;
}

/** SHA-256 in Base64. Browsers calculate it for pages of https and of this machine alone. */
async function hashOf(call: string | undefined): Promise<string | undefined> {
  if (call === undefined) return undefined;
  if (!window.isSecureContext) return "<hash of the call>";
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(call));
  return btoa(String.fromCharCode(...new Uint8Array(digest)));
}

function addCopyButton(block: HTMLElement): void {
  const text = block.querySelector("pre");
  if (!text) return;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", `Copy: ${text.getAttribute("aria-label")}`);
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text)) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  block.append(button);
}

/** Selected as well, so that the keyboard can copy it where the browser does not let a page. */
async function copy(text: HTMLElement): Promise<boolean> {
  getSelection()?.selectAllChildren(text);
  const written = navigator.clipboard?.writeText(text.textContent ?? "").then(() => true);
  return (await written?.catch(() => false)) ?? false;
}

function part<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

interface Configured {
  form: SnippetForm;
  terms: SnippetTerms;
}

/**
 * The snippet that a form asks for, by the names of the configurator's controls. What is empty or unknown has its usual value.
 * @param origin of the tenant
 * @param title what a frame is called in the language that is chosen
 * @returns null while a market is missing that the view needs
 */
function configuredBy(query: URLSearchParams, origin: string, title: string): Configured | null {
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
      theme: oneOf(SNIPPET_THEMES, text("theme")) ?? "auto",
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
