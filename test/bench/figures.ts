/** The value below which a share of the sorted values lies; 0 for none. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The middle of the values, which one disturbed round does not move; NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** Counts per upper bound, from the cumulative buckets of a Prometheus histogram; bounds without a count are left out. */
export function bucketCounts(metrics: string, name: string): Map<string, number> {
  const counts = new Map<string, number>();
  let below = 0;
  for (const [, bound = "", text] of metrics.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\S+)$`, "gm"))) {
    const total = Number(text);
    if (total > below) counts.set(bound, total - below);
    below = total;
  }
  return counts;
}

/** Milliseconds of each of several rounds of work. */
export async function timesOf(rounds: number, work: (round: number) => PromiseLike<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    await work(round);
    times.push(performance.now() - startedAt);
  }
  return times;
}
