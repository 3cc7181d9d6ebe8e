const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * Milliseconds since the epoch of an RFC 3339 timestamp, or undefined. A zone is required, and the day must exist:
 * `Date.parse` alone would read February 30 as March 2.
 */
export function parseTimestamp(value: string): number | undefined {
  const parts = RFC3339.exec(value);
  if (!parts) return undefined;
  const [, year, month, day] = parts.map(Number) as [number, number, number, number];
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const instant = Date.parse(value.toUpperCase());
  return day >= 1 && day <= lastDay && Number.isFinite(instant) ? instant : undefined;
}
