/**
 * What `pmctl up --workers` takes for many tenants of which few are busy: memory in all, the first answer of an idle tenant,
 * and what a busy one gets done beside a server of its own. `npm run bench:house -- --tenants 500 --busy 20 --seconds 5`
 */
import { parseArgs } from "node:util";
import { type Aim, aimText, inUnit, verdictOn } from "../aims.ts";
import { median } from "../figures.ts";
import { type LoadResult, runLoad } from "../load.ts";
import { familyOf, postmasterOf, proportionalMb } from "../processes.ts";
import { type Estate, hostOf, openEstate } from "./estate.ts";
import { firstAnswerMs, type Listener, startHouse, startServer } from "./listeners.ts";

const AIMS = {
  memory: { what: "memory of all processes and PostgreSQL", unit: "MB", reach: "at most", aim: 2000 },
  cold: { what: "first answer of an idle tenant, median", unit: "ms", reach: "at most", aim: 150 },
  coldWorst: { what: "first answer of an idle tenant, slowest", unit: "ms", reach: "at most", aim: 150 },
  throughput: { what: "trades of a tenant of the house / of a server", unit: "x", reach: "at least", aim: 0.9 },
} as const satisfies Record<string, Aim>;

const COLD_ASKED = 30;
/** The connections of the one tenant whose throughput counts, and of each of the busy ones. */
const CONNECTIONS = 64;
const BUSY_CONNECTIONS = 2;
const ROUNDS = 3;

const { values } = parseArgs({
  options: {
    tenants: { type: "string", default: "500" },
    busy: { type: "string", default: "20" },
    seconds: { type: "string", default: "5" },
  },
});
const [count, busy, seconds] = [Number(values.tenants), Number(values.busy), Number(values.seconds)];
const figures: [keyof typeof AIMS, number][] = [];

const estate = await openEstate(count, busy);
try {
  console.log(`${count} tenants, ${busy} of them busy`);
  const [alone = ""] = estate.tenants;
  await manyTenants(estate);
  figures.push(["throughput", await throughputRatio(estate, alone)]);
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
async function manyTenants({ directory, tenants, trades }: Estate): Promise<void> {
  const house = await startHouse(directory);
  try {
    const isBusy = tenants.slice(0, busy);
    const load = { connections: BUSY_CONNECTIONS, seconds };
    const results = Promise.all(isBusy.map((tenant) => runLoad(house.port, { ...load, requests: trades(tenant) })));
    console.log(`busy together: ${rateOf(await results)}`);
    const [own, postgres] = [proportionalMb(familyOf(house.pid)), proportionalMb(familyOf(postmasterOf(directory)))];
    console.log(`memory: ${own.toFixed(0)} MB of ours, ${postgres.toFixed(0)} MB of PostgreSQL`);
    figures.push(["memory", own + postgres]);
    const times: number[] = [];
    for (const tenant of tenants.slice(-COLD_ASKED)) times.push(await firstAnswerMs(house.port, hostOf(tenant)));
    figures.push(["cold", median(times)], ["coldWorst", Math.max(...times)]);
  } finally {
    await house.end();
  }
}

/** By turns, so that both see the same machine. */
async function throughputRatio({ directory, trades }: Estate, tenant: string): Promise<number> {
  const requests = trades(tenant);
  const rateAt = async (listener: Listener) => {
    try {
      const load = { connections: CONNECTIONS, seconds, requests };
      await runLoad(listener.port, load);
      const result = await runLoad(listener.port, load);
      return { perSecond: result.perSecond, text: rateOf([result]) };
    } finally {
      await listener.end();
    }
  };
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await rateAt(await startServer(directory, tenant));
    const hosted = await rateAt(await startHouse(directory));
    console.log(`a server of its own ${alone.text}; the house ${hosted.text}`);
    ratios.push(hosted.perSecond / alone.perSecond);
  }
  return median(ratios);
}

function rateOf(results: readonly LoadResult[]): string {
  const sum = (of: (result: LoadResult) => number) => results.reduce((total, result) => total + of(result), 0);
  return `${sum(({ perSecond }) => perSecond).toFixed(0)}/s, ${sum(({ failed }) => failed)} failed`;
}
