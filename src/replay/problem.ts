/** A statement of an entry that the engine would not have decided. */
export interface Problem {
  /** The subject: a market and a user, a withdrawal, a provider's payment, or a field. */
  about: string;
  what: string;
  /** The entry's statement, and the value that follows from the earlier entries. */
  recorded: string;
  recomputed: string;
}

/** The differences between recorded and recomputed values, by name. */
export function differing(
  about: string,
  pairs: Record<string, readonly [recorded: string, recomputed: string]>,
): Problem[] {
  const problems: Problem[] = [];
  for (const what in pairs) {
    const [recorded = "", recomputed = ""] = pairs[what] ?? [];
    if (recorded !== recomputed) problems.push({ about, what, recorded, recomputed });
  }
  return problems;
}
