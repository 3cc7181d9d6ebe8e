import { counted } from "../../domain/text.ts";
import { findServer } from "../doors/find-server.ts";
import { findServers } from "../doors/run-file.ts";
import type { OperatorTenant } from "../tenant/operator-tenant.ts";

/** What one server process has counted of a tenant's requests since its start. */
export interface RequestCounts {
  /** The process: an address may be another one's after a restart. */
  server: string;
  requests: number;
  /** Of these, the answers of 500 and above. */
  errors: number;
  /** Requests that took at most so many seconds, by that bound in rising order; the last is infinite. */
  atMost: ReadonlyMap<number, number>;
}

/** What must hold of the requests during a soak. */
export interface SoakLimits {
  /** 0.01 is 1 %. */
  errorRate?: number | undefined;
  p99Ms?: number | undefined;
  /** Fewer requests tell nothing. */
  minRequests: number;
  soakMs: number;
}

/** A check's name and verdict. */
export interface Verdict {
  check: "errorRate" | "p99";
  ok: boolean;
  found: string;
}

const TIMEOUT_MS = 5000;

/**
 * What every server of a tenant that this directory knows of has counted. None for a server elsewhere: figures are told on
 * the operations listener, which no other machine reaches.
 * @param url of the server that the fleet's file states; undefined for the tenant of this directory
 * @throws Error when a server does not answer
 */
export async function readCounts(
  tenant: OperatorTenant,
  url: string | null,
  request: typeof fetch = fetch,
): Promise<RequestCounts[]> {
  const { found } = await findServer(tenant);
  const running = await findServers(tenant.directory, tenant.id);
  const known = [...(found ? [found] : []), ...running].filter((server) => url === null || server.url === url);
  const addresses = new Set(known.flatMap(({ opsUrl }) => (opsUrl === undefined ? [] : [opsUrl])));
  return Promise.all(
    [...addresses].map(async (opsUrl) => {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await request(`${opsUrl.replace(/\/+$/, "")}/metrics`, { redirect: "error", signal });
      if (!response.ok) throw new Error(`${opsUrl}/metrics answers with ${response.status}`);
      return countsIn(await response.text(), tenant.id, opsUrl);
    }),
  );
}

/** The requests of one tenant in a text of Prometheus; several tenants of a process are told apart by the label `tenant`. */
export function countsIn(text: string, tenant: string, address: string): RequestCounts {
  let [requests, errors, start] = [0, 0, ""];
  const atMost = new Map<number, number>();
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", figure = ""] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const label = (wanted: string) => new RegExp(`(?:^|,)${wanted}="([^"]*)"`).exec(labels)?.[1];
    // A house has several processes, of which any may be the tenant's.
    if (name === "pmctl_process_start_time_seconds") start += ` ${figure}`;
    if (!name.startsWith("pmctl_http_request") || (label("tenant") ?? tenant) !== tenant) continue;
    const count = Number(figure);
    if (name === "pmctl_http_requests_total") {
      requests += count;
      if (Number(label("status")) >= 500) errors += count;
    }
    if (name === "pmctl_http_request_duration_seconds_bucket") {
      const le = label("le");
      const bound = le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le);
      atMost.set(bound, (atMost.get(bound) ?? 0) + count);
    }
  }
  return { server: `${address}${start}`, requests, errors, atMost };
}

/**
 * Whether the requests between two looks keep the limits. Without servers, or when one is not the same process any more,
 * the requests are not known, and nothing is kept; nor is it by too few of them.
 */
export function evaluateSoak(
  before: readonly RequestCounts[],
  after: readonly RequestCounts[],
  { errorRate, p99Ms, minRequests, soakMs }: SoakLimits,
): Verdict[] {
  const unknown = whyUnknown(before, after);
  const verdict = (
    check: Verdict["check"],
    value: number | undefined,
    limit: number,
    show: (value: number) => string,
  ) => {
    if (unknown !== undefined) return { check, ok: false, found: unknown };
    const of = requests === 0 ? "no requests" : counted(requests, "request");
    const seen = `${of} in ${soakMs / 1000} s`;
    if (requests < minRequests)
      return { check, ok: false, found: `${seen} tell nothing: the gate asks for minRequests: ${minRequests}` };
    if (value === undefined) return { check, ok: true, found: seen };
    return { check, ok: value <= limit, found: `${show(value)} of ${of}, at most ${show(limit)}` };
  };
  const sum = (counts: readonly RequestCounts[], of: (each: RequestCounts) => number) =>
    counts.reduce((total, each) => total + of(each), 0);
  const during = (of: (each: RequestCounts) => number) => sum(after, of) - sum(before, of);
  const requests = during((each) => each.requests);
  const bounds = [...new Set(after.flatMap(({ atMost }) => [...atMost.keys()]))].toSorted((a, b) => a - b);
  const buckets = bounds.map((bound) => [bound, during(({ atMost }) => atMost.get(bound) ?? 0)] as const);
  return [
    ...(errorRate === undefined
      ? []
      : [
          verdict(
            "errorRate",
            requests === 0 ? undefined : during((each) => each.errors) / requests,
            errorRate,
            percent,
          ),
        ]),
    ...(p99Ms === undefined ? [] : [verdict("p99", quantile(0.99, buckets), p99Ms / 1000, milliseconds)]),
  ];
}

function whyUnknown(before: readonly RequestCounts[], after: readonly RequestCounts[]): string | undefined {
  if (before.length === 0 || after.length === 0)
    return "no server of this directory tells its requests here; a command can look at servers elsewhere";
  for (const { server, requests } of before) {
    const now = after.find((each) => each.server === server);
    if (!now) return "a server was stopped or started again while it was watched: apply again once all servers stay up";
    // The same processes have forgotten what they had counted.
    if (now.requests < requests)
      return "its house closed the idle tenant while it was watched, and with it the count: soak for less than its --idle-seconds, or serve it with more";
  }
  return undefined;
}

/** As Prometheus estimates it: evenly spread within a bucket. Undefined without requests. */
function quantile(part: number, buckets: readonly (readonly [bound: number, atMost: number])[]): number | undefined {
  const total = buckets.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  const rank = part * total;
  const index = buckets.findIndex(([, atMost]) => atMost >= rank);
  const [upper = Number.POSITIVE_INFINITY, atMost = 0] = buckets[index] ?? [];
  const [lower, below] = buckets[index - 1] ?? [0, 0];
  return upper === Number.POSITIVE_INFINITY ? upper : lower + ((upper - lower) * (rank - below)) / (atMost - below);
}

const milliseconds = (seconds: number) =>
  Number.isFinite(seconds) ? `${(seconds * 1000).toFixed(0)} ms` : "longer than any bound";
const percent = (ratio: number) => `${Number((ratio * 100).toFixed(4))} %`;
