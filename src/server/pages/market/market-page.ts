import { wallClockMs } from "../../../domain/time/clock.ts";
import { endSentences, lastValue } from "../../../locales/end-sentences.ts";
import { wonBy } from "../../../locales/outcome-words.ts";
import { type OpenProposal, proposalSentences } from "../../../locales/proposal-sentences.ts";
import type { Sentence } from "../../../locales/sentence-pieces.ts";
import { sourceSentence } from "../../../locales/source-sentence.ts";
import type { Speaker } from "../../../locales/speaker.ts";
import type { Exchange } from "../../exchange.ts";
import type { Answer } from "../../responses.ts";
import { cardText, marketCard, sentence } from "../card.ts";
import { escapeHtml, jsonInScript } from "../html.ts";
import { pageAnswer, withLocale } from "./page-document.ts";
import { absolute, type Market, type MarketSite, marketPath } from "./site.ts";

/** The size of `/m/:id/image.png`. */
export const IMAGE_SIZE = { width: 1200, height: 630 };

/** A market's page for people, search engines and link previews. With scripts, the widget replaces the card. */
export async function marketPage(
  site: MarketSite,
  exchange: Exchange,
  speaker: Speaker,
  market: Market,
): Promise<Answer> {
  const { id, question, settledAt } = market;
  const proposal = await site.proposalAbout(id);
  const signInAt = site.signInAt(id);
  const finalValue = settledAt === null ? undefined : await site.finalValueOf(id);
  return pageAnswer(site, exchange, speaker, {
    title: `${question} - ${site.name}`,
    head: headOf(site, exchange, speaker, market),
    main: `<div class="place">${marketCard(speaker, market, { level: 1 })}
<div class="widget" data-view="market" data-theme="auto" data-market-id="${escapeHtml(id)}" data-locale="${speaker.locale}"${signInAt === undefined ? "" : ` data-sign-in="${escapeHtml(signInAt)}"`}></div></div>
${factsOf(speaker, market, { finalValue, proposal })}`,
    live: true,
  });
}

interface Around {
  /** The value of the deciding feed. */
  finalValue: string | undefined;
  proposal: Awaited<ReturnType<MarketSite["proposalAbout"]>>;
}

function factsOf(speaker: Speaker, market: Market, { finalValue, proposal }: Around): string {
  const { volume, meta } = market;
  const traded = `<p class="soft">${escapeHtml(speaker.say("page.traded", { amount: speaker.volume(volume) }))}</p>`;
  const rules = typeof meta.description === "string" ? meta.description.trim() : "";
  return `<section class="once">${endOf(speaker, market, finalValue)}${proposal ? proposalMarkup(speaker, proposal) : ""}${traded}</section>
${rules === "" ? "" : section(speaker.say("page.rules"), `<p class="rules" dir="auto" data-pm="rules">${escapeHtml(rules)}</p>`)}
${market.clarifications.map((each) => clarificationOf(speaker, each)).join("\n")}
${section(speaker.say("page.source"), `<p class="rules" dir="auto" data-pm="source">${sourceMarkup(speaker, market)}</p>`)}`;
}

function clarificationOf(speaker: Speaker, { text, at }: Market["clarifications"][number]): string {
  const time = { html: `<time datetime="${escapeHtml(at)}">${escapeHtml(speaker.exact(at))}</time>` };
  const title = sentence(speaker, "market.clarified", { time });
  return `<section class="once" data-pm="clarification"><h2>${title}</h2><p class="rules" dir="auto">${escapeHtml(text)}</p></section>`;
}

/** @param finalValue the value of the deciding feed */
function endOf(speaker: Speaker, market: Market, finalValue: string | undefined): string {
  const ended = endSentences(speaker, market);
  if (ended.length === 0) return "";
  const said = finalValue === undefined ? ended : [...ended, lastValue(speaker, market, finalValue)];
  const chance = { html: `<b data-pm="chance">${escapeHtml(speaker.chance(market.yesPrice))}</b>` };
  return `${said.map((each) => `<p data-pm="ended">${sentenceMarkup(speaker, each)}</p>`).join("\n")}
<p>${sentence(speaker, "page.lastChance", { side: speaker.say("common.yes"), chance })}</p>`;
}

function proposalMarkup(speaker: Speaker, proposal: OpenProposal): string {
  const said = proposalSentences(speaker, proposal, wallClockMs()).map(
    (each) => `<p>${sentenceMarkup(speaker, each)}</p>`,
  );
  return `<div data-pm="proposal">${said.join("\n")}</div>\n`;
}

function sentenceMarkup(speaker: Speaker, pieces: Sentence): string {
  return pieces
    .map((piece) => {
      if (typeof piece === "string") return escapeHtml(piece);
      // The words of an operator may be in a language of another direction.
      if ("quote" in piece) return `<bdi>${escapeHtml(piece.quote)}</bdi>`;
      return `<time datetime="${escapeHtml(piece.at)}">${escapeHtml(speaker.exact(piece.at))}</time>`;
    })
    .join("");
}

function section(title: string, content: string): string {
  return `<section class="once"><h2>${escapeHtml(title)}</h2>${content}</section>`;
}

/** The source in words. Its links carry no endorsement for search engines, and the linked page cannot access ours. */
function sourceMarkup(speaker: Speaker, market: Market): string {
  return sourceSentence(speaker, market)
    .map((piece) =>
      typeof piece === "string"
        ? escapeHtml(piece)
        : `<a href="${escapeHtml(piece.href)}" target="_blank" rel="noopener nofollow">${escapeHtml(piece.text)}</a>`,
    )
    .join("");
}

/** The head for search engines and messengers. Its addresses are absolute. */
function headOf(site: MarketSite, exchange: Exchange, speaker: Speaker, market: Market): string {
  const path = marketPath(market.id);
  const address = absolute(site, exchange, path);
  const description = cardText(speaker, market);
  const oembed = absolute(site, exchange, `/oembed?url=${encodeURIComponent(address)}&format=json`);
  const meta: [attribute: "name" | "property", key: string, value: string][] = [
    ["name", "description", description],
    ["property", "og:title", market.question],
    ["property", "og:description", description],
    ["property", "og:url", address],
    ["property", "og:type", "website"],
    ["property", "og:site_name", site.name],
    ["property", "og:image", absolute(site, exchange, withLocale(`${path}/image.png`, exchange))],
    ["property", "og:image:type", "image/png"],
    ["property", "og:image:width", String(IMAGE_SIZE.width)],
    ["property", "og:image:height", String(IMAGE_SIZE.height)],
    ["property", "og:image:alt", `${market.question} ${description}`],
    ["name", "twitter:card", "summary_large_image"],
  ];
  const links = `<link rel="canonical" href="${escapeHtml(address)}">
<link rel="alternate" type="application/json+oembed" href="${escapeHtml(oembed)}" title="${escapeHtml(market.question)}">`;
  const tags = meta.map(([attribute, key, value]) => `<meta ${attribute}="${key}" content="${escapeHtml(value)}">`);
  const data = structuredData(site, absolute(site, exchange, "/"), address, speaker, market);
  return `${links}\n${tags.join("\n")}\n<script type="application/ld+json">${jsonInScript(data)}</script>`;
}

/** A market as https://schema.org/Question. Its two answers are the sides; the accepted answer is the result. */
function structuredData(site: MarketSite, home: string, address: string, speaker: Speaker, market: Market): object {
  const { question, createdAt, closeAt, outcome, meta } = market;
  const winner = wonBy(outcome);
  const answerOf = (side: "yes" | "no") => ({ "@type": "Answer", text: speaker.say(`common.${side}`), url: address });
  return {
    "@context": "https://schema.org",
    "@type": "Question",
    "@id": address,
    url: address,
    name: question,
    ...(typeof meta.description === "string" ? { text: meta.description } : {}),
    dateCreated: createdAt,
    expires: closeAt,
    answerCount: 2,
    suggestedAnswer: [answerOf("yes"), answerOf("no")],
    ...(winner ? { acceptedAnswer: answerOf(winner) } : {}),
    publisher: { "@type": "Organization", name: site.name, url: home },
  };
}
