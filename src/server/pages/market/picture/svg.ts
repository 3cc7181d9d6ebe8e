import { escapeHtml } from "../../html.ts";
import { layOut, type Measure, shortened } from "./lines.ts";

export type Weight = 400 | 600;
/** Our font families by the main script of a text, and widths by weight. */
export interface Lettering {
  familyOf(text: string): string;
  measure(weight: Weight): Measure;
}

interface Layout {
  pad: number;
  name: { y: number; size: number };
  question: { top: number; sizes: readonly (readonly [size: number, lines: number])[] };
  odds: { y: number; width: number; sizes: readonly (readonly [size: number, lines: number])[] };
  label: { y: number; size: number };
  closing: { y: number; size: number };
  /** The box of the curve; labels are beside it, at the outer edge. */
  curve: { left: number; right: number; top: number; bottom: number; stroke: number; labelSize: number };
}

const LAYOUTS: Record<Drawing["size"], Layout> = {
  image: {
    pad: 64,
    name: { y: 92, size: 28 },
    question: {
      top: 118,
      sizes: [
        [64, 2],
        [56, 3],
        [46, 4],
        [40, 4],
      ],
    },
    odds: {
      y: 476,
      width: 440,
      sizes: [
        [112, 1],
        [76, 1],
        [52, 1],
        [36, 1],
      ],
    },
    label: { y: 524, size: 30 },
    closing: { y: 584, size: 26 },
    curve: { left: 560, right: 1064, top: 384, bottom: 524, stroke: 5, labelSize: 22 },
  },
  tile: {
    pad: 32,
    name: { y: 50, size: 18 },
    question: {
      top: 66,
      sizes: [
        [34, 2],
        [28, 3],
        [24, 4],
      ],
    },
    odds: {
      y: 272,
      width: 220,
      sizes: [
        [64, 1],
        [44, 1],
        [30, 1],
        [20, 1],
      ],
    },
    label: { y: 300, size: 18 },
    closing: { y: 366, size: 16 },
    curve: { left: 290, right: 520, top: 214, bottom: 300, stroke: 3, labelSize: 14 },
  },
};
const LINE_HEIGHT = 1.22;
/** The renderer treats every line as left-to-right, so right-to-left lines are isolated (UAX #9, 2.4). */
const ISOLATES = { ltr: ["", ""], rtl: ["\u2067", "\u2069"] } as const;

/** The picture as SVG. Every text is escaped, and nothing is loaded. */
export function svgOf(drawing: Drawing, lettering: Lettering): string {
  const { width, height } = SIZES[drawing.size];
  const { colors } = drawing;
  const layout = LAYOUTS[drawing.size];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<rect width="${width}" height="${height}" fill="${colors.background}"/><rect width="${width}" height="${layout.pad / 6}" fill="${colors.accent}"/>
${wordsOf(drawing, layout, lettering)}
${curveOf(drawing, layout, lettering)}</svg>`;
}

function wordsOf(drawing: Drawing, layout: Layout, lettering: Lettering): string {
  const { width } = SIZES[drawing.size];
  const { odds, direction, colors } = drawing;
  const inner = width - 2 * layout.pad;
  const question = drawable(drawing.question);
  const { lines, sizePx } = layOut(question, inner, layout.question.sizes, lettering.measure(600));
  const line = (text: string, y: number, size: number, fill: string, more: Partial<Line> = {}): string =>
    textElement(lettering, {
      text,
      y,
      size,
      fill,
      edges: [layout.pad, width - layout.pad],
      direction,
      weight: 400,
      ...more,
    });
  const short = (text: string, size: number, room = inner): string =>
    shortened(drawable(text), room, size, lettering.measure(400));
  const big = layOut(drawable(odds.text), layout.odds.width, layout.odds.sizes, lettering.measure(600));
  return [
    line(short(drawing.name, layout.name.size), layout.name.y, layout.name.size, colors.muted),
    ...lines.map((text, index) => {
      const y = layout.question.top + sizePx * (0.95 + index * LINE_HEIGHT);
      return line(text, y, sizePx, colors.text, { weight: 600, direction: directionOfText(question) });
    }),
    line(big.lines[0] ?? "", layout.odds.y, big.sizePx, odds.color, { weight: 600 }),
    line(short(odds.label, layout.label.size, layout.odds.width), layout.label.y, layout.label.size, colors.muted),
    line(short(drawing.closing, layout.closing.size), layout.closing.y, layout.closing.size, colors.muted),
  ].join("\n");
}

interface Line {
  text: string;
  y: number;
  size: number;
  fill: string;
  /** Where lines begin, from the left and from the right. */
  edges: readonly [left: number, right: number];
  direction: "ltr" | "rtl";
  weight: Weight;
}

function textElement(lettering: Lettering, { text, y, size, fill, edges, direction, weight }: Line): string {
  const [x, anchor] = direction === "ltr" ? [edges[0], "start"] : [edges[1], "end"];
  const [open, close] = ISOLATES[direction];
  return `<text x="${x}" y="${rounded(y)}" text-anchor="${anchor}" font-family="${lettering.familyOf(text)}" font-size="${size}" font-weight="${weight}" fill="${fill}">${open}${escapeHtml(text)}${close}</text>`;
}

/** A step curve, because a price holds until the next trade. The newest price is always at the right. */
function curveOf(
  { size, direction, curve, axis, colors }: Drawing,
  { curve: box }: Layout,
  lettering: Lettering,
): string {
  const { width } = SIZES[size];
  const mirrored = direction === "rtl";
  const [left, right] = mirrored ? [width - box.right, width - box.left] : [box.left, box.right];
  const x = (share: number): number => rounded(left + share * (right - left));
  const y = (price: number): number =>
    rounded(box.bottom - ((price - axis.bottom) / (axis.top - axis.bottom)) * (box.bottom - box.top));
  const [first, ...rest] = curve;
  if (!first) return "";
  const steps = rest.map(([at, price]) => `H${x(at)}V${y(price)}`).join("");
  const end = curve.at(-1) ?? first;
  const path = `M${x(0)} ${y(first[1])}${steps}H${x(1)}`;
  const label = (text: string, at: number): string =>
    `<text x="${mirrored ? left - 12 : right + 12}" y="${at + box.labelSize * 0.35}" text-anchor="${mirrored ? "end" : "start"}" font-family="${lettering.familyOf(text)}" font-size="${box.labelSize}" fill="${colors.muted}">${escapeHtml(text)}</text>`;
  const grid = [box.top, box.bottom].map(
    (at) => `<path d="M${left} ${at}H${right}" stroke="${colors.border}" stroke-width="2"/>`,
  );
  return `<defs><linearGradient id="fade" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="${colors.line}" stop-opacity=".32"/><stop offset="1" stop-color="${colors.line}" stop-opacity="0"/></linearGradient></defs>
${grid.join("")}${label(axis.labels[0], box.top)}${label(axis.labels[1], box.bottom)}
<path d="${path}V${box.bottom}H${x(0)}Z" fill="url(#fade)"/><path d="${path}" fill="none" stroke="${colors.line}" stroke-width="${box.stroke}" stroke-linejoin="round"/>
<circle cx="${x(1)}" cy="${y(end[1])}" r="${box.stroke * 1.7}" fill="${colors.line}"/>`;
}

const rounded = (pixels: number): number => Math.round(pixels * 10) / 10;

/** Everything that a picture of a market shows, in final words and colours. Equal drawings give equal pictures. */
export interface Drawing {
  size: "image" | "tile";
  /** The page's direction, which decides where the labels of the curve are. */
  direction: "ltr" | "rtl";
  /** Untrusted text. */
  question: string;
  /** The chance, or the result of a settled market. */
  odds: { text: string; color: string; label: string };
  closing: string;
  /** The tenant's name. */
  name: string;
  /** The curve's corners: shares of its width, and prices, 0 to 1. */
  curve: (readonly [x: number, price: number])[];
  /** The values at the ends of the curve's axis, 0 to 1, and their labels. */
  axis: { top: number; bottom: number; labels: readonly [top: string, bottom: string] };
  colors: { background: string; text: string; muted: string; border: string; line: string; accent: string };
}

/** Pixels. */
export const SIZES = {
  image: { width: 1200, height: 630 },
  tile: { width: 600, height: 400 },
} as const;

/** Longer questions are cut with an ellipsis anyway. */
const MOST_CHARACTERS = 600;
/** Characters that draw nothing, draw over their neighbours or reverse them. Joiners stay, because some scripts need them. */
const UNDRAWN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu;
/** Our fonts have no emoji. */
const PICTURES = /\p{RGI_Emoji}|\p{Emoji_Modifier}|\ufe0f|\u20e3/gv;
/** More marks on one letter than any language uses would cover the lines around it. */
const PILED_MARKS = /(\p{M}{3})\p{M}+/gu;

/** An untrusted text as one drawable line: without control characters, direction marks and emoji. */
export function drawable(text: string): string {
  const cleaned = text
    .normalize()
    .replace(/\s+/gu, " ")
    .replace(PICTURES, "")
    .replace(UNDRAWN, "")
    .replace(PILED_MARKS, "$1");
  return [...cleaned.replace(/ {2,}/g, " ").trim()].slice(0, MOST_CHARACTERS).join("");
}

/** The direction of a text: that of its first letter with a direction. */
export function directionOfText(text: string): "ltr" | "rtl" {
  const first = /\p{L}/u.exec(text)?.[0] ?? "";
  return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(
    first,
  )
    ? "rtl"
    : "ltr";
}
