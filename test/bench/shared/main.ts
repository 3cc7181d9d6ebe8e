/**
 * Measures `pmctl up --shared` with many tenants and few busy ones: total memory, an idle tenant's first answer, and a busy
 * tenant's throughput against its own server. `npm run bench:shared -- --tenants 500 --busy 20 --seconds 5`
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Aim, aimText, inUnit, verdictOn } from "../aims.ts";
import { median, percentile } from "../figures.ts";
import { type LoadResult, runLoad } from "../load.ts";
import { cpuTimes, familyOf, postmasterOf, proportionalMb } from "../processes.ts";
import { endOnSignals } from "./endings.ts";
import { type Estate, hostOf, openEstate } from "./estate.ts";
import { firstAnswerMs, type Listener, startServer, startShared } from "./listeners.ts";

const AIMS = {
  memory: { what: "memory of all processes and PostgreSQL", unit: "MB", reach: "at most", aim: 2000 },
  cold: { what: "first answer of an idle tenant, median", unit: "ms", reach: "at most", aim: 150 },
  cold95: { what: "first answer of an idle tenant, 95 of 100", unit: "ms", reach: "at most", aim: 150 },
  coldWorst: { what: "first answer of an idle tenant, slowest", unit: "ms", reach: "at most", aim: 150 },
  throughput: { what: "trades of a tenant here / of a server", unit: "x", reach: "at least", aim: 0.9 },
} as const satisfies Record<string, Aim>;

const COLD_ASKED = 100;
/** The connections of the one tenant whose throughput counts, and of each of the busy ones. */
const CONNECTIONS = 64;
const BUSY_CONNECTIONS = 2;
const ROUNDS = 7;
const WARM_UP_SECONDS = 10;
/** A process that asks at tenants uses more than this in two seconds. */
const QUIET_CPU_SECONDS = 0.3;
const LONGEST_START_SECONDS = 300;

const { values } = parseArgs({
  options: {
    tenants: { type: "string", default: "500" },
    busy: { type: "string", default: "20" },
    seconds: { type: "string", default: "5" },
  },
});
const [count, busy, seconds] = [Number(values.tenants), Number(values.busy), Number(values.seconds)];
const figures: [keyof typeof AIMS, number][] = [];

endOnSignals();
const estate = await openEstate(count, busy);
try {
  console.log(`${count} tenants, ${busy} of them busy`);
  const shared = await startShared(estate.directory);
  try {
    console.log(`first question to all tenants: ${(await settled(estate.directory, shared)).toFixed(1)} s of CPU`);
    await askIdleOnes(estate, shared);
    figures.push(["throughput", await throughputRatio(estate, shared)]);
  } finally {
    await shared.end();
  }
} finally {
  await estate.close();
}
for (const [id, figure] of figures) {
  const aim: Aim = AIMS[id];
  const verdict = verdictOn(aim, figure);
  console.log(`${aim.what.padEnd(50)} ${inUnit(figure, aim).padStart(10)}   ${aimText(aim).padEnd(18)} ${verdict}`);
  if (verdict === "MISSED") process.exitCode = 1;
}

/** Memory while some are busy and all others idle, and the first answers of those. */
async function askIdleOnes({ directory, tenants, trades }: Estate, shared: Listener): Promise<void> {
  const isBusy = tenants.slice(0, busy);
  const load = { connections: BUSY_CONNECTIONS, seconds };
  const results = Promise.all(isBusy.map((tenant) => runLoad(shared.port, { ...load, requests: trades(tenant) })));
  console.log(`busy together: ${rateOf(await results)}`);
  const [own, postgres] = [proportionalMb(familyOf(shared.pid)), proportionalMb(familyOf(postmasterOf(directory)))];
  console.log(`memory: ${own.toFixed(0)} MB of ours, ${postgres.toFixed(0)} MB of PostgreSQL`);
  figures.push(["memory", own + postgres]);
  const times: number[] = [];
  for (const tenant of tenants.slice(busy).slice(-COLD_ASKED))
    times.push(await firstAnswerMs(shared.port, hostOf(tenant)));
  times.sort((a, b) => a - b);
  figures.push(["cold", median(times)], ["cold95", percentile(times, 0.95)], ["coldWorst", Math.max(...times)]);
}

/**
 * One of many tenants against an equal one with a server of its own. Both run all the time and are asked by turns, so that
 * they are equally warm and see the same machine.
 */
async function throughputRatio({ directory, tenants, trades }: Estate, shared: Listener): Promise<number> {
  const [aloneTenant = "", hostedTenant = ""] = tenants;
  const server = await startServer(directory, aloneTenant);
  try {
    const rateAt = async (port: number, tenant: string, long = seconds) => {
      const { perSecond, failed } = await runLoad(port, {
        ...{ connections: CONNECTIONS, seconds: long },
        requests: trades(tenant),
      });
      if (failed > 0) console.log(`${tenant}: ${failed} failed`);
      return perSecond;
    };
    const alone = (long?: number) => rateAt(server.port, aloneTenant, long);
    const hosted = (long?: number) => rateAt(shared.port, hostedTenant, long);
    await alone(WARM_UP_SECONDS);
    await hosted(WARM_UP_SECONDS);
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const [own, shared] = [await alone(), await hosted()];
      console.log(`a server of its own ${own.toFixed(0)}/s; shared ${shared.toFixed(0)}/s`);
      ratios.push(shared / own);
    }
    return median(ratios);
  } finally {
    await server.end();
  }
}

/** Waits until the process has asked all of its tenants for due work. Resolves to the seconds of CPU that this took, PostgreSQL's included. */
async function settled(directory: string, { pid }: Listener): Promise<number> {
  const used = () => {
    const { server = 0, postgres = 0 } = cpuTimes(familyOf(pid), directory) ?? {};
    return (server + postgres) / 1e6;
  };
  const begun = used();
  for (let before = begun, left = LONGEST_START_SECONDS; left > 0; left -= 2) {
    await delay(2000);
    const now = used();
    if (now - before < QUIET_CPU_SECONDS) return now - begun;
    before = now;
  }
  throw new Error("The process is not done with its start");
}

function rateOf(results: readonly LoadResult[]): string {
  const sum = (of: (result: LoadResult) => number) => results.reduce((total, result) => total + of(result), 0);
  return `${sum(({ perSecond }) => perSecond).toFixed(0)}/s, ${sum(({ failed }) => failed)} failed`;
}
