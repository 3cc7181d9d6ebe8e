import type { Command } from "commander";
import type { RelativeTimes } from "../../domain/access/idempotency.ts";
import { parseTimestamp } from "../../domain/time/timestamp.ts";
import { future, past, timeAgo, timeAhead } from "./parsers.ts";

const TIME_PARSERS: ReadonlySet<unknown> = new Set([timeAgo, timeAhead, past, future]);

/** The times that the command's line says relative to now, once it is parsed; to be called before. */
export function relativeTimesOf(command: Command): RelativeTimes {
  const said = new Map<string, string>();
  for (const option of command.options.filter(({ parseArg }) => TIME_PARSERS.has(parseArg))) {
    command.on(`option:${option.name()}`, (word: string) => {
      const instant = command.getOptionValue(option.attributeName());
      if (typeof instant === "string" && parseTimestamp(word) === undefined) said.set(instant, word);
    });
  }
  return said;
}
