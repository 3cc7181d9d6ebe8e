import { z } from "zod";
import { line } from "../../contract/scalars.ts";
import { CATALOGUES } from "../../locales/catalogues.ts";
import type { MessageKey } from "../../locales/messages.ts";

const Text = line(1000);

const Message = z.union(
  [
    Text,
    z.strictObject({
      zero: Text.optional(),
      one: Text.optional(),
      two: Text.optional(),
      few: Text.optional(),
      many: Text.optional(),
      other: Text,
    }),
  ],
  {
    error: ({ input }) =>
      input === undefined ? undefined : "must be a text, or a text for each plural category, such as { one, other }",
  },
);

const keys = Object.keys(CATALOGUES.en) as MessageKey[];

/** A file of `embed.messages`: every message of the widget and the market pages in one language. */
export const MessagesSchema = z
  .strictObject(Object.fromEntries(keys.map((key) => [key, Message])) as Record<MessageKey, typeof Message>)
  .meta({ title: "pmctl messages", description: "Every text of the widget and the market pages in one language." });
