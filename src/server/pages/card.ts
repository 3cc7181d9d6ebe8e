import type { WireResult } from "../../contract/operations.ts";
import type { MessageKey } from "../../locales/messages.ts";
import type { Speaker } from "../../locales/speaker.ts";
import { escapeHtml } from "./html.ts";

/** What a card tells of a market: an item of a list has no status, because it takes trades. */
export type CardMarket = Pick<WireResult<"getMarket">, "question" | "yesPrice" | "closeAt"> &
  Partial<Pick<WireResult<"getMarket">, "status" | "outcome">>;

export interface CardOptions {
  /** The question's level among the headings of the document; 2 unless given. */
  level?: 1 | 2 | 3;
  /** Where the question leads; no link unless given. */
  href?: string;
}

/**
 * A market as markup that needs no script: question, chance or result, closing time, and its state unless it takes
 * trades. Its parts have the names of the widget's.
 * @param speaker with a time zone of its own: the server does not know the reader's
 */
export function marketCard(speaker: Speaker, market: CardMarket, { level = 2, href }: CardOptions = {}): string {
  const question = escapeHtml(market.question);
  const heading = href === undefined ? question : `<a href="${escapeHtml(href)}">${question}</a>`;
  // A question has the direction of its own language, which need not be the page's.
  return `<article class="card"><h${level} class="question" data-pm="question" dir="auto">${heading}</h${level}>
<p>${oddsLine(speaker, market)}</p>
<p class="soft">${closingLine(speaker, market)}${stateWord(speaker, market)}</p></article>`;
}

/** The chance, or the result of a settled market. */
function oddsLine(speaker: Speaker, { status, outcome, yesPrice }: CardMarket): string {
  if (status === "settled" && outcome)
    return sentence(speaker, "card.result", {
      side: { html: `<b class="${outcome}" data-pm="result">${escapeHtml(speaker.say(`common.${outcome}`))}</b>` },
    });
  return sentence(speaker, "card.chance", {
    chance: { html: `<b class="big" data-pm="chance">${escapeHtml(speaker.chance(yesPrice))}</b>` },
    side: speaker.say("common.yes"),
  });
}

/** When the market closes or has closed: date, year, time and zone. */
function closingLine(speaker: Speaker, { closeAt, status = "open" }: CardMarket): string {
  const text = escapeHtml(speaker.exact(closeAt));
  const time = { html: `<time data-pm="closes" datetime="${escapeHtml(closeAt)}">${text}</time>` };
  return sentence(speaker, status === "open" || status === "suspended" ? "card.closes" : "card.closed", { time });
}

const STATES = { suspended: "paused", closed: "closed", settled: "settled" } as const;

function stateWord(speaker: Speaker, { status = "open" }: CardMarket): string {
  if (status === "open") return "";
  const state = STATES[status];
  return ` · <span data-pm="state" data-state="${state}">${escapeHtml(speaker.say(`state.${state}`))}</span>`;
}

/** A message as markup; what is filled in as plain text is escaped. */
export function sentence(speaker: Speaker, key: MessageKey, values: Record<string, string | { html: string }>): string {
  return speaker
    .compose(key, values)
    .map((piece) => (typeof piece === "string" ? escapeHtml(piece) : piece.html))
    .join("");
}
