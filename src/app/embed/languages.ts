import type { TenantConfig } from "../../config/tenant-config.ts";
import { readMessageFiles } from "../../config/tenant-files/message-files.ts";
import { Languages } from "../../locales/languages.ts";

/**
 * The languages of a tenant's readers: those that come along, and those of its files.
 * @throws ConfigError with what is wrong with the files
 */
export function languagesFor(config: TenantConfig): Languages {
  const { locale, categories, theme } = config.embed;
  return new Languages({ locale, categories, words: theme.words, messages: readMessageFiles(config) });
}
