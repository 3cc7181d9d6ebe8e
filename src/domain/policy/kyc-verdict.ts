/** The providers' words for a failed check. */
const REFUSALS = new Set(
  "blocked declined decline denied deny fail failed failure fraud not_passed refused reject rejected unsuccessful".split(
    " ",
  ),
);

/**
 * The meaning of a check's status, in any case: `passed`, or one of the usual words for failure.
 * @returns undefined for any other word, which is never guessed
 */
export function kycVerdict(status: string): "passed" | "failed" | undefined {
  const word = status
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");
  if (word === "passed") return "passed";
  return REFUSALS.has(word) ? "failed" : undefined;
}
