import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { marketThatCloses, newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { ownTime } from "../support/own-time.ts";
import { withRateLimit } from "../support/tenant-text.ts";
import { type FeedServer, openFeedServer } from "./feed-server.ts";

let feeds: FeedServer;
let operator: Operator;
let server: ServerProcess;

async function json<T>(...args: string[]): Promise<T> {
  const { stdout, stderr, exitCode } = await operator.run(...args, "-o", "json");
  if (exitCode !== 0) throw new Error(`pmctl ${args.join(" ")} ended with ${exitCode}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** A server whose oracle sweeps once an hour, and near the instants that decide, over a feed on loopback. */
beforeAll(async () => {
  feeds = await openFeedServer();
  operator = await newOperator();
  await operator.run("init", "acme", "--yes");
  await operator.edit(
    "acme",
    (text) => `${withRateLimit(text, 100_000)}
network: { allowPrivate: [127.0.0.0/8] }
oracle:
  sweepSeconds: 3600
  sources:
    house: { url: "${feeds.url}/house/{id}", price: { pointer: /last }, time: { pointer: /ts, unit: ms } }
  venues:
    acme: { steel: { sources: [{ use: house, id: steel }], maxAge: 1m } }
`,
  );
  const markets = join(operator.directory, "tenants/acme/markets");
  await copyFile(join(markets, "example.yaml.sample"), join(markets, "example.yaml"));
  await json("apply", "acme");
  server = await operator.serve("acme");
});
afterAll(async () => {
  await operator.close();
  await feeds.close();
});

const create = (closeAt: number | string, ref: string) => [
  ...["market", "create", "--question", "Steel?", "--category", "metal", "--kind", "cpmm", "--p0", "0.5"],
  ...["--close-at", new Date(closeAt).toISOString(), "--resolution-ref", ref],
];
const closing = (ref: string) => marketThatCloses(operator, (closeAt) => [...create(closeAt, ref), "-o", "json"]);

describe("a served tenant", () => {
  test("sweeps when it is asked to over HTTP, by admin keys alone, and says so like a sweep at the database", async () => {
    const { ACME_ADMIN_KEY = "", ACME_PUBLIC_KEY = "" } = await operator.secrets();
    const ask = (key: string) =>
      fetch(`${server.url}/v1/oracle/sweep`, { method: "POST", headers: { "x-api-key": key } });
    expect((await ask(ACME_PUBLIC_KEY)).status).toBe(403);
    const answer = await ask(ACME_ADMIN_KEY);
    expect(answer.status).toBe(200);
    const nothing = { watched: 0, asked: 0, settled: [], held: [] };
    expect(await answer.json()).toEqual(nothing);
    for (const via of ["http", "db"]) expect(await json("oracle", "sweep", "--via", via)).toEqual(nothing);
  });

  test("lists its feeds and asks their sources over HTTP, as the command does at the database, and for admin keys only", async () => {
    feeds.say("/house/steel", { last: 800, ts: Date.now() });
    const { ACME_ADMIN_KEY = "", ACME_PUBLIC_KEY = "" } = await operator.secrets();
    const ask = (key: string, body: object) => {
      const headers = { "x-api-key": key, "content-type": "application/json" };
      return fetch(`${server.url}/v1/oracle/check`, { method: "POST", headers, body: JSON.stringify(body) });
    };
    expect((await ask(ACME_PUBLIC_KEY, {})).status).toBe(403);
    const unknown = await ask(ACME_ADMIN_KEY, { feeds: ["acme:stel"] });
    expect([unknown.status, await unknown.json()]).toMatchObject([
      404,
      { error: "There is no feed acme:stel; did you mean acme:steel?" },
    ]);
    for (const via of ["http", "db"]) {
      const checked = await json("oracle", "check", "ACME:steel", "--via", via);
      expect(checked).toMatchObject([
        { feed: "acme:steel", price: "800", spread: null, session: "always", verdict: "ok" },
      ]);
      const missing = await operator.run("oracle", "check", "acme:stel", "--via", via);
      expect(missing).toMatchObject({ exitCode: 5, stderr: expect.stringContaining("did you mean acme:steel?") });
    }
    expect(await json("oracle", "feeds", "--via", "http")).toEqual(await json("oracle", "feeds", "--via", "db"));
  });

  test("settles a market of a loopback feed by itself, with its evidence on record", async () => {
    feeds.say("/house/steel", { last: "801.25", ts: Date.now() });
    const { id, closeAt } = await closing("acme:steel > 800");
    for (let status = ""; status !== "settled"; await delay(300)) {
      // Another price after the close must not matter; a server that came late has to be told the one before it first.
      if (Date.now() > closeAt && feeds.heard.length > 0) feeds.say("/house/steel", { last: "1", ts: Date.now() });
      status = (await json<{ status: string }>("market", "show", id)).status;
    }
    expect(await json("market", "show", id)).toMatchObject({ status: "settled", outcome: "yes" });
    for (const via of ["http", "db"])
      expect(await json("oracle", "status", "--via", via)).toMatchObject({
        supportedFeeds: 42,
        eligibleMarkets: 0,
        recentResolutions: [{ marketId: id, ref: "acme:steel", price: 801.25, strike: 800, outcome: 1 }],
      });
    const { entries } = await json<{ entries: { type: string; actor: string }[] }>("audit", "list", "--limit", "2");
    expect(entries.map(({ type, actor }) => [type, actor])).toEqual([
      ["oracle.resolved", "oracle"],
      ["market.settled", "oracle"],
    ]);
    const metrics = await (await fetch(`${server.opsUrl}/metrics`)).text();
    expect(metrics).toMatch(/^pmctl_oracle_sweep_age_seconds [\d.]+$/m);
    expect(metrics).toMatch(/^pmctl_oracle_held_markets 0$/m);
    expect(metrics).toMatch(/^pmctl_oracle_feed_age_seconds\{feed="acme:steel"\} [\d.]+$/m);
  });

  test("shows why a market is held", async () => {
    feeds.fall("/house");
    const { id } = await closing("acme:steel > 800");
    const seen: string[] = [];
    for (; !seen.at(-1)?.includes("holds this market"); await delay(300))
      seen.push((await operator.run("market", "show", id)).stderr);
    expect(seen.at(-1)).toContain("feed down");
    const status = await operator.run("oracle", "status");
    expect(status.stderr.replace(/\s+/g, " ")).toContain(`1 market held, ${id} longest: feed down`);
  });

  test("checks feeds on demand, and says what a reference lacks", async () => {
    feeds.say("/house/steel", { last: 800, ts: Date.now() });
    expect(await json("oracle", "check", "acme:steel")).toMatchObject([
      { feed: "acme:steel", price: "800", session: "always", verdict: "ok" },
    ]);
    feeds.fall("/house");
    expect(await operator.run("oracle", "check", "acme:steel")).toMatchObject({
      exitCode: 7,
      stdout: expect.stringContaining("feed down"),
    });
    expect(await json("oracle", "feeds")).toHaveLength(42);
    expect(await json("oracle", "sweep")).toMatchObject({ settled: [] });
    const warned = await operator.run(...create(Date.now() + 3_600_000, "acme:steel => 800"));
    expect(warned).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("at character 12") });
    const weekend = await operator.run(...create(Date.parse("2096-01-01T00:00:00Z"), "pm:aapl > 1"));
    expect(weekend.stderr).toContain("does not trade at");
    // A market that could only ever be held, because the keys of its sources are not in the tenant file.
    expect(weekend.stderr).toContain("pm:aapl needs 1 source and has 0: pyth needs a header with the key, ");
    expect(warned.stderr).not.toContain("needs 1 source");
    const far = await operator.run("--via", "db", ...create(Date.now() + 3_600_000, "acme:steel > 80000"));
    expect(far.stderr).toContain("far from the last price");
  });
});

const sweeps = async ({ opsUrl }: ServerProcess) => {
  const { leases } = (await (await fetch(`${opsUrl}/readyz`)).json()) as { leases: { work: string; held: boolean }[] };
  return leases.some(({ work, held }) => work === "oracle" && held);
};

test("a market that is due when the server with the oracle's lease is killed is settled by another within ten seconds", async () => {
  const servers = [server, await operator.serve("acme"), await operator.serve("acme")];
  // The source has no newer price until long after the close.
  feeds.say("/house/steel", { last: "801.25", ts: Date.now() });
  const { id } = await closing("acme:steel > 800");
  const holding = await Promise.all(servers.map(sweeps));
  const holder = servers[holding.indexOf(true)];
  const survivor = servers[holding.indexOf(false)];
  if (!holder || !survivor) throw new Error("One server holds the lease");
  await holder.kill("SIGKILL");
  const elapsed = ownTime();
  const { ACME_PUBLIC_KEY = "" } = await operator.secrets();
  const statusOf = async () => {
    const answer = await fetch(`${survivor.url}/v1/markets/${id}`, { headers: { "x-api-key": ACME_PUBLIC_KEY } });
    return ((await answer.json()) as { status: string }).status;
  };
  while ((await statusOf()) !== "settled" && elapsed() < 60_000) await delay(100);
  expect(elapsed()).toBeLessThan(10_000);
});
