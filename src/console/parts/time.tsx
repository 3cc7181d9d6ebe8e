import { isDirected } from "../../domain/text.ts";
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

/** A name that a sentence isolates, which stays as it is, or a time as servers write it. */
const WITHIN = /(\u2068[^\u2069]*\u2069|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)/;

/** A sentence whose times are in the operator's zone. */
export function Sentence({ of }: { of: string }) {
  const parts = of.split(WITHIN);
  // Letters and marks of a stranger could move what an element divides.
  if (parts.some((part, place) => place % 2 === 0 && isDirected(part))) return <>{of}</>;
  return <>{parts.map((part, place) => (place % 2 === 0 ? part : timeOr(part)))}</>;
}

/** Also strangers write times, which need not exist. */
function timeOr(part: string) {
  const utc = part.replace(" ", "T");
  const at = Date.parse(utc);
  return at && new Date(at).toISOString().startsWith(utc.slice(0, 16)) ? <Time at={at} /> : part;
}
