import type { WireResult } from "../../contract/operations.ts";
import type { MessageKey } from "../../locales/messages.ts";
import { outcomeSaid, wonBy } from "../../locales/outcome-words.ts";
import type { Speaker } from "../../locales/speaker.ts";
import { escapeHtml } from "./html.ts";

/** The market data of a card. A list item has no status, because it accepts trades. */
export interface CardMarket extends Pick<Detail, "question" | "yesPrice" | "closeAt"> {
  status?: Detail["status"] | undefined;
  outcome?: Detail["outcome"] | undefined;
}

type Detail = WireResult<"getMarket">;

export interface CardOptions {
  /** The heading level of the question; 2 by default. */
  level?: 1 | 2 | 3;
  /** The link of the question; none by default. */
  href?: string;
}

/**
 * A market as markup that needs no script: question, chance or result, closing time, and its state unless it accepts
 * trades. Its parts have the same names as the widget's.
 * @param speaker with an explicit time zone: the server does not know the reader's
 */
export function marketCard(speaker: Speaker, market: CardMarket, { level = 2, href }: CardOptions = {}): string {
  const question = escapeHtml(market.question);
  const heading = href === undefined ? question : `<a href="${escapeHtml(href)}">${question}</a>`;
  // The question's direction follows its own language, which may differ from the page's.
  return `<article class="card"><h${level} class="question" data-pm="question" dir="auto">${heading}</h${level}>
<p>${oddsLine(speaker, market)}</p>
<p class="soft">${closingLine(speaker, market)}${stateWord(speaker, market)}</p></article>`;
}

/** The card's second and third line as plain text, for uses without markup. */
export function cardText(speaker: Speaker, market: CardMarket): string {
  const { outcome, yesPrice } = market;
  const odds = outcome
    ? speaker.say("card.result", { side: outcomeSaid(speaker, outcome) })
    : speaker.say("card.chance", { chance: speaker.chance(yesPrice), side: speaker.say("common.yes") });
  return `${odds} · ${closingText(speaker, market)}`;
}

/** When the market closes or has closed, as plain text. */
export function closingText(speaker: Speaker, market: CardMarket): string {
  return speaker.say(closingKey(market), { time: speaker.exact(market.closeAt) });
}

/** The chance, or the result of a settled market. */
function oddsLine(speaker: Speaker, { outcome, yesPrice }: CardMarket): string {
  if (outcome)
    return sentence(speaker, "card.result", {
      side: {
        html: `<b class="${wonBy(outcome) ?? ""}" data-pm="result">${escapeHtml(outcomeSaid(speaker, outcome))}</b>`,
      },
    });
  return sentence(speaker, "card.chance", {
    chance: { html: `<b class="big" data-pm="chance">${escapeHtml(speaker.chance(yesPrice))}</b>` },
    side: speaker.say("common.yes"),
  });
}

/** When the market closes or has closed: date, year, time and zone. */
function closingLine(speaker: Speaker, market: CardMarket): string {
  const { closeAt } = market;
  const text = escapeHtml(speaker.exact(closeAt));
  const time = { html: `<time data-pm="closes" datetime="${escapeHtml(closeAt)}">${text}</time>` };
  return sentence(speaker, closingKey(market), { time });
}

const closingKey = ({ status = "open" }: CardMarket) =>
  status === "open" || status === "suspended" ? "card.closes" : "card.closed";

const STATES = { suspended: "paused", closed: "closed", settled: "settled" } as const;

function stateWord(speaker: Speaker, { status = "open" }: CardMarket): string {
  if (status === "open") return "";
  const state = STATES[status];
  return ` · <span data-pm="state" data-state="${state}">${escapeHtml(speaker.say(`state.${state}`))}</span>`;
}

/** A message as markup; values in plain text are escaped. */
export function sentence(speaker: Speaker, key: MessageKey, values: Record<string, string | { html: string }>): string {
  return speaker
    .compose(key, values)
    .map((piece) => (typeof piece === "string" ? escapeHtml(piece) : piece.html))
    .join("");
}
