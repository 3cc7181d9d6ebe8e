import type english from "./catalogue/en.json";

/** Every key of a message; `catalogue/en.json` is the list of them. */
export type MessageKey = keyof typeof english;

/** A text with `{placeholders}`, or one for each plural category (CLDR) that its language has. */
export type Message = string | PluralMessage;

export type PluralMessage = Partial<Record<Exclude<Intl.LDMLPluralRule, "other">, string>> & { other: string };

export type Messages = Readonly<Record<MessageKey, Message>>;
