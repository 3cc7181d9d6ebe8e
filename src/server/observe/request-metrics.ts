import type { FaultCode } from "../../domain/fault.ts";

/** Records the requests of one route. */
export interface RouteMetrics {
  /** @param result the error code, or REPLAYED for a repeated earlier answer; undefined for success */
  observe(status: number, seconds: number, result: FaultCode | "REPLAYED" | undefined): void;
}

export interface RouteCounts {
  route: string;
  method: string;
  byStatus: Map<number, number>;
  /** Requests by the smallest bound that their duration does not exceed; the last entry counts the longer ones. */
  byBound: number[];
  secondsTotal: number;
}

export const BOUNDS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Counts and durations of requests as plain numbers, written as Prometheus text on request. prom-client looks up the
 * labels at each observation, which costs a tenth of a whole request.
 */
export class RequestMetrics {
  readonly #routes: RouteCounts[] = [];
  readonly #trades = new Map<string, number>();

  /** @param trades whether this route places trades */
  forRoute(route: string, method: string, trades: boolean): RouteMetrics {
    const byBound = Array.from({ length: BOUNDS_SEC.length + 1 }, () => 0);
    // Two listeners may have the same route, whose series must not appear twice.
    const known = this.#routes.find((each) => each.route === route && each.method === method);
    const counts: RouteCounts = known ?? { route, method, byStatus: new Map(), byBound, secondsTotal: 0 };
    if (!known) this.#routes.push(counts);
    return {
      observe: (status, seconds, result) => {
        increment(counts.byStatus, status);
        let bound = 0;
        while (seconds > (BOUNDS_SEC[bound] ?? Number.POSITIVE_INFINITY)) bound += 1;
        counts.byBound[bound] = (counts.byBound[bound] ?? 0) + 1;
        counts.secondsTotal += seconds;
        if (trades) increment(this.#trades, result?.toLowerCase() ?? "filled");
      },
    };
  }

  /** All requests so far. */
  get total(): number {
    return this.#routes.reduce((total, { byBound }) => byBound.reduce((sum, count) => sum + count, total), 0);
  }

  /** The counts of the routes that were used, as they are now. */
  counts(): Omit<RouteCounts, "secondsTotal">[] {
    return this.#routes.flatMap(({ route, method, byStatus, byBound }) =>
      byStatus.size === 0 ? [] : [{ route, method, byStatus: new Map(byStatus), byBound: [...byBound] }],
    );
  }

  /** The Prometheus text format, version 0.0.4. */
  text(): string {
    const used = this.#routes.filter(({ byStatus }) => byStatus.size > 0);
    return [
      ...family("pmctl_http_requests_total", "counter", "HTTP requests answered."),
      ...used.flatMap(({ route, method, byStatus }) =>
        [...byStatus].map(
          ([status, count]) =>
            `pmctl_http_requests_total{route="${route}",method="${method}",status="${status}"} ${count}`,
        ),
      ),
      ...family("pmctl_http_request_duration_seconds", "histogram", "Time from the request's headers to its response."),
      ...used.flatMap(histogramLines),
      ...family(
        "pmctl_trades_total",
        "counter",
        "Trades over HTTP, by result: filled, replayed (an earlier response repeated), or the error code.",
      ),
      ...[...this.#trades].map(([result, count]) => `pmctl_trades_total{result="${result}"} ${count}`),
      "",
    ].join("\n");
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function family(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function histogramLines({ route, method, byBound, secondsTotal }: RouteCounts): string[] {
  const name = "pmctl_http_request_duration_seconds";
  const labels = `route="${route}",method="${method}"`;
  let total = 0;
  const buckets = byBound.map((count, index) => {
    total += count;
    return `${name}_bucket{${labels},le="${BOUNDS_SEC[index] ?? "+Inf"}"} ${total}`;
  });
  return [...buckets, `${name}_sum{${labels}} ${secondsTotal}`, `${name}_count{${labels}} ${total}`];
}
