import {
  absoluteDecimal,
  compareDecimals,
  type Decimal,
  decimalFromNumber,
  decimalText,
  medianOf,
  multiplyDecimals,
  subtractDecimals,
  weightedMean,
} from "../decimal.ts";
import { invariant } from "../fault.ts";
import type { FeedDefinition, FeedSource } from "../feeds/feed.ts";
import { isTrading, parseTradingHours } from "../feeds/trading-hours.ts";
import { counted } from "../text.ts";
import { HOUR_MS } from "../time/units.ts";
import type { HoldReason } from "./hold.ts";
import { isFulfilled, type MarketTerms } from "./terms.ts";

/** A source's price of an instrument at one time. Times are milliseconds since the epoch. */
export interface Observation {
  observedAt: number;
  price: Decimal;
  conf: Decimal | null;
  receivedAt: number;
}

export interface SourceRecord {
  source: FeedSource;
  /** Sources with the same upstream count as one. */
  upstream: string;
  /** In order of time, none after the deciding instant. */
  observations: readonly Observation[];
  /**
   * For a source that is asked: when it last answered. For a source that pushes: the later of its latest observation
   * and `SETTLING_MS`. Null for never.
   */
  confirmedAt: number | null;
}

export type Verdict =
  | { kind: "resolved"; outcome: "yes" | "no"; price: Decimal; used: SourceValue[] }
  | { kind: "held"; reason: HoldReason; detail: string };

export interface SourceValue {
  source: FeedSource;
  upstream: string;
  price: Decimal;
  observations: readonly Observation[];
}

/** Sources publish with a delay: an answer within this time after the instant may still be superseded. */
export const SETTLING_MS = 2000;
/** A price dated further ahead of the clock is a mistake, such as milliseconds read as seconds. */
export const MAX_AHEAD_MS = 5000;
/** A price jumps from its predecessor only if that is at most this old. */
export const JUMP_MEMORY_MS = HOUR_MS;
/** With fewer observations in a window, a mean or median is not meaningful. */
const FEWEST_IN_WINDOW = 3;

/** How far before the instant observations count. */
export function lookbackMs({ maxAgeMs }: FeedDefinition, { rule }: Pick<MarketTerms, "rule">): number {
  return maxAgeMs + (rule.kind === "last" ? 0 : rule.windowMs);
}

/** Whether the source answered or pushed an observation so late that no price from before the instant can be missing. */
export function isConfirmed({ confirmedAt }: Pick<SourceRecord, "confirmedAt">, instant: number): boolean {
  return confirmedAt !== null && confirmedAt >= instant + SETTLING_MS;
}

/**
 * Decides a market by the recorded price at the instant, never by a later price. The same records always give the same
 * verdict. Any doubt holds the market.
 */
export function decide(feed: FeedDefinition, terms: MarketTerms, records: readonly SourceRecord[]): Verdict {
  const hours = feed.hours === null ? undefined : parseTradingHours(feed.hours);
  if (hours && !isTrading(hours, terms.instant))
    return held("session closed", `${feed.key} does not trade at ${new Date(terms.instant).toISOString()}`);
  const findings = records.map((record) => findingOf(feed, terms, record));
  const outside = findings.find((finding) => finding.kind === "refused");
  if (outside?.kind === "refused") return held(outside.reason, outside.detail);
  const values = firstPerUpstream(findings.flatMap((finding) => (finding.kind === "value" ? [finding.value] : [])));
  if (values.length < feed.quorum) return tooFew(feed, findings, values.length);
  const [first, ...others] = values;
  invariant(first, "a quorum is at least one");
  const median = medianOf([first.price, ...others.map(({ price }) => price)]);
  const spread = spreadOf(values);
  if (exceeds(spread, feed.maxSpread, median))
    return held("spread", `the sources lie ${decimalText(spread)} apart around ${decimalText(median)}`);
  const price = feed.aggregate === "first" ? first.price : median;
  return { kind: "resolved", outcome: isFulfilled(terms, price) ? "yes" : "no", price, used: values };
}

type Finding =
  | { kind: "value"; value: SourceValue }
  /** This source is omitted. */
  | { kind: "missing"; reason: HoldReason; detail: string }
  /** This source's price puts all sources in doubt. */
  | { kind: "refused"; reason: HoldReason; detail: string };

function findingOf(feed: FeedDefinition, terms: MarketTerms, record: SourceRecord): Finding {
  const { source, upstream, observations } = record;
  const missing = (reason: HoldReason, detail: string): Finding => ({
    kind: "missing",
    reason,
    detail: `${source.use}: ${detail}`,
  });
  if (!isConfirmed(record, terms.instant))
    return missing("feed down", "no answer or observation since the instant that decides");
  const last = observations.at(-1);
  if (!last) return missing("stale", "nothing was observed before the instant that decides");
  const ageMs = terms.instant - last.observedAt;
  if (ageMs > feed.maxAgeMs)
    return missing("stale", `the last observation was ${ageMs / 1000} s old, more than ${feed.maxAgeMs / 1000} s`);
  const used = terms.rule.kind === "last" ? [last] : inWindow(observations, terms.instant - terms.rule.windowMs, feed);
  if (terms.rule.kind !== "last" && used.length < FEWEST_IN_WINDOW)
    return missing(
      "window sparse",
      `the window has ${counted(used.length, "observation")}, fewer than ${FEWEST_IN_WINDOW}`,
    );
  const implausible = used.find(({ price }) => !isWithin(feed.bounds, price));
  if (implausible) {
    const detail = `${source.use} says ${decimalText(implausible.price)}, outside ${feed.bounds?.join("..")}`;
    return { kind: "refused", reason: "out of bounds", detail };
  }
  const unsure = used.find(({ price, conf }) => conf !== null && exceeds(conf, feed.maxConf, price));
  if (unsure) return missing("confidence", `the confidence interval of ${decimalText(unsure.price)} is too wide`);
  const before = observations.at(-2);
  if (before && last.observedAt - before.observedAt <= JUMP_MEMORY_MS) {
    const step = absoluteDecimal(subtractDecimals(last.price, before.price));
    if (exceeds(step, feed.maxJump, before.price)) {
      const detail = `${source.use} went from ${decimalText(before.price)} to ${decimalText(last.price)}`;
      return { kind: "refused", reason: "jump", detail };
    }
  }
  return { kind: "value", value: { source, upstream, price: combine(terms, used), observations: used } };
}

/** The price that was valid when the window began, and all observations in the window. */
function inWindow(observations: readonly Observation[], start: number, feed: FeedDefinition): Observation[] {
  const inside = observations.filter(({ observedAt }) => observedAt > start);
  const opening = observations.findLast(({ observedAt }) => observedAt <= start);
  return opening && start - opening.observedAt <= feed.maxAgeMs ? [opening, ...inside] : inside;
}

function combine({ rule, instant }: MarketTerms, used: readonly Observation[]): Decimal {
  const [first, ...others] = used;
  invariant(first, "a value has observations");
  if (rule.kind === "last") return first.price;
  if (rule.kind === "median") return medianOf([first.price, ...others.map(({ price }) => price)]);
  const start = instant - rule.windowMs;
  const parts = used.map(({ observedAt, price }, index) => ({
    value: price,
    weight: BigInt((used[index + 1]?.observedAt ?? instant) - Math.max(observedAt, start)),
  }));
  return weightedMean(parts) ?? first.price;
}

function isWithin(bounds: FeedDefinition["bounds"], price: Decimal): boolean {
  if (!bounds) return true;
  const [low, high] = bounds.map((bound) => decimalFromNumber(bound));
  return !low || !high || (compareDecimals(price, low) >= 0 && compareDecimals(price, high) <= 0);
}

/** Whether `distance` is more than `ratio` of the size of `base`. */
function exceeds(distance: Decimal, ratio: number | null, base: Decimal): boolean {
  if (ratio === null) return false;
  const limit = decimalFromNumber(Number(ratio.toFixed(9)));
  return limit !== undefined && compareDecimals(distance, multiplyDecimals(absoluteDecimal(base), limit)) > 0;
}

function firstPerUpstream(values: readonly SourceValue[]): SourceValue[] {
  return [...new Map(values.toReversed().map((value) => [value.upstream, value])).values()].reverse();
}

/** The difference between the lowest and the highest price. */
export function spreadOf(values: readonly { price: Decimal }[]): Decimal {
  const sorted = values.map(({ price }) => price).toSorted(compareDecimals);
  const [low, high] = [sorted[0], sorted.at(-1)];
  invariant(low && high, "a spread has values");
  return subtractDecimals(high, low);
}

/** The verdict without a quorum: the common reason if all sources failed alike, otherwise `no quorum`. */
function tooFew({ key, quorum }: FeedDefinition, findings: readonly Finding[], have: number): Verdict {
  const failed = findings.filter((finding) => finding.kind === "missing");
  const [first] = failed;
  if (!first) {
    const detail =
      findings.length === 0 ? `${key} has no configured source` : `${have} of ${counted(quorum, "independent source")}`;
    return held(findings.length === 0 ? "feed down" : "no quorum", detail);
  }
  const detail = failed.map((finding) => finding.detail).join("; ");
  if (have === 0 && failed.every(({ reason }) => reason === first.reason)) return held(first.reason, detail);
  return held("no quorum", `${have} of ${counted(quorum, "independent source")}: ${detail}`);
}

function held(reason: HoldReason, detail: string): Verdict {
  return { kind: "held", reason, detail: detail.slice(0, 500) };
}
