/**
 * The shortest sequence that delta debugging finds in which a test still fails: parts are left out, halves first, then
 * ever smaller ones, for as long as the rest fails and the budget lasts. The last item stays, since it is what failed.
 */
export async function shrink<Item>(
  items: readonly Item[],
  fails: (candidate: readonly Item[]) => Promise<boolean>,
  mayGoOn: () => boolean,
): Promise<readonly Item[]> {
  let best = items;
  for (let size = Math.ceil((best.length - 1) / 2); size >= 1 && mayGoOn(); ) {
    let removed = false;
    for (let from = 0; from < best.length - 1 && mayGoOn(); ) {
      const to = Math.min(from + size, best.length - 1);
      const candidate = [...best.slice(0, from), ...best.slice(to)];
      if (await fails(candidate)) {
        best = candidate;
        removed = true;
      } else from = to;
    }
    if (size === 1 && !removed) break;
    if (!removed || size > best.length - 1) size = size === 1 ? 1 : Math.ceil(Math.min(size, best.length) / 2);
  }
  return best;
}
