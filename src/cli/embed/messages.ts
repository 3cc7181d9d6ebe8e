import type { Command } from "commander";
import { readOperatorTenant } from "../../app/tenant/operator-tenant.ts";
import { Fault } from "../../domain/fault.ts";
import type { Message, Messages } from "../../locales/messages.ts";
import type { CommandContext, Host } from "../command.ts";
import type { View } from "../output/output.ts";

interface MessagesOptions {
  locale?: string;
}

interface Shown {
  locale: string;
  messages: Messages;
}

interface Row {
  key: string;
  text: string;
}

const view: View<Shown, Row> = {
  kind: "list",
  rows: ({ messages }) => Object.entries(messages).flatMap(([key, message]) => rowsOf(key, message)),
  columns: [
    { title: "KEY", cell: ({ key }) => key, whole: true },
    { title: "TEXT", cell: ({ text }) => text },
  ],
  empty: "",
};

export function register(noun: Command, host: Host): void {
  host.add<MessagesOptions>(
    noun
      .command("messages")
      .description(
        "every word of the widget and the market pages in one language, as a file of embed.messages holds them",
      )
      .option("--locale <tag>", "the language, such as pt-BR; embed.locale unless given"),
    { names: "locale messages key text" },
    runMessages,
  );
}

/** @throws Fault NOT_FOUND for a language that is neither built in nor the tenant's own */
async function runMessages({ options, io }: CommandContext<MessagesOptions>): Promise<void> {
  const { config } = readOperatorTenant(options.tenant);
  const { languagesFor } = await import("../../app/embed/languages.ts");
  const languages = languagesFor(config);
  const asked = options.locale ?? config.embed.locale;
  const locale = languages.locales.find((one) => one.toLowerCase() === asked.toLowerCase());
  if (locale === undefined)
    throw new Fault(
      "NOT_FOUND",
      `There are no messages in ${JSON.stringify(asked)}: there are ${languages.locales.join(", ")}`,
    );
  const { messages } = languages.choose([locale]);
  await io.output.print({ locale, messages }, view);
}

function rowsOf(key: string, message: Message): Row[] {
  if (typeof message === "string") return [{ key, text: message }];
  return Object.entries(message).map(([category, text]) => ({ key: `${key} (${category})`, text }));
}
