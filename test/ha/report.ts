import type { Order } from "./load.ts";

/** Findings of one kind that are printed at the most. */
const MOST_FINDINGS = 20;

export interface Round {
  fault: string;
  /** Standbys that the tenant file required. */
  required: number;
  /** From the fault until the primary itself acknowledged a commit. */
  awayMs: number;
  /** From then until each server acknowledged a trade; undefined where it did not. */
  firstMs: readonly (number | undefined)[];
  /** The longest time from the fault on without an acknowledgement. */
  gapMs: number;
  slowestMs: number;
  codes: ReadonlyMap<string, number>;
  findings: readonly string[];
}

/** What the rounds came to, as lines while they run and as a table at the end. */
export class Report {
  readonly #rounds: Round[] = [];
  readonly #findings: string[] = [];
  #trades = "no trade";

  get isClean(): boolean {
    return this.#findings.length === 0;
  }

  add(finding: string): void {
    this.#findings.push(finding);
    console.log(`FOUND ${finding}`);
  }

  addExit(code: number | null): void {
    if (code !== 0) this.add(`a server ended with ${code}`);
  }

  addRound(round: Round): void {
    this.#rounds.push(round);
    const { fault, required, awayMs, firstMs, gapMs, slowestMs, codes, findings } = round;
    const first = firstMs.map((ms) => (ms === undefined ? "never" : `${Math.round(ms)} ms`)).join(" and ");
    console.log(
      `${this.#rounds.length}. ${fault}${required > 0 ? ", standby required" : ""}: database away ${seconds(awayMs)} s, first trade ${first} later, ${seconds(gapMs)} s without one,`,
      `slowest answer ${seconds(slowestMs)} s, answers ${JSON.stringify(Object.fromEntries(codes))}`,
    );
    for (const finding of findings.slice(0, MOST_FINDINGS)) this.add(finding);
  }

  addOrders(orders: readonly Order[]): void {
    const count = (outcome: Order["outcome"]) => orders.filter((order) => order.outcome === outcome).length;
    this.#trades = `${count("acknowledged")} acknowledged trades, ${count("refused")} refused, ${count("unknown")} without an answer`;
  }

  /** A row for each fault: rounds, median and worst time to the first trade of each server, longest time without one. */
  text(): string {
    const names = [...new Set(this.#rounds.map(({ fault }) => fault))].toSorted();
    const rows = names.map((name) => {
      const rounds = this.#rounds.filter(({ fault }) => fault === name);
      const first = [0, 1].map((server) =>
        spread(rounds.map(({ firstMs }) => firstMs[server] ?? Number.POSITIVE_INFINITY)),
      );
      const away = spread(rounds.map(({ awayMs }) => awayMs));
      return `| ${name} | ${rounds.length} | ${away} | ${first.join(" | ")} | ${spread(rounds.map(({ gapMs }) => gapMs))} |`;
    });
    const head =
      "| fault | rounds | database away | first trade, hosts | first trade, HAProxy | without a trade |\n|---|---|---|---|---|---|";
    const end = this.isClean ? "nothing lost, nothing twice, all exact" : `${this.#findings.length} findings`;
    return [head, ...rows, `ha: ${this.#rounds.length} rounds, ${this.#trades}: ${end}`].join("\n");
  }
}

/** Median and worst, in seconds. */
function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return `${seconds(sorted[sorted.length >> 1] ?? 0)}, ${seconds(sorted.at(-1) ?? 0)}`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}
