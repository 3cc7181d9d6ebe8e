/**
 * The console on a large tenant: `npm run console:big -- --markets 100000 --users 200000 --trades 1000000`. The tenant is
 * made once, in some minutes, and kept below `test/output`. Then a browser goes through every view, quietly and while others
 * trade, and the run fails where something stalls.
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { endedWithBench, endOnSignals } from "../../bench/shared/endings.ts";
import { openConsole, troubles } from "../support/console-page.ts";
import { bigTenant } from "./big-tenant.ts";
import { walkUnderTrades, walkViews } from "./views.ts";
import { lineOf, stallsOf, Walk } from "./walk.ts";

/** What has not come by then does not come. */
const LONGEST_MS = 30_000;

const { values } = parseArgs({
  options: {
    markets: { type: "string", default: "100000" },
    users: { type: "string", default: "200000" },
    trades: { type: "string", default: "1000000" },
  },
});
const size = { markets: Number(values.markets), users: Number(values.users), trades: Number(values.trades) };
const startedAt = performance.now();
const say = (line: string) => console.log(`${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${line}`);

endOnSignals();
const tenant = await bigTenant(size, say);
const close = endedWithBench(tenant.close);
try {
  const server = await tenant.serve();
  const end = endedWithBench(server.end);
  say(`load of the machine ${loadavg()[0]?.toFixed(1)}`);
  try {
    const { page, complaints, close: leave } = await openConsole({ server }, { key: tenant.secrets.ADMIN_KEY });
    page.setDefaultTimeout(LONGEST_MS);
    const walk = await Walk.of(page, say);
    const busy: string[] = [];
    try {
      await walkViews(page, walk);
      busy.push(...(await walkUnderTrades(page, walk, { server, secrets: tenant.secrets })));
    } finally {
      console.log("\n| step | usual wait | longest | requests | slowest answer | longest task | elements |");
      console.log("|---|---|---|---|---|---|---|");
      for (const step of walk.steps) console.log(lineOf(step));
    }
    await leave();
    const stalls = [...walk.steps.flatMap(stallsOf), ...busy, ...troubles(complaints)];
    for (const stall of stalls) console.log(`STALLED ${stall}`);
    if (stalls.length > 0) process.exitCode = 1;
  } finally {
    await end();
  }
} finally {
  await close();
}
process.exit();
