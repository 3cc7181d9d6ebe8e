import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { eventSource } from "../../src/client/event-source.ts";
import { WORKS } from "../../src/ledger/unchained/leases.ts";
import { Haproxy, haproxyMissing } from "../support/haproxy.ts";
import { marketThatCloses, newOperator, type Operator, postWebhook, type ServerProcess } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";
import { fund, startLoad } from "../upgrade/load.ts";
import { layOutNext } from "../upgrade/next-release.ts";

interface Ready {
  leases: { work: string; held: boolean }[];
}

interface Named {
  name: string;
  server: ServerProcess;
}

/** Between two requests of a client. */
const PACE_MS = 100;

/** Every table gets a column, as later releases may add them: a statement that depends on a table's columns being these is found. */
const EXPANSION = `
create table planted (id integer primary key, note text not null);
do $$
declare name text;
begin
  for name in select tablename from pg_tables where schemaname = 'public' and tablename <> 'migration' order by tablename loop
    execute format('alter table %I add column planted_at bigint not null default 0', name);
  end loop;
end $$;
`;

/** The command line that creates a market. */
const marketThatClosesAt = (closeAt: string) => [
  ...["market", "create", "--question", "Will it hold?", "--category", "test", "--kind", "cpmm", "--p0", "0.5"],
  ...["--close-at", closeAt, "--resolution-ref", "test", "--liquidity", "20000", "-o", "json"],
];

if (haproxyMissing) console.log(`skipped: three servers behind HAProxy (${haproxyMissing})`);

describe.skipIf(haproxyMissing !== undefined)("three servers behind HAProxy", () => {
  let operator: Operator;
  let haproxy: Haproxy;
  let secrets: Record<string, string>;
  let marketIds: string[];
  /** Those that are there now, of the next release once the first test is done. */
  let serving: Named[] = [];
  /** The command line of the next release. */
  let next: string;
  beforeAll(async () => {
    operator = await newOperator();
    // A server with a heap of its own does not start its process over.
    vi.stubEnv("NODE_OPTIONS", "--max-semi-space-size=16");
    await operator.run("init", "acme");
    await operator.edit("acme", (text) =>
      `${withRateLimit(text, 1_000_000)}kyc: { required: false }\n`.replace('["US"]', "[]"),
    );
    expect(await operator.run("apply", "acme")).toMatchObject({ exitCode: 0 });
    const market = await operator.run(...marketThatClosesAt("2040-01-01T00:00:00Z"));
    expect(market).toMatchObject({ exitCode: 0 });
    marketIds = [(JSON.parse(market.stdout) as { id: string }).id];
    secrets = await operator.secrets();
    haproxy = await Haproxy.open(operator.directory);
  });
  afterAll(async () => {
    await haproxy?.close();
    await operator?.close();
    vi.unstubAllEnvs();
  });

  const readiness = async ({ opsUrl }: ServerProcess) => (await (await fetch(`${opsUrl}/readyz`)).json()) as Ready;

  /** Resolves once these servers have every lease among them. */
  async function untilHeld(servers: readonly ServerProcess[]): Promise<void> {
    const held = async () =>
      (await Promise.all(servers.map(readiness))).flatMap(({ leases }) => leases.filter((each) => each.held));
    while ((await held()).length < WORKS.length) await delay(50);
  }

  /** What the log holds of a type, by the server's answer. */
  async function recorded(type: string, { url }: { url: string }): Promise<{ tradeId: string; marketId: string }[]> {
    const list = ["audit", "list", "-t", "acme", "--type", type, "--limit", "1000000", "-o", "ndjson"];
    const { stdout, stderr } = await operator.run(...list, "--url", url);
    expect(stderr).toBe("");
    return stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).payload]));
  }

  test("are replaced one after the other by the next release, with a migration before it: no request is refused or lost", async () => {
    const { url } = haproxy;
    next = await layOutNext(join(operator.directory, "next"), { name: "0999_planted.sql", text: EXPANSION });
    const start = async (name: string, server: Promise<ServerProcess>) => {
      await haproxy.add(name, await server);
      return { name, server: await server };
    };
    const old = await Promise.all(
      ["a", "b", "c"].map((name) => start(name, operator.serve("acme", "--drain-seconds", "2"))),
    );
    await fund(url, secrets, 4);

    const failures: unknown[] = [];
    let [streamed, read, paid] = [0, 0, 0];
    const stopping = new AbortController();
    const repeat = async (work: () => Promise<Response>) => {
      while (!stopping.signal.aborted) {
        try {
          const answer = await work();
          const text = await answer.text();
          if (answer.status !== 200) failures.push([answer.status, text]);
        } catch (error) {
          failures.push(error);
        }
        await delay(PACE_MS);
      }
    };
    const apiKey = secrets.ACME_PUBLIC_KEY ?? "";
    const stream = eventSource({ url, apiKey, signal: stopping.signal, fetch });
    // The events that follow are those since this one.
    expect((await stream.next()).value).toMatchObject({ event: "snapshot" });
    const streaming = (async () => {
      for await (const { event } of stream) if (event === "trade") streamed += 1;
    })();
    const loads = [
      startLoad(() => url, secrets, marketIds, { traders: [0, 1], paceMs: PACE_MS }),
      startLoad(() => url, secrets, marketIds, { traders: [2, 3], paceMs: PACE_MS, keyed: false }),
    ];
    const others = [
      repeat(async () => {
        read += 1;
        return fetch(`${url}/v1/markets`, { headers: { "x-api-key": apiKey } });
      }),
      repeat(async () => {
        const event = { event: "deposit.completed", userId: "ann", amountUsd: 1, txRef: `tx-${paid}` };
        paid += 1;
        return postWebhook(url, "/payments/inbound/acme", secrets.ACME_WEBHOOK_SECRET ?? "", event);
      }),
    ];
    const underLoad = async () => {
      const before = read;
      while (read < before + 5) await delay(PACE_MS);
    };

    await underLoad();
    // What it compiles goes with its files.
    vi.stubEnv("NODE_COMPILE_CACHE", join(operator.directory, "compiled"));
    const applied = await operator.runBuild(next, "apply", "acme", "--via", "db", "--yes", "-o", "json");
    expect(applied.stderr).toContain(
      "Servers of the older version are still running: restart them one after the other, and use what this version adds only after that",
    );
    expect(JSON.parse(applied.stdout)).toMatchObject([{ migrations: ["0999_planted.sql"] }]);
    await underLoad();
    // A server of the older version that starts anew meanwhile, as after a crash.
    const [{ name, server: restarted }] = old as [(typeof old)[number]];
    const restarting = restarted.kill("SIGTERM");
    await haproxy.until(name, "DOWN");
    expect(await restarting).toBe(0);
    const again = await start("again", operator.serve("acme", "--drain-seconds", "2"));
    expect(again.server.errors()).toContain("newer than this pmctl");
    await underLoad();
    serving = [again, ...old.slice(1)];
    for (const leaving of serving) {
      const replacement = await start(
        `${leaving.name}-next`,
        operator.serveBuild(next, "acme", "--drain-seconds", "2"),
      );
      serving = [...serving.filter((each) => each !== leaving), replacement];
      const ended = leaving.server.kill("SIGTERM");
      await haproxy.until(leaving.name, "DOWN");
      await untilHeld(serving.map(({ server }) => server));
      expect(await ended).toBe(0);
      await underLoad();
    }
    await Promise.all(loads.map((load) => load.stop()));
    const acknowledged = loads.flatMap((load) => [...load.acknowledged.values()]);
    while (streamed < acknowledged.length) await delay(PACE_MS);
    stopping.abort();
    await Promise.all([...others, streaming]);
    expect(failures).toEqual([]);
    expect(loads.map(({ failed }) => Object.fromEntries(failed))).toEqual([{}, {}]);
    expect(streamed).toBe(acknowledged.length);

    const ask = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await operator.run(...args, "-t", "acme", "--via", "http", "-o", "json");
      expect([args[0], exitCode, stderr]).toEqual([args[0], 0, ""]);
      return JSON.parse(stdout);
    };
    const trades = (await recorded("trade.executed", haproxy)).map(({ tradeId }) => tradeId);
    expect(trades.toSorted()).toEqual(acknowledged.toSorted());
    expect(await ask("user", "show", "ann")).toMatchObject({ balanceUsd: paid });
    expect(await ask("reconcile", "--full")).toMatchObject({ ok: true });
    expect(await ask("audit", "verify")).toMatchObject({ verified: true });
  }, 300_000);

  test("one that is killed and one that is frozen are followed by another: no event is missed or told twice, and nothing is done twice", async () => {
    const { url } = haproxy;
    const tradeIds = async () => (await recorded("trade.executed", haproxy)).map(({ tradeId }) => tradeId);
    const before = new Set(await tradeIds());
    let streamed = 0;
    const stopping = new AbortController();
    const apiKey = secrets.ACME_PUBLIC_KEY ?? "";
    const stream = eventSource({ url, apiKey, signal: stopping.signal, fetch, retryMs: 100 });
    expect((await stream.next()).value).toMatchObject({ event: "snapshot" });
    const streaming = (async () => {
      for await (const { event } of stream) {
        // A second snapshot would be a gap.
        expect(event).not.toBe("snapshot");
        if (event === "trade") streamed += 1;
      }
    })();
    const load = startLoad(() => url, secrets, marketIds, { traders: [0, 1], paceMs: PACE_MS });
    /** The servers, one that has leases first. */
    const byLeases = async () => {
      const held = await Promise.all(serving.map(async ({ server }) => (await readiness(server)).leases));
      const first = serving.find((_, at) => held[at]?.some((lease) => lease.held));
      if (!first) throw new Error("No server has a lease");
      return [first, ...serving.filter((each) => each !== first)] as const;
    };

    const [killed, ...left] = await byLeases();
    await killed.server.kill("SIGKILL");
    serving = left;
    await untilHeld(left.map(({ server }) => server));

    const [frozen, awake] = await byLeases();
    if (!awake) throw new Error("Two servers are left");
    frozen.server.child.kill("SIGSTOP");
    const run = (...args: string[]) => operator.runBuild(next, ...args, "-t", "acme", "--via", "db");
    const { id } = await marketThatCloses({ ...operator, run }, marketThatClosesAt);
    await untilHeld([awake.server]);
    const closings = async ({ server }: Named) =>
      (await recorded("market.closed", server)).filter(({ marketId }) => marketId === id);
    while ((await closings(awake)).length === 0) await delay(PACE_MS);
    frozen.server.child.kill("SIGCONT");
    // Known by its own clock, before it has asked.
    expect((await readiness(frozen.server)).leases.filter(({ held }) => held)).toEqual([]);
    await haproxy.until(frozen.name, "UP");
    await load.stop();
    const trades = (await tradeIds()).filter((each) => !before.has(each));
    expect(trades.toSorted()).toEqual([...load.acknowledged.values()].toSorted());
    while (streamed < trades.length) await delay(PACE_MS);
    stopping.abort();
    await streaming;
    expect(streamed).toBe(trades.length);
    expect(await closings(frozen)).toHaveLength(1);
  }, 300_000);
});
