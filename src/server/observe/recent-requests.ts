import type { Operation } from "../../contract/operation.ts";
import { operationIds, operations, type Result } from "../../contract/operations.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { BOUNDS_SEC, type RequestMetrics, type RouteCounts } from "./request-metrics.ts";

type Recent = NonNullable<Result<"getServer">["recent"]>;
type Counts = Omit<RouteCounts, "secondsTotal">;

/** With a mark every minute, the counts of at most the last five minutes are known. */
const MARKS = 5;

const GROUPS = new Map<string, string>(
  operationIds.map((id) => [operations[id].path, (operations[id] as Operation).tag]),
);

/** The requests of the last minutes, from the counts of the metrics alone: no request is counted a second time. */
export class RecentRequests {
  readonly #requests: RequestMetrics;
  readonly #marks: { at: number; counts: readonly Counts[] }[] = [];

  constructor(requests: RequestMetrics) {
    this.#requests = requests;
    this.mark();
  }

  /** Remembers the counts as they are now. Call it every minute. */
  mark(): void {
    this.#marks.push({ at: wallClockMs(), counts: this.#requests.counts() });
    if (this.#marks.length > MARKS) this.#marks.shift();
  }

  read(): Recent {
    const { at = wallClockMs(), counts = [] } = this.#marks[0] ?? {};
    const before = new Map(counts.map((each) => [nameOf(each), each]));
    const added = this.#requests.counts().map((each) => difference(each, before.get(nameOf(each))));
    const groups = [...Map.groupBy(added, ({ route }) => groupOf(route))]
      .map(([group, of]) => ({ group, ...summaryOf(of) }))
      .filter(({ requests }) => requests > 0)
      .toSorted((a, b) => b.requests - a.requests);
    return { since: at, ...summaryOf(added), groups };
  }
}

const nameOf = ({ method, route }: Counts): string => `${method} ${route}`;

function groupOf(route: string): string {
  return GROUPS.get(route) ?? (route.startsWith("/console") ? "console" : "pages");
}

function difference({ byStatus, byBound, ...route }: Counts, before: Counts | undefined): Counts {
  return {
    ...route,
    byStatus: new Map([...byStatus].map(([status, count]) => [status, count - (before?.byStatus.get(status) ?? 0)])),
    byBound: byBound.map((count, index) => count - (before?.byBound[index] ?? 0)),
  };
}

function summaryOf(of: readonly Counts[]): Omit<Recent, "since" | "groups"> {
  const byBound = Array.from({ length: BOUNDS_SEC.length + 1 }, (_, index) =>
    of.reduce((sum, { byBound: counts }) => sum + (counts[index] ?? 0), 0),
  );
  const answered = (isMeant: (status: number) => boolean) =>
    of.reduce(
      (sum, { byStatus }) => [...byStatus].reduce((some, [status, n]) => some + (isMeant(status) ? n : 0), sum),
      0,
    );
  return {
    requests: byBound.reduce((sum, count) => sum + count, 0),
    failed: answered((status) => status >= 500),
    tooMany: answered((status) => status === 429),
    p50Ms: quantileMs(byBound, 0.5),
    p99Ms: quantileMs(byBound, 0.99),
  };
}

/**
 * As Prometheus's `histogram_quantile` estimates it: the durations of a bucket are taken to be spread evenly, and those
 * beyond the last bound to end there.
 * @returns milliseconds; null without a request
 */
export function quantileMs(byBound: readonly number[], share: number): number | null {
  const rank = share * byBound.reduce((sum, count) => sum + count, 0);
  if (rank === 0) return null;
  let below = 0;
  for (const [index, count] of byBound.entries()) {
    const [from = 0, to] = [BOUNDS_SEC[index - 1], BOUNDS_SEC[index]];
    if (to === undefined) return from * 1000;
    if (below + count >= rank) return Math.round((from + (to - from) * ((rank - below) / count)) * 1e6) / 1000;
    below += count;
  }
  return null;
}
