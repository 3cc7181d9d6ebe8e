/** Shorter words match too many others by chance. */
const SHORTEST_BEGINNING = 3;

/**
 * The candidate that a misspelled word most likely means: the nearest by edit distance, at most a third of the word's
 * length away, else the only candidate that begins with the word. Case is ignored, so `feebps` finds `feeBps`.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= limit && (!best || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate ?? onlyBeginning(word, candidates);
}

function onlyBeginning(word: string, candidates: readonly string[]): string | undefined {
  if (word.length < SHORTEST_BEGINNING) return undefined;
  const [only, ...others] = candidates.filter((each) => each.toLowerCase().startsWith(word.toLowerCase()));
  return others.length === 0 ? only : undefined;
}

/** Insertions, deletions, replacements and swaps of neighbours between two words (Damerau, restricted). */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const differs = from[row - 1] === to[column - 1] ? 0 : 1;
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + differs);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

/** Callers use existing indexes only; the fallback satisfies the compiler. */
function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
