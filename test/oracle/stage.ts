import { setTimeout as delay } from "node:timers/promises";
import type { AuditType } from "../../src/domain/audit/audit-payloads.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { Venues } from "../../src/domain/feeds/feed.ts";
import type { SourceOverride } from "../../src/domain/feeds/source.ts";
import { newMemory, type OracleContext, type SweepReport } from "../../src/oracle/context.ts";
import { sourceSet } from "../../src/oracle/sources.ts";
import { sweep } from "../../src/oracle/worker.ts";
import { OutgoingHttp } from "../../src/outgoing/guarded-fetch.ts";
import { readClock } from "../../src/postgres/database-time.ts";
import { oracleSetup } from "../../src/services/oracle/feeds.ts";
import { openTestTenant, type TestTenant } from "../support/tenant.ts";
import { type FeedServer, openFeedServer } from "./feed-server.ts";

export const RESOLUTION_SECRET = "a resolution secret of the tests";

/** A tenant with feeds on loopback and a clock of the sweep's own. */
export interface Stage {
  scene: TestTenant;
  server: FeedServer;
  /** What the sweep takes for the time; the engine keeps the database's. */
  clock: { now: number };
  /** One per process. */
  contexts: OracleContext[];
  /** A market whose closing time has passed by the database's clock, unless told otherwise. */
  closedMarket(
    resolutionRef: string,
    change?: Parameters<TestTenant["market"]>[0],
    state?: "suspended",
  ): Promise<{ id: string; closeAt: number }>;
  /** Lets source and symbol show a price, observed so many milliseconds from an instant. */
  show(source: string, symbol: string, price: string, observedAt: number): void;
  /** Sweeps at an instant. */
  sweepAt(now: number, process?: number): Promise<SweepReport>;
  /** Waits until the database's clock has passed an instant. */
  databasePasses(instant: number): Promise<void>;
  audit(type: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** `{last, ts}` with milliseconds, at `/name/symbol`. */
export const plainSource = (server: FeedServer, name: string, change: SourceOverride = {}): SourceOverride => ({
  url: `${server.url}/${name}/{id}`,
  price: { pointer: "/last" },
  time: { pointer: "/ts", unit: "ms" },
  // No test waits for it: what is down closes the connection.
  timeout: 60_000,
  ...change,
});

export const one = (use: string, id: string) => ({ sources: [{ use, id }], maxAge: 60_000 });

const trio = (id: string) => ({
  sources: ["a", "b", "c"].map((use) => ({ use, id })),
  quorum: 2,
  maxAge: 60_000,
  maxSpread: 0.005,
});

/** Every test has feeds of its own, since their times overlap. */
const VENUES: Venues = {
  pm: { wti: { sources: [{ use: "a", id: "wti" }] }, btc: { sources: [{ use: "a", id: "btc" }] } },
  acme: {
    ...Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`s${index}`, one("a", `s${index}`)])),
    zinc: { ...one("a", "zinc"), maxJump: 0.1 },
    trio1: trio("trio1"),
    trio2: trio("trio2"),
    echo: { sources: ["a", "mirror", "twin"].map((use) => ({ use, id: "echo" })), quorum: 2, maxAge: 60_000 },
    desk: one("desk", "index"),
    memory: one("archive", "x"),
    memory2: one("archive", "y"),
  },
};

export async function openStage(processes = 1): Promise<Stage> {
  const server = await openFeedServer();
  const scene = await openTestTenant({
    processes,
    oracle: oracleSetup(VENUES, ["desk"], { allowPrivate: ["127.0.0.0/8"] }),
  });
  const sources = sourceSet({
    a: plainSource(server, "a", { upstream: "exchange" }),
    b: plainSource(server, "b"),
    c: plainSource(server, "c"),
    mirror: plainSource(server, "mirror", { upstream: "exchange" }),
    // Another name for the same address.
    twin: plainSource(server, "a", { upstream: "exchange" }),
    desk: { push: true },
  }).ready;
  const archive = { ...plainSource(server, "archive"), historyUrl: `${server.url}/archive/{id}/{time}` };
  const http = new OutgoingHttp({ allowPrivate: ["127.0.0.0/8"] });
  const clock = { now: 0 };
  const contexts = scene.processes.map(
    (services): OracleContext => ({
      services,
      sources: new Map([...sources, ["archive", { ...archive, kind: "http", timeoutMs: 60_000 } as never]]),
      http,
      resolutionSecrets: [RESOLUTION_SECRET],
      sweepMs: 30_000,
      memory: newMemory(),
      now: async () => clock.now,
    }),
  );
  const [first] = scene.processes;
  if (!first) throw new Error("a scene has at least one process");
  const databasePasses = async (instant: number) => {
    while ((await first.pool.read(readClock)) <= instant) await delay(20);
  };
  /** Waits until the engine refuses trades: its clock may be behind the database's by the way back of an answer. */
  const engineCloses = async (marketId: string) => {
    const trade = { marketId, selection: { side: "yes" }, amount: 1 } as const;
    const refusal = () =>
      scene
        .api("usr_late")
        .placeTrade(trade)
        .catch((error: Fault) => error.code);
    while ((await refusal()) !== "MARKET_CLOSED") await delay(20);
  };
  return {
    scene,
    server,
    clock,
    databasePasses,
    contexts,
    closedMarket: async (resolutionRef, change = {}, state = undefined) => {
      // A busy machine may need longer than the time left to make the market; the next try leaves it more.
      for (let leadMs = state === "suspended" ? 500 : 60; ; leadMs *= 2) {
        const closeAt = (await first.pool.read(readClock)) + leadMs;
        let id: string | undefined;
        try {
          id = await scene.market({
            closeAt: new Date(closeAt).toISOString(),
            resolutionRef,
            liquidityUsd: 10,
            ...change,
          });
          if (state === "suspended") await scene.api().suspendMarket({ id });
          await databasePasses(closeAt);
          if (state !== "suspended") await engineCloses(id);
          return { id, closeAt };
        } catch (error) {
          const tooLate = error instanceof Fault && /must be in the future|is closed/.test(error.message);
          if (!tooLate || leadMs > 60_000) throw error;
          // One that closed before it was suspended must not be the sweep's.
          if (id !== undefined) await scene.api().settleMarket({ marketId: id, outcome: "no" });
        }
      }
    },
    show: (source, symbol, price, observedAt) =>
      server.say(`/${source}/${symbol}`, `{"last": ${price}, "ts": ${observedAt}}`),
    sweepAt: async (now, process = 0) => {
      clock.now = now;
      return sweep(contexts[process] as OracleContext);
    },
    audit: async (type: AuditType) => {
      const { entries } = await scene.api().listAudit({ type, limit: 200 });
      return entries.map(({ payload }) => payload);
    },
    close: async () => {
      await http.close();
      await server.close();
      await scene.close();
    },
  };
}
