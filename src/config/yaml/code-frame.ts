import type { Position } from "../config-error.ts";

/** A part of the text, as offsets from its start. */
export type Span = readonly [start: number, end: number];

/** What a frame may show of a text; both lists are in text order. Of all other text only the punctuation is shown. */
export interface Visibility {
  shown: readonly Span[];
  /** Values that must not be shown. Each is blanked as a whole, so that spaces within do not reveal its words. */
  hidden: readonly Span[];
}

const LINES_AROUND = 2;
/** Longer lines are cut around the caret: a file may be one line of a megabyte. */
const WIDTH = 110;
const MASK = "***";

/** The line of `position` with two lines around it and a caret below, masked. */
export function drawFrame(
  { text, lineStarts }: { text: string; lineStarts: readonly number[] },
  position: Position,
  visible: Visibility,
): string {
  const first = Math.max(1, position.line - LINES_AROUND);
  const last = Math.min(lineCount(text, lineStarts), position.line + LINES_AROUND);
  const gutter = String(last).length;
  const rows: string[] = [];
  for (let line = first; line <= last; line++) {
    const start = lineStarts[line - 1] ?? 0;
    const end = start + text.slice(start, lineStarts[line] ?? text.length).trimEnd().length;
    const here = line === position.line;
    const target = Math.min(start + (here ? position.column - 1 : 0), end);
    const from = target - start < WIDTH - 20 ? start : target - WIDTH / 2;
    const cut = from > start ? "..." : "";
    const shown = cut + maskedText(text, [from, Math.min(end, from + WIDTH)], visible);
    rows.push(`${here ? ">" : " "} ${String(line).padStart(gutter)} | ${shown}`.trimEnd());
    if (here) {
      const before = cut + maskedText(text, [from, target], visible);
      // Within a masked value the caret points at the end of the mask, because one mask covers the whole value.
      rows.push(`  ${" ".repeat(gutter)} | ${" ".repeat(before.length)}^`);
    }
  }
  return rows.join("\n");
}

/** A newline at the end of the text begins no further line. */
function lineCount(text: string, lineStarts: readonly number[]): number {
  return Math.max(1, lineStarts.at(-1) === text.length ? lineStarts.length - 1 : lineStarts.length);
}

/** One line of the text with all non-public parts replaced; a run of replaced characters becomes one mask. */
function maskedText(text: string, [from, to]: Span, visible: Visibility): string {
  const shownSpans = overlapping(visible.shown, [from, to]);
  const hiddenSpans = overlapping(visible.hidden, [from, to]);
  let masked = "";
  let masking = false;
  for (let place = from; place < to; place++) {
    const character = text.charAt(place);
    const isShown = covers(shownSpans, place);
    const isValue = isShown || covers(hiddenSpans, place);
    // A commented-out line may contain a secret too.
    if (!isValue && character === "#" && (place === 0 || /\s/.test(text.charAt(place - 1)))) return `${masked}# ...`;
    const mask = !isShown && (isValue || !isPunctuation(text, place));
    if (!mask) masked += /\p{Cc}/u.test(character) ? " " : character;
    else if (!masking) masked += MASK;
    masking = mask;
  }
  return masked;
}

function isPunctuation(text: string, place: number): boolean {
  const character = text.charAt(place);
  return /[\s[\]{}:,]/.test(character) || (character === "-" && /^\s*$/.test(text.charAt(place + 1)));
}

function covers(spans: readonly Span[], place: number): boolean {
  return spans.some(([start, end]) => place >= start && place < end);
}

/** Uses binary search: a large file has as many spans as values, and each problem draws five lines. */
function overlapping(spans: readonly Span[], [from, to]: Span): Span[] {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.[1] ?? 0) <= from) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < spans.length && (spans[end]?.[0] ?? to) < to) end += 1;
  return spans.slice(low, end);
}
