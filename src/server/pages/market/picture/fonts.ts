import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { FontFile } from "./font-file.ts";
import type { Lettering, Weight } from "./svg.ts";

const FILES: readonly { from: string; file: string; weights: readonly Weight[] }[] = [
  { from: "@embedpdf/fonts-latin", file: "NotoSans-Regular.ttf", weights: [400] },
  { from: "@embedpdf/fonts-latin", file: "NotoSans-SemiBold.ttf", weights: [600] },
  { from: "@embedpdf/fonts-arabic", file: "NotoNaskhArabic-Regular.ttf", weights: [400] },
  { from: "@embedpdf/fonts-arabic", file: "NotoNaskhArabic-Bold.ttf", weights: [600] },
  { from: "@embedpdf/fonts-jp", file: "NotoSansJP-Medium.otf", weights: [400, 600] },
];
const installed = createRequire(import.meta.url);

/** Reads a file of a font package, relative to the module that the package exports. */
function readFont(from: string, file: string): Buffer {
  return readFileSync(join(dirname(installed.resolve(from)), "../fonts", file));
}

/** The width in ems of a character that no font has. */
const UNKNOWN_WIDTH = 0.7;

/** The fonts of pictures. */
export class Fonts implements Lettering {
  readonly #files: readonly { font: FontFile; weights: readonly Weight[] }[];

  constructor() {
    this.#files = FILES.map(({ from, file, weights }) => ({ font: new FontFile(readFont(from, file)), weights }));
  }

  /** The font files that these texts need. The first two are always included. */
  dataFor(texts: readonly string[]): Buffer[] {
    const characters = new Set([...texts.join("")].map((character) => character.codePointAt(0) ?? 0));
    const [usual, others] = [this.#files.slice(0, 2), this.#files.slice(2)];
    const isMissing = (codePoint: number): boolean => usual.every(({ font }) => font.widthOf(codePoint) === undefined);
    const missing = [...characters].filter(isMissing);
    const needed = others.filter(({ font }) => missing.some((codePoint) => font.widthOf(codePoint) !== undefined));
    return [...usual, ...needed].map(({ font }) => font.data);
  }

  familyOf(text: string): string {
    if (/\p{Script=Arabic}/u.test(text)) return "Noto Naskh Arabic";
    return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text) ? "Noto Sans JP" : "Noto Sans";
  }

  measure(weight: Weight): (text: string, sizePx: number) => number {
    const fonts = this.#files.filter(({ weights }) => weights.includes(weight)).map(({ font }) => font);
    return (text, sizePx) => {
      let ems = 0;
      for (const character of text) ems += widthIn(fonts, character);
      return ems * sizePx;
    };
  }
}

function widthIn(fonts: readonly FontFile[], character: string): number {
  const codePoint = character.codePointAt(0) ?? 0;
  for (const font of fonts) {
    const width = font.widthOf(codePoint);
    if (width !== undefined) return width;
  }
  return /\p{M}|\u200c|\u200d/u.test(character) ? 0 : UNKNOWN_WIDTH;
}
