import type { ConnectionLender } from "../../postgres/lending.ts";
import type { Metrics } from "../../server/observe/metrics.ts";
import { type OpsPage, tenantOps } from "../../server/observe/ops-listener.ts";
import { SERVER_ID } from "../../services/tenant/identifiers.ts";
import type { OpeningTurns } from "./opening-turns.ts";
import type { SharedTenant, TenantStatus } from "./shared-tenant.ts";

interface SharedOpsOptions {
  tenants: ReadonlyMap<string, SharedTenant>;
  /** Problems of the files of tenants that are not served. */
  problems: ReadonlyMap<string, string>;
  /** By database server. */
  lenders: ReadonlyMap<string, ConnectionLender>;
  turns: OpeningTurns;
  /** Metrics of the process. */
  metrics: Metrics;
  isDraining(): boolean;
}

const STATES = ["idle", "open", "failed"] as const;

/** The answers of the operations listener of a process with many tenants. */
export class SharedOps {
  readonly #options: SharedOpsOptions;

  constructor(options: SharedOpsOptions) {
    this.#options = options;
  }

  async answer(path: string, query: URLSearchParams): Promise<OpsPage | undefined> {
    const tenant = query.get("tenant");
    if (path === "/livez") return page(200, { ok: true });
    if (path === "/tenants") return page(200, this.#statuses());
    if (path === "/metrics") return this.#metrics();
    if (path !== "/readyz") return undefined;
    if (tenant !== null) return this.readiness(tenant);
    const draining = this.#options.isDraining();
    const { running, waiting } = this.#options.turns;
    const openings = { running, waiting, requests: this.#requests() };
    const body = { ok: !draining, draining, server: SERVER_ID, connections: this.#connections(), openings };
    return page(draining ? 503 : 200, body);
  }

  /** The answer of `/readyz` for a tenant; undefined for a tenant that is not served here. */
  async readiness(id: string): Promise<OpsPage | undefined> {
    const problem = this.#options.problems.get(id);
    if (problem !== undefined) return page(503, { ok: false, tenant: id, state: "failed", problem });
    const tenant = this.#options.tenants.get(id);
    if (!tenant) return undefined;
    if (tenant.open) return tenantOps(tenant.open.front.ops, "/readyz");
    const { hosts: _, ...status } = tenant.status();
    const draining = this.#options.isDraining();
    const ok = status.state === "idle" && !draining;
    // The first request opens the tenant, and a change may be that request.
    const body = { ok, ...status, draining, server: SERVER_ID, writes: ok, leases: [], database: null };
    return page(ok ? 200 : 503, body);
  }

  #statuses(): TenantStatus[] {
    const served = [...this.#options.tenants.values()].map((tenant) => tenant.status());
    const broken = [...this.#options.problems].map(([tenant, problem]) => {
      return { tenant, hosts: [], state: "failed" as const, problem, inTurn: false, waiting: 0 };
    });
    return [...served, ...broken].toSorted((a, b) => (a.tenant < b.tenant ? -1 : 1));
  }

  /** Requests that wait for their tenant to open. */
  #requests(): number {
    return this.#statuses().reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** Lent connections and waiting clients at each database server. */
  #connections(): object[] {
    return [...this.#options.lenders].map(([server, { count, taken, waiting }]) => {
      return { server, count, taken, waiting: waiting.clients, longestWaitMs: Math.round(waiting.longestMs) };
    });
  }

  async #metrics(): Promise<OpsPage> {
    const { tenants, lenders, turns, metrics } = this.#options;
    const statuses = this.#statuses();
    const open = [...tenants.values()].flatMap(({ tenant, open }) =>
      open ? [{ tenant, metrics: open.front.metrics }] : [],
    );
    const texts = open.map(async ({ tenant, metrics: own }) => ({ tenant, text: await own.text() }));
    const own = [
      ...gauge(
        "pmctl_tenants",
        "Tenants of this process, by state.",
        STATES.map((state) => [`state="${state}"`, statuses.filter((each) => each.state === state).length]),
      ),
      ...gauge(
        "pmctl_database_lent",
        "Connections lent to tenants, by database server.",
        [...lenders].map(([server, { taken }]) => [`server="${server}"`, taken]),
      ),
      ...gauge(
        "pmctl_database_waiting",
        "Database clients that wait for a connection, by database server.",
        [...lenders].map(([server, { waiting }]) => [`server="${server}"`, waiting.clients]),
      ),
      ...gauge("pmctl_openings", "Tenants that are opening, and those that wait to open.", [
        [`state="running"`, turns.running],
        [`state="waiting"`, turns.waiting],
      ]),
      ...gauge("pmctl_opening_requests_waiting", "Requests that wait for their tenant to open.", [
        ["", this.#requests()],
      ]),
    ].join("\n");
    const parts = [{ text: `${own}\n${await metrics.text()}` }, ...(await Promise.all(texts))];
    return { status: 200, body: mergeMetrics(parts), contentType: metrics.contentType };
  }
}

function gauge(name: string, help: string, samples: readonly (readonly [string, number])[]): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...samples.map(([label, value]) => `${name}${label && `{${label}}`} ${value}`),
  ];
}

function page(status: number, body: object): OpsPage {
  return { status, body: JSON.stringify(body) };
}

/** Merges texts in Prometheus's format: each family appears once, and a tenant's samples get its label. */
function mergeMetrics(parts: readonly { text: string; tenant?: string }[]): string {
  const families = new Map<string, { head: string[]; samples: string[] }>();
  for (const { text, tenant } of parts) {
    let family: { head: string[]; samples: string[] } = { head: [], samples: [] };
    for (const line of text.split("\n")) {
      const [, kind, name = ""] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
      if (kind !== undefined) {
        family = families.get(name) ?? { head: [], samples: [] };
        families.set(name, family);
        if (!family.head.some((known) => known.startsWith(`# ${kind} `))) family.head.push(line);
      } else if (line !== "" && !line.startsWith("#"))
        family.samples.push(tenant === undefined ? line : labelled(line, `tenant="${tenant}"`));
    }
  }
  const lines = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return `${lines.join("\n")}\n`;
}

function labelled(sample: string, label: string): string {
  return sample.replace(/^([\w:]+)(\{?)/, (_, name: string, brace: string) =>
    brace === "" ? `${name}{${label}}` : `${name}{${label},`,
  );
}
