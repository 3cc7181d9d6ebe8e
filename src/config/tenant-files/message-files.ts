import { resolve } from "node:path";
import { CATALOGUES, matchLocale } from "../../locales/catalogues.ts";
import { type Message, type MessageKey, type Messages, placeholdersOf } from "../../locales/messages.ts";
import { displayPath, readBelow, UnusableFile } from "../bounded-file.ts";
import { ConfigError, type Finding, type Problem } from "../config-error.ts";
import { decode } from "../issues.ts";
import { guideTo } from "../schema/files.ts";
import { MessagesSchema } from "../schema/messages-schema.ts";
import type { TenantConfig } from "../tenant-config.ts";
import { YamlSource } from "../yaml/yaml-source.ts";

const MAX_FILE_KIB = 256;

interface CheckedMessages {
  /** Valid messages by language. */
  messages: Record<string, Messages>;
  problems: Problem[];
}

/** The folders of the files, and how findings get their position in the tenant file. */
interface MessageContext {
  directory: string;
  /** Further folders listed in `pmctl.yaml`. */
  roots: readonly string[];
  locate(findings: readonly Finding[]): Problem[];
}

/**
 * Reads the files of `embed.messages`. Each must contain every message of its language and no other.
 *
 * @param stated files by language, relative to the tenant's folder
 */
export function checkMessageFiles(
  stated: Readonly<Record<string, string>>,
  { directory, roots, locate }: MessageContext,
): CheckedMessages {
  const checked: CheckedMessages = { messages: {}, problems: [] };
  for (const [locale, name] of Object.entries(stated)) {
    const file = resolve(directory, name);
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(
        readBelow(file, [directory, ...roots], MAX_FILE_KIB).bytes,
      );
      const { messages, problems } = checkMessageFile(text, file, locale);
      if (messages) checked.messages[locale] = messages;
      checked.problems.push(...problems);
    } catch (error) {
      const why = error instanceof UnusableFile ? error.message : error instanceof TypeError ? "is not UTF-8 text" : "";
      if (why === "") throw error;
      checked.problems.push(...locate([{ path: ["embed", "messages", locale], message: `${name} ${why}` }]));
    }
  }
  return checked;
}

/** Readers would see English in a language without messages. */
export function unknownLocale(
  locale: string | undefined,
  stated: Readonly<Record<string, string>>,
): readonly Finding[] {
  const known = [...new Set([...Object.keys(CATALOGUES), ...Object.keys(stated)])];
  if (locale === undefined || matchLocale([locale], known) !== undefined) return [];
  const message = `has no messages: choose one of ${known.join(", ")}, or name a file of messages in embed.messages`;
  return [{ path: ["embed", "locale"], message }];
}

/** @throws ConfigError with the problems of the files with a tenant's own languages */
export function readMessageFiles({ embed, source }: TenantConfig): Record<string, Messages> {
  const { directory, roots } = source;
  const locate = (findings: readonly Finding[]): Problem[] => source.problems(findings);
  const { messages, problems } = checkMessageFiles(embed.messages, { directory, roots, locate });
  if (problems.length > 0) throw new ConfigError(problems);
  return messages;
}

/** JSON is YAML, whose parser keeps positions. */
function checkMessageFile(
  text: string,
  file: string,
  locale: string,
): { messages?: Messages; problems: readonly Problem[] } {
  const guide = guideTo("messages");
  const source = new YamlSource(text, displayPath(file), guide);
  if (source.syntaxProblems.length > 0) return { problems: source.syntaxProblems };
  const { data, findings } = decode(MessagesSchema, source.value, { guide });
  if (findings) return { problems: source.problems(findings) };
  const wrong = (Object.entries(data) as [MessageKey, Message][]).flatMap(([key, message]) => [
    ...missingPlurals(key, message, locale),
    ...unknownPlaceholders(key, message),
  ]);
  return wrong.length > 0 ? { problems: source.problems(wrong) } : { messages: data as Messages, problems: [] };
}

function missingPlurals(key: MessageKey, message: Message, locale: string): Finding[] {
  if (typeof message === "string") return [];
  const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions();
  const missing = pluralCategories.filter((category) => message[category] === undefined);
  if (missing.length === 0) return [];
  return [{ path: [key], message: `lacks the plural ${missing.join(", ")} of ${locale}`, code: "REQUIRED" }];
}

/** Readers would see a placeholder that nothing fills in as a gap. */
function unknownPlaceholders(key: MessageKey, message: Message): Finding[] {
  const known = placeholdersOf(CATALOGUES.en[key]);
  const unknown = placeholdersOf(message).filter((name) => !known.includes(name));
  if (unknown.length === 0) return [];
  const filled = known.length === 0 ? "none" : known.map((name) => `{${name}}`).join(", ");
  return [
    { path: [key], message: `contains {${unknown.join("}, {")}}; the placeholders of this message are: ${filled}` },
  ];
}
