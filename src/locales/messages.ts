import type english from "./catalogue/en.json";

/** Every key of a message; `catalogue/en.json` is the list of them. */
export type MessageKey = keyof typeof english;

/** A text with `{placeholders}`, or one for each plural category (CLDR) that its language has. */
export type Message = string | PluralMessage;

export type PluralMessage = Partial<Record<Exclude<Intl.LDMLPluralRule, "other">, string>> & { other: string };

export type Messages = Readonly<Record<MessageKey, Message>>;

/** The names in braces that a message has filled in, in any of its forms. */
export function placeholdersOf(message: Message): string[] {
  const texts = typeof message === "string" ? [message] : Object.values(message);
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)))];
}
