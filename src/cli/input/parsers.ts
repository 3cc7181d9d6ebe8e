import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { RelativeTimes } from "../../domain/access/idempotency.ts";
import { IDEMPOTENCY_KEY } from "../../domain/access/idempotency-key.ts";
import { NOT_KEPT, parseLossless, pathOfNumberText } from "../../domain/json/exact-json.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import { parseJson } from "../../domain/json/parse-json.ts";
import { type OutcomeShape, outcomeIn, outcomeOnRecord, outcomeShown } from "../../domain/market/outcome.ts";
import { statusWordsProblem } from "../../domain/market/status-filter.ts";
import { isoTime, wallClockMs } from "../../domain/time/clock.ts";
import { type Direction, parseDuration, parseTime, TimeSyntaxError } from "../../domain/time/time-grammar.ts";
import { parseTimestamp } from "../../domain/time/timestamp.ts";

/** Parsers of option values. They throw an error that commander turns into a usage error naming the option. */

/** Zero or more. */
export function wholeNumber(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(value);
}

/** Any outcome of a market, in the form of the interface. */
export function marketOutcome(value: string): OutcomeShape<number> {
  const outcome = outcomeIn(value);
  if (outcome === undefined)
    throw new InvalidArgumentError(
      `It must be yes, no, void, or what a YES share is paid, such as ${fractionMeant(value)}.`,
    );
  return outcomeShown(outcomeOnRecord(outcome));
}

/** An outcome that pays the shares. */
export function settledOutcome(value: string): Exclude<OutcomeShape<number>, "void"> {
  const outcome = outcomeIn(value);
  if (outcome === undefined)
    throw new InvalidArgumentError(`It must be yes, no, or what a YES share is paid, such as ${fractionMeant(value)}.`);
  if (outcome === "void") throw new InvalidArgumentError("pmctl market void undoes a market.");
  return outcomeShown(outcomeOnRecord(outcome));
}

/** The fraction that a bare number most likely means, or an example. */
const fractionMeant = (value: string): string => `yes=${/^0\.\d{1,6}$/.test(value) ? value : "0.4"}`;

/** Seconds since 1970. */
export function epochSeconds(value: string): number {
  if (!/^\d{1,12}$/.test(value)) throw new InvalidArgumentError("It must be whole seconds since 1970.");
  return Number(value);
}

/** A port; 0 takes any free one. */
export function portNumber(value: string): number {
  const port = Number(value);
  if (!/^\d{1,5}$/.test(value) || port > 65_535) throw new InvalidArgumentError("It must be a port, 0 to 65535.");
  return port;
}

/** The time for which a server goes on serving after it is asked to end. */
export function drainSeconds(value: string): number {
  const seconds = wholeNumber(value);
  if (seconds > 300) throw new InvalidArgumentError("It must be at most 300.");
  return seconds;
}

/** An identifier. An empty text is most likely an unset variable of a script. */
export function identifier(value: string): string {
  if (value === "") throw new InvalidArgumentError("It is empty.");
  return value;
}

/** In the form that survives a header, which loses spaces at both ends. */
export function idempotencyKey(value: string): string {
  if (!IDEMPOTENCY_KEY.test(value) || value.trim() !== value)
    throw new InvalidArgumentError("It must be 1 to 255 printable ASCII characters, without spaces at its ends.");
  return value;
}

/** At least one. */
export function count(value: string): number {
  const number = wholeNumber(value);
  if (number === 0) throw new InvalidArgumentError("It must be at least 1.");
  return number;
}

/**
 * A plain decimal, without exponent or separators, and with at most the digits of a JSON number. @param example a value
 * that the option accepts
 */
const decimalSuchAs =
  (example: string) =>
  (value: string): number => {
    if (!/^-?\d{1,15}(\.\d{1,30})?$/.test(value))
      throw new InvalidArgumentError(`It must be a number such as ${example}.`);
    return Number(value);
  };

export const decimal = decimalSuchAs("12.50");
/** The money that a house puts into a market. */
export const dollars = decimalSuchAs("1000");
/** The price of a share; a YES and a NO share together cost 1. */
export const sharePrice = decimalSuchAs("0.35");

/** `90s`, `10m`, `1h` or `2d` in milliseconds. */
export function timeSpan(value: string): number {
  const span = parseDuration(value);
  if (span === undefined) throw new InvalidArgumentError("It must be a time span such as 90s, 10m or 1h.");
  return span;
}

/** A past time in any form of `parseTime`, in the form of the API. */
export function timeAgo(value: string): string {
  return anyTime(value, "ago");
}

/** A future time in any form of `parseTime`, in the form of the API. */
export function timeAhead(value: string): string {
  return anyTime(value, "ahead");
}

function anyTime(value: string, direction: Direction): string {
  try {
    return isoTime(parseTime(value, wallClockMs(), direction));
  } catch (error) {
    if (error instanceof TimeSyntaxError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

const TIME_PARSERS: ReadonlySet<unknown> = new Set([timeAgo, timeAhead]);

/** The times that the line gives relative to now, once it is parsed. Must be called before parsing. */
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

/** A comma list of the words that choose markets for a list. */
export function statusWords(value: string): string {
  const problem = statusWordsProblem(value);
  if (problem !== undefined) throw new InvalidArgumentError(`It ${problem}.`);
  return value;
}

export function jsonObject(value: string): Record<string, unknown> {
  const parsed = parseJson(value, parseLossless);
  if (!isMapping(parsed)) throw new InvalidArgumentError("It must be a JSON object.");
  const lost = pathOfNumberText(parsed);
  if (lost !== undefined) throw new InvalidArgumentError(`${lost}: ${NOT_KEPT}.`);
  return parsed;
}

/** A file to write to, which need not exist. Checked before the command runs, so that its result is not lost. */
export function writableFile(value: string): string {
  const file = identifier(value);
  return writable(file, () => {
    if (!existsSync(file)) return requireFolder(dirname(file));
    if (statSync(file).isDirectory()) throw new Error(`${file} is a directory`);
    accessSync(file, constants.W_OK);
  });
}

/** A folder to write into, which need not exist. */
export function writableFolder(value: string): string {
  const folder = identifier(value);
  return writable(folder, () => {
    let nearest = resolve(folder);
    while (!existsSync(nearest)) nearest = dirname(nearest);
    requireFolder(nearest);
  });
}

function requireFolder(path: string): void {
  if (!statSync(path).isDirectory()) throw new Error(`${path} is not a directory`);
  accessSync(path, constants.W_OK);
}

function writable(path: string, check: () => void): string {
  try {
    check();
    return path;
  } catch (error) {
    throw new InvalidArgumentError(`It cannot be written: ${error instanceof Error ? error.message : String(error)}.`);
  }
}
