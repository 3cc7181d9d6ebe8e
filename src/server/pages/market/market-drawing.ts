import type { CurvePoint } from "../../../domain/embed/curve-steps.ts";
import { completeTheme, type StatedTheme } from "../../../domain/theme/stated-theme.ts";
import type { Scheme } from "../../../domain/theme/tokens.ts";
import { wallClockMs } from "../../../domain/time/clock.ts";
import { HOUR_MS } from "../../../domain/time/units.ts";
import { outcomeSaid, wonBy } from "../../../locales/outcome-words.ts";
import type { Speaker } from "../../../locales/speaker.ts";
import { closingText } from "../card.ts";
import type { Drawing } from "./picture/svg.ts";
import type { Market } from "./site.ts";

/** Horizontal steps of a curve, which is some 500 pixels wide. */
const STEPS = 400;
/** The smallest part of a curve's time that its latest price covers. */
const TAIL = 0.05;
/** The smallest range of the axis: noise of half a point must not look like a crash. */
const LEAST_SPAN = 0.2;

export interface PictureChoice {
  size: Drawing["size"];
  scheme: Scheme;
  /** The tenant's name. */
  name: string;
  theme: StatedTheme;
}

/**
 * The data of a market's picture. It changes with a trade, with the market's state and with each full hour; requests in
 * between get the same picture.
 */
export function marketDrawing(
  speaker: Speaker,
  market: Market,
  prices: readonly CurvePoint[],
  { size, scheme, name, theme }: PictureChoice,
): Drawing {
  const { direction } = speaker;
  const { colors } = completeTheme(theme);
  const { outcome, yesPrice, settledAt } = market;
  const curve = curveOf(prices, settledAt === null ? wallClockMs() : Date.parse(settledAt));
  const axis = axisFor(curve.map(([, price]) => price));
  const percent = (price: number): string => speaker.percent(price);
  return {
    size,
    direction,
    name,
    question: market.question,
    odds: outcome
      ? {
          text: outcomeSaid(speaker, outcome),
          color: colors[wonBy(outcome) ?? "text"][scheme],
          label: speaker.say("page.result"),
        }
      : {
          text: speaker.chance(yesPrice),
          color: colors.text[scheme],
          label: speaker.say("common.chanceOf", { side: speaker.say("common.yes") }),
        },
    closing: settledAt ? endingText(speaker, market, settledAt) : closingText(speaker, market),
    curve,
    axis: { ...axis, labels: [percent(axis.top), percent(axis.bottom)] },
    colors: {
      background: colors.background[scheme],
      text: colors.text[scheme],
      muted: colors.muted[scheme],
      border: colors.border[scheme],
      line: colors[wonBy(outcome) ?? "yes"][scheme],
      accent: colors.accent[scheme],
    },
  };
}

/** When a market was settled, voided, or last corrected. */
function endingText(speaker: Speaker, { outcome, corrections }: Market, settledAt: string): string {
  const corrected = corrections.at(-1);
  if (corrected) return speaker.say("page.correctedAt", { time: speaker.exact(corrected.at) });
  return speaker.say(outcome === "void" ? "page.voidedAt" : "page.settledAt", { time: speaker.exact(settledAt) });
}

/**
 * The corners of a step curve, without repeats and without changes inside one horizontal step.
 * @param now milliseconds; only its full hour counts
 */
function curveOf(prices: readonly CurvePoint[], now: number): Drawing["curve"] {
  const [start = 0] = prices[0] ?? [];
  const [last = 0] = prices.at(-1) ?? [];
  const end = Math.max(start + 1, last + TAIL * (last - start), Math.floor(now / HOUR_MS) * HOUR_MS);
  const byStep = new Map(prices.map(([t, yes]) => [Math.round(((t - start) / (end - start)) * STEPS), yes]));
  const corners = [...byStep].map(([step, yes]) => [step / STEPS, yes] as const);
  return corners.filter(([, yes], index) => index === 0 || yes !== corners[index - 1]?.[1]);
}

/** Whole steps of ten points around the prices, between 0 and 1. */
function axisFor(prices: readonly number[]): { top: number; bottom: number } {
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  const middle = (low + high) / 2;
  const half = Math.max(LEAST_SPAN, high - low) / 2;
  const floor = Math.floor(Math.min(low, middle - half) * 10 + 1e-9) / 10;
  const ceiling = Math.ceil(Math.max(high, middle + half) * 10 - 1e-9) / 10;
  return { bottom: Math.max(0, floor), top: Math.min(1, ceiling) };
}
