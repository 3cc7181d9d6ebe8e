/**
 * What anyone may read, alone and beside eight of the dearest reads a second, which are searches that no memory answers.
 * `node test/bench/markets/public-reads.ts --markets 100000`
 */
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { connect, type Sql } from "../../../src/postgres/connect.ts";
import { median, percentile, timesOf } from "../figures.ts";
import { endedWithBench, endOnSignals } from "../shared/endings.ts";
import { openStage } from "../stage.ts";

const DEAREST_PER_SECOND = 8;
/** Reads follow each other with this pause. */
const PAUSE_MS = 5;

const { values } = parseArgs({
  options: { markets: { type: "string", default: "100000" }, seconds: { type: "string", default: "3" } },
});

/** Words of every market, of some and of none, phrases that are in all of them and in none, and words that are only excluded. */
const SEARCHES = [
  ...["will", "number", "77777", "emu", "will number of the many come true", '"number will"', '"will number"'],
  ...[
    "-emu",
    "-will",
    "number or emu",
    '"true come" or "come many" or "many the" or "the of"',
    "w1 or will or w2 or many",
  ],
];
const searchPath = (q: string) => `/v1/markets?q=${encodeURIComponent(q)}`;

endOnSignals();
const stage = await openStage();
const close = endedWithBench(stage.close);
try {
  const sql = connect(stage.cluster.connection("bench"), { name: "filler", max: 1 });
  await fill(sql, Number(values.markets));
  await sql.end({ timeout: 5 });
  const server = await stage.serve("--no-sweep");
  const read = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      headers: { "x-api-key": stage.secrets.publicKey },
    });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}`);
  };
  const costs: { path: string; ms: number }[] = [];
  for (const q of SEARCHES) {
    const path = `${searchPath(q)}&limit=200`;
    costs.push({ path, ms: median(await timesOf(9, () => read(path))) });
    console.log(`q=${q.padEnd(56)} ${costs.at(-1)?.ms.toFixed(1)} ms`);
  }
  const dearest = costs.sort((a, b) => b.ms - a.ms)[0]?.path ?? "";
  console.log(`dearest: ${decodeURIComponent(dearest)}`);

  const p99 = async (paths: readonly string[]) => {
    const times: number[] = [];
    const endsAt = performance.now() + Number(values.seconds) * 1000;
    for (let turn = 0; performance.now() < endsAt; turn++) {
      times.push(...(await timesOf(1, () => read(paths[turn % paths.length] ?? ""))));
      await delay(PAUSE_MS);
    }
    return percentile(
      times.sort((a, b) => a - b),
      0.99,
    );
  };
  const beside = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    const asked: Promise<void>[] = [];
    const timer = setInterval(() => asked.push(read(dearest)), 1000 / DEAREST_PER_SECOND);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      await Promise.all(asked);
    }
  };
  const each = (suffix: string) => stage.markets.map((id) => `/v1/markets/${id}${suffix}`);
  const reads: Record<string, string[]> = {
    list: ["/v1/markets?limit=20"],
    "list of a category": Array.from({ length: 20 }, (_, index) => `/v1/markets?category=bench-${index}`),
    "list of open": ["/v1/markets?status=open&limit=200"],
    "search of a rare word": [searchPath("77")],
    "search of a common word": [searchPath("will")],
    "dearest search": [dearest],
    trending: ["/v1/markets/trending"],
    detail: each(""),
    depth: each("/depth"),
    history: each("/history"),
    recent: [`/v1/markets/recent?ids=${stage.markets.slice(0, 20).join(",")}`],
    "embed list": ["/embed/data/markets"],
    "embed market": [`/embed/data/market?marketId=${stage.markets[0]}`],
    "embed search": ["/embed/data/list?q=will"],
  };
  console.log(
    `load of the machine ${loadavg()[0]?.toFixed(1)}\n| read, ${values.markets} markets | alone | beside | ratio |\n|---|---|---|---|`,
  );
  for (const [name, paths] of Object.entries(reads)) {
    for (const path of paths) await read(path);
    const alone = await p99(paths);
    const together = await beside(() => p99(paths));
    console.log(`| ${name} | ${alone.toFixed(2)} ms | ${together.toFixed(2)} ms | ${(together / alone).toFixed(2)} |`);
  }
  await server.end("SIGTERM");
} finally {
  await close();
}

/** Puts open markets straight into the tables: for reads only their number counts. */
async function fill(sql: Sql, count: number): Promise<void> {
  await sql`
    insert into market (id, question, category, kind, p0_ppm, fund_micro, close_at, resolution_ref, meta, created_at,
                        house_yes_micro, house_no_micro)
    select 'many_' || n, 'Will number ' || n || ' of the many come true?', 'bench-' || n % 20, 'cpmm', 500000, 1000000,
           2209000000000 - n * 60000::bigint, 'bench', '{"description":"As the press states it."}', 0, 0, 0
      from generate_series(1, ${count}) as n`;
  await sql`
    insert into book (market_id, status, yes_micro, no_micro, volume_micro, version, closing_recorded, hour, hour_volume_micro,
                      hour_fee_micro, yes_price_ppm)
    select id, 'open', 1000000, 1000000, 0, 1, false, 0, 0, 0, 0 from market where id like 'many_%'`;
  await sql`analyze`;
}
