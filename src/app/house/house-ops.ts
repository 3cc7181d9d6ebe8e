import { Metrics } from "../../server/observe/metrics.ts";
import type { OpsPage } from "../../server/observe/ops-listener.ts";
import { mergeMetrics } from "../../server/shared-port/merge-metrics.ts";
import type { Answer, Resident, TenantMetrics, TenantReadiness, TenantStatus } from "./messages.ts";
import type { WorkerProcess } from "./worker-process.ts";

interface HouseOpsOptions {
  residents: readonly Resident[];
  /** What is wrong with the files of other tenants. */
  problems: ReadonlyMap<string, string>;
  workers: readonly WorkerProcess[];
  /** Of the port of all tenants. */
  scheme: "http" | "https";
}

/** A tenant as `/tenants` shows it. */
interface ShownTenant extends TenantStatus {
  hosts: readonly string[];
  worker: number;
}

const STATES = ["idle", "open", "failed"] as const;

/** What the operations listener of a house answers. */
export class HouseOps {
  readonly #options: HouseOpsOptions;
  readonly #metrics = new Metrics();
  isDraining = false;

  constructor(options: HouseOpsOptions) {
    this.#options = options;
  }

  async answer(path: string, query: URLSearchParams): Promise<OpsPage | undefined> {
    const found = await this.#page(path, query);
    return found && { ...found, headers: { "api-scheme": this.#options.scheme } };
  }

  async #page(path: string, query: URLSearchParams): Promise<OpsPage | undefined> {
    const tenant = query.get("tenant");
    if (path === "/livez") return page(200, { ok: true });
    if (path === "/tenants") return page(200, await this.#tenants());
    if (path === "/metrics") return { status: 200, body: await this.#text(), contentType: this.#metrics.contentType };
    if (path !== "/readyz") return undefined;
    if (tenant !== null) return this.#readiness(tenant);
    const serving = this.#options.workers.filter(({ isServing }) => isServing).length;
    const ok = serving > 0 && !this.isDraining;
    return page(ok ? 200 : 503, { ok, draining: this.isDraining, workers: this.#options.workers.length, serving });
  }

  async #readiness(tenant: string): Promise<OpsPage | undefined> {
    const problem = this.#options.problems.get(tenant);
    if (problem !== undefined) return page(503, { ok: false, tenant, state: "failed", problem });
    const resident = this.#options.residents.find((each) => each.tenant === tenant);
    if (!resident) return undefined;
    const answer = await this.#options.workers[resident.worker]?.ask({ about: "readiness", tenant });
    return answer && isReadiness(answer) ? answer : page(503, { ok: false, tenant, problem: WORKER_AWAY });
  }

  async #tenants(): Promise<ShownTenant[]> {
    const { residents, problems, workers } = this.#options;
    const answers = await Promise.all(workers.map((worker) => worker.ask({ about: "tenants" })));
    const known = new Map(answers.flatMap(statusesOf).map((status) => [status.tenant, status]));
    const served = residents.map(({ tenant, hosts, worker }) => {
      const { state, problem } = known.get(tenant) ?? { state: "failed", problem: WORKER_AWAY };
      return { tenant, hosts, state, worker, problem };
    });
    const broken = [...problems].map(([tenant, problem]) => {
      return { tenant, hosts: [], state: "failed" as const, worker: 0, problem };
    });
    return [...served, ...broken].toSorted((a, b) => (a.tenant < b.tenant ? -1 : 1));
  }

  async #text(): Promise<string> {
    const [tenants, answers, own] = await Promise.all([
      this.#tenants(),
      Promise.all(this.#options.workers.map((worker) => worker.ask({ about: "metrics" }))),
      this.#metrics.text(),
    ]);
    const counts = STATES.map(
      (state) => `pmctl_tenants{state="${state}"} ${tenants.filter((each) => each.state === state).length}`,
    );
    const states = ["# HELP pmctl_tenants Tenants of the house, by state.", "# TYPE pmctl_tenants gauge", ...counts];
    const parts = [{ label: "worker", value: "house", text: own }, ...answers.flatMap(metricsOf)];
    return `${states.join("\n")}\n${mergeMetrics(parts)}`;
  }
}

const WORKER_AWAY = "Its worker does not answer; one that ended or hangs is started again";

function isReadiness(answer: NonNullable<Answer>): answer is TenantReadiness {
  return "status" in answer;
}

function statusesOf(answer: Answer): TenantStatus[] {
  return Array.isArray(answer) ? answer.filter((each) => "state" in each) : [];
}

function metricsOf(answer: Answer): TenantMetrics[] {
  return Array.isArray(answer) ? answer.filter((each) => "text" in each) : [];
}

function page(status: number, body: object): OpsPage {
  return { status, body: JSON.stringify(body) };
}
