/** Unchanged lines that are shown around a change. */
const CONTEXT = 2;

/** The differences of two texts by line: `-` before, `+` after, some unchanged lines around them, `…` for the rest. */
export function changedLines(before: string, after: string): string[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const marked = longestCommon(old, now);
  const isNear = (index: number) =>
    marked.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some((line) => !line.startsWith(" "));
  return marked.flatMap((line, index) => {
    if (isNear(index)) return [line];
    return index > 0 && isNear(index - 1) ? ["…"] : [];
  });
}

/** Merges both texts and marks each line, with the longest possible common part. */
function longestCommon(old: readonly string[], now: readonly string[]): string[] {
  // lengths[i][j]: how many lines the old text from i on and the new text from j on have in common.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--) {
      const row = lengths[i];
      if (row) row[j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  const marked: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      marked.push(`  ${old[i]}`);
      i++;
      j++;
    } else if (j === now.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) marked.push(`- ${old[i++]}`);
    else marked.push(`+ ${now[j++]}`);
  }
  return marked;
}
