import { Option } from "commander";
import { count } from "./parsers.ts";

export const DEFAULT_LIMIT = 50;

/** `--limit` of the commands that list. */
export function limitOption(): Option {
  return new Option("--limit <n>", `the most items to list (default: ${DEFAULT_LIMIT})`).argParser(count);
}
