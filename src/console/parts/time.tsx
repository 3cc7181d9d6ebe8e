import { instant, timeOfDay } from "../format.ts";

/** A time in the operator's zone; UTC for machines, and on hover. */
export function Time({ at, isToday = false }: { at: string | number | null; isToday?: boolean }) {
  if (at === null) return <span>—</span>;
  const utc = new Date(at).toISOString();
  const text = isToday ? timeOfDay(Date.parse(utc)) : instant(Date.parse(utc));
  return (
    <time dateTime={utc} title={`${utc.slice(0, 19).replace("T", " ")} UTC`}>
      {text}
    </time>
  );
}
