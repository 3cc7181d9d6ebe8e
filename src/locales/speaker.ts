import { type FormatOptions, type Formats, formatsFor } from "./formats.ts";
import type { Message, MessageKey, Messages } from "./messages.ts";

/** A number among the values is written as the locale writes numbers. */
export type Values = Readonly<Record<string, string | number>>;

/** Says everything in one language. */
export interface Speaker extends Formats {
  readonly locale: string;
  /** Of the `dir` attribute. */
  readonly direction: "ltr" | "rtl";
  /** A message with its `{placeholders}` filled in; `count` chooses between plural forms. */
  say(key: MessageKey, values?: Values): string;
  /** The same in pieces, where a placeholder is filled in by more than text, such as an element. */
  compose<Piece>(key: MessageKey, values: Readonly<Record<string, string | number | Piece>>): (string | Piece)[];
}

const RIGHT_TO_LEFT = ["Arab", "Hebr", "Thaa", "Nkoo", "Adlm", "Syrc"];

/** @param locale a BCP 47 tag */
export function directionOf(locale: string): "ltr" | "rtl" {
  return RIGHT_TO_LEFT.includes(new Intl.Locale(locale).maximize().script ?? "") ? "rtl" : "ltr";
}

/** @param locale a BCP 47 tag, whose rules for plurals, numbers and dates apply */
export function speakerFor(locale: string, messages: Messages, options?: FormatOptions): Speaker {
  const formats = formatsFor(locale, options);
  const plurals = new Intl.PluralRules(locale);
  const compose = <Piece>(
    key: MessageKey,
    values: Readonly<Record<string, string | number | Piece>>,
  ): (string | Piece)[] =>
    textOf(messages[key], values.count, plurals)
      .split(/\{(\w+)\}/)
      .map((piece, index) => {
        if (index % 2 === 0) return piece;
        const value = values[piece] ?? "";
        return typeof value === "number" ? formats.number(value) : value;
      });
  return {
    ...formats,
    locale,
    direction: directionOf(locale),
    compose,
    say: (key, values = {}) => compose<string>(key, values).join(""),
  };
}

function textOf(message: Message, count: unknown, plurals: Intl.PluralRules): string {
  if (typeof message === "string") return message;
  return message[plurals.select(Number(count))] ?? message.other;
}
