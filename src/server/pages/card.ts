import type { Speaker } from "../../locales/speaker.ts";
import { escapeHtml as text } from "./html.ts";

/** What a card shows of a market. */
export interface CardMarket {
  question: string;
  /** 0 to 1. */
  yesPrice: number;
  /** ISO 8601. */
  closeAt: string;
}

/**
 * A market as HTML that is read without scripts: the question, its chance and when it closes.
 * @param heading the level of the question's heading
 */
export function marketCard(speaker: Speaker, { question, yesPrice, closeAt }: CardMarket, heading: 1 | 2): string {
  const chance = `<b class="big" data-pm="chance">${text(speaker.chance(yesPrice))}</b>`;
  const side = speaker.say("common.yes");
  const time = `<time data-pm="closes" datetime="${text(closeAt)}">${text(speaker.exact(closeAt))}</time>`;
  return `<article><h${heading} class="question" data-pm="question">${text(question)}</h${heading}>
<p class="facts"><span>${chance} ${text(speaker.say("common.chanceOf", { side }))}</span>
<span>${speaker
    .compose("card.closes", { time: { html: time } })
    .map((piece) => (typeof piece === "string" ? text(piece) : piece.html))
    .join("")}</span></p></article>`;
}
