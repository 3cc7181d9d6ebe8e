/** The width of a text in pixels. */
export type Measure = (text: string, sizePx: number) => number;

export interface Laid {
  lines: string[];
  sizePx: number;
}

/** Scripts without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Characters that cannot begin a line, or cannot end one. */
const CLOSING = /^[\p{Pe}\p{Pf}\p{Po}\p{Lm}\p{M}ー々〜～%％℃]/u;
const OPENING = /[\p{Ps}\p{Pi}\p{Sc}]$/u;
const words = new Intl.Segmenter("ja", { granularity: "word" });
const characters = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * Lays out a text in the largest size whose line limit it fits. In the smallest size it is cut with an ellipsis if
 * necessary.
 * @param sizes pixels and lines, largest first
 */
export function layOut(
  text: string,
  widthPx: number,
  sizes: readonly (readonly [sizePx: number, lines: number])[],
  measure: Measure,
): Laid {
  for (const [sizePx, most] of sizes) {
    const lines = linesOf(text, widthPx, sizePx, measure);
    if (lines.length <= most) return { lines, sizePx };
  }
  const [sizePx = 16, most = 1] = sizes.at(-1) ?? [];
  const lines = linesOf(text, widthPx, sizePx, measure).slice(0, most);
  const last = lines.pop() ?? "";
  return { lines: [...lines, shortened(last, widthPx, sizePx, measure, true)], sizePx };
}

/** One line, with an ellipsis if it is too long. */
export function shortened(text: string, widthPx: number, sizePx: number, measure: Measure, isCut = false): string {
  if (!isCut && measure(text, sizePx) <= widthPx) return text;
  const kept = graphemes(text);
  while (kept.length > 0 && measure(`${kept.join("")}…`, sizePx) > widthPx) kept.pop();
  return `${kept.join("").trimEnd()}…`;
}

function linesOf(text: string, widthPx: number, sizePx: number, measure: Measure): string[] {
  const lines: string[] = [];
  let line = "";
  const fits = (candidate: string): boolean => measure(candidate.trimEnd(), sizePx) <= widthPx;
  for (const piece of piecesOf(text)) {
    if (fits(line + piece)) {
      line += piece;
      continue;
    }
    if (line !== "") lines.push(line.trimEnd());
    line = "";
    for (const character of fits(piece) ? [piece] : graphemes(piece)) {
      if (line !== "" && !fits(line + character)) {
        lines.push(line);
        line = "";
      }
      line += character;
    }
  }
  return line.trim() === "" ? lines : [...lines, line.trimEnd()];
}

/** The places where a line may break: after spaces, and between words in scripts without spaces. */
function piecesOf(text: string): string[] {
  const pieces = text
    .split(/(?<=\s)(?=\S)/u)
    .flatMap((piece) => (UNSPACED.test(piece) ? unspacedPieces(piece) : [piece]));
  return pieces;
}

function unspacedPieces(text: string): string[] {
  const pieces: string[] = [];
  for (const { segment } of words.segment(text)) {
    const before = pieces.at(-1);
    if (before !== undefined && (CLOSING.test(segment) || OPENING.test(before) || segment.trim() === ""))
      pieces[pieces.length - 1] = before + segment;
    else pieces.push(segment);
  }
  return pieces;
}

function graphemes(text: string): string[] {
  return [...characters.segment(text)].map(({ segment }) => segment);
}
