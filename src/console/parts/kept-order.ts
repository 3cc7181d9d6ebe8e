export interface Drawn<Row> {
  row: Row;
  /** It is no longer in the list, and stays because a person is at the rows. */
  isGone: boolean;
}

/**
 * The rows for a person who points at them: those that were drawn stay in place with their new contents, and new ones
 * come last. Of rows that are gone only those that are drawn stay, so that a list in motion does not grow without end.
 * @param most how many are drawn
 */
export function keptOrder<Row>(
  before: readonly Drawn<Row>[],
  rows: readonly Row[],
  id: (row: Row) => string,
  most: number,
): Drawn<Row>[] {
  const left = new Map(rows.map((row) => [id(row), row]));
  const kept: Drawn<Row>[] = [];
  for (const [place, { row: old }] of before.entries()) {
    const row = left.get(id(old));
    left.delete(id(old));
    if (row !== undefined) kept.push({ row, isGone: false });
    else if (place < most) kept.push({ row: old, isGone: true });
  }
  for (const row of left.values()) kept.push({ row, isGone: false });
  return kept;
}
