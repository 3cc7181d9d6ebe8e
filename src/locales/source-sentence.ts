import { INSTRUMENTS } from "../domain/feeds/instruments.ts";
import { type Comparator, parseReference, type Reference } from "../domain/reference.ts";
import { decimalIn, spanIn } from "./exact-numbers.ts";
import type { MessageKey } from "./messages.ts";
import type { Speaker } from "./speaker.ts";

/** An address that a reference names, to be shown as a link. */
export interface SourceLink {
  /** Of the scheme http or https. */
  href: string;
  text: string;
}

const CONDITIONS: Readonly<Record<Comparator, MessageKey>> = {
  ">": "source.above",
  ">=": "source.atLeast",
  "<": "source.below",
  "<=": "source.atMost",
  between: "source.between",
};

/**
 * What settles a market, as a sentence in pieces: a reference by a feed in words, such as "Settled by the price of
 * Bitcoin when the market closes: Yes if it is above 200,000.", and any other text as it stands, with its addresses as links.
 */
export function sourceSentence(
  speaker: Speaker,
  { resolutionRef, meta }: { resolutionRef: string; meta: Readonly<Record<string, unknown>> },
): (string | SourceLink)[] {
  const reference = referenceOf(resolutionRef, meta);
  if (reference) return [feedSentence(speaker, reference)];
  return speaker
    .compose<SourceText>("source.text", { source: { pieces: linked(resolutionRef) } })
    .flatMap((piece) => (typeof piece === "string" ? [piece] : piece.pieces))
    .filter((piece) => piece !== "");
}

interface SourceText {
  pieces: (string | SourceLink)[];
}

/** A feed key alone takes its condition from `meta`, as when the market was created. */
function referenceOf(text: string, { strike, comparator = ">" }: Readonly<Record<string, unknown>>) {
  const parsed = parseReference(text);
  const whole = parsed.kind === "key" ? parseReference(`${parsed.feed} ${comparator} ${strike}`) : parsed;
  return whole.kind === "reference" ? whole.reference : undefined;
}

function feedSentence(speaker: Speaker, { feed, comparator, strike, upperStrike, instant, rule }: Reference): string {
  const values = { strike: decimalIn(speaker.locale, strike), upper: decimalIn(speaker.locale, upperStrike ?? strike) };
  return speaker.say(`source.${rule.kind}`, {
    instrument: instrumentName(speaker.locale, feed),
    moment:
      instant === null ? speaker.say("source.atClose") : speaker.say("source.atTime", { time: speaker.exact(instant) }),
    window: rule.kind === "last" ? "" : spanIn(speaker.locale, rule.windowMs),
    condition: speaker.say(CONDITIONS[comparator], values),
    side: speaker.say("common.yes"),
  });
}

/** The built-in venue's names; a currency's name comes from CLDR, and a tenant's own feed is called as its code. */
function instrumentName(locale: string, feed: string): string {
  const [venue = "", code = ""] = feed.split(":");
  const name = venue === "pm" ? INSTRUMENTS[code]?.name : undefined;
  if (name !== undefined) return name;
  const upper = code.toUpperCase();
  if (venue !== "pm") return upper;
  if (/^XA[UG]$/.test(upper)) return new Intl.DisplayNames(locale, { type: "currency" }).of(upper) ?? upper;
  return INSTRUMENTS[code]?.session === "fx" ? `${upper.slice(0, 3)}/${upper.slice(3)}` : upper;
}

/** An address ends before the punctuation of the sentence around it. */
const ADDRESS = /(https?:\/\/[^\s<>"'“”«»]*[^\s<>"'“”«».,;:!?)\]}])/i;

function linked(text: string): (string | SourceLink)[] {
  return text.split(ADDRESS).map((piece, index) => {
    const url = index % 2 === 1 && URL.canParse(piece) ? new URL(piece) : undefined;
    // `https://good.example@evil.example` leads to the host that readers take for the rest.
    return url && url.username === "" && url.password === "" ? { href: url.href, text: piece } : piece;
  });
}
