import { InvalidArgumentError } from "commander";
import { isoTime, wallClockMs } from "../../domain/clock.ts";
import { parseTimestamp } from "../../domain/timestamp.ts";
import { timeSpan } from "./parsers.ts";

/** `24h` for a day ago, `2027-01-31` (its beginning in UTC) or a full timestamp, as the wire has it. */
export function past(value: string): string {
  if (/^\d+[smhd]$/.test(value)) return isoTime(wallClockMs() - timeSpan(value));
  const instant = parseTimestamp(/^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00:00Z` : value);
  if (instant === undefined)
    throw new InvalidArgumentError("It must be a time span such as 24h, or a date such as 2027-01-31.");
  return isoTime(instant);
}
