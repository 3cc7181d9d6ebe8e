/** The day on which the walk begins and the two after it. */
const DAYS = [0, 1, 2].map((ahead) => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10));

const instant = "YYYY-MM-DDThh:mm:ss.sssZ";

/** What no two runs share, and what the pages show in its place, of the same width. */
const MASKS: readonly (readonly [RegExp, (text: string) => string])[] = [
  [/\b(?:mkt|trd|wdr|tok)_[\w-]{6,}/g, (id) => id.slice(0, 4).padEnd(id.length, "x")],
  [/\bak_[0-9a-f]+/g, (print) => "ak_".padEnd(print.length, "x")],
  // It ends with a count of requests.
  [/\breq_[\w-]{6,}/g, () => "req_…"],
  [/\b[0-9a-f]{7,64}\b/g, (hash) => "f".repeat(hash.length)],
  [/\bfp:[0-9a-f]+/g, (print) => "fp:".padEnd(print.length, "f")],
  [/\bin \d+ days\b/g, (ahead) => ahead.replace(/\d/g, "9")],
  [/(?<=health, metrics +http:\/\/127\.0\.0\.1:)\d+/g, () => "9464"],
  [/\b\d+(\.\d+)? ms\b/g, () => "9 ms"],
  [/(?<=127\.0\.0\.1:)(?!8080|9464)\d+/g, (port) => "4".padEnd(port.length, "x")],
];

/** Instants of these days come of the run; those that its files state lie years ahead. */
export function masked(text: string): string {
  const ofRun = new RegExp(`\\b(?:${DAYS.join("|")})[T ][\\d:.]+Z?`, "g");
  const dated = text.replace(ofRun, (time) =>
    [...time].map((sign, at) => (/\d/.test(sign) ? instant[at] : sign)).join(""),
  );
  return MASKS.reduce((shown, [pattern, mask]) => shown.replace(pattern, mask), dated);
}
