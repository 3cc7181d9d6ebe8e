import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { marketThatCloses, newOperator, type Operator, type ServerProcess } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";
import { type FeedServer, openFeedServer } from "./feed-server.ts";

let feeds: FeedServer;
let operator: Operator;

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
  expect(await operator.run("apply", "acme")).toMatchObject({ exitCode: 0 });
});
afterAll(async () => {
  await operator.close();
  await feeds.close();
});

const sweeps = async ({ opsUrl }: ServerProcess) => {
  const { leases } = (await (await fetch(`${opsUrl}/readyz`)).json()) as { leases: { work: string; held: boolean }[] };
  return leases.some(({ work, held }) => work === "oracle" && held);
};

test("a market that is due when the server with the oracle's lease is killed is settled by another within ten seconds", async () => {
  const servers: ServerProcess[] = [];
  for (let each = 0; each < 3; each += 1) servers.push(await operator.serve("acme"));
  // The source has no newer price until long after the close.
  feeds.say("/house/steel", { last: "801.25", ts: Date.now() });
  const { id } = await marketThatCloses(operator, (closeAt) => [
    ...["market", "create", "--question", "Steel?", "--category", "metal", "--kind", "cpmm", "--p0", "0.5"],
    ...["--close-at", new Date(closeAt).toISOString(), "--resolution-ref", "acme:steel > 800", "-o", "json"],
  ]);
  const holding = await Promise.all(servers.map(sweeps));
  const holder = servers[holding.indexOf(true)];
  const survivor = servers[holding.indexOf(false)];
  if (!holder || !survivor) throw new Error("One server holds the lease");
  await holder.kill("SIGKILL");
  const killedAt = performance.now();
  const { ACME_PUBLIC_KEY = "" } = await operator.secrets();
  const statusOf = async () => {
    const answer = await fetch(`${survivor.url}/v1/markets/${id}`, { headers: { "x-api-key": ACME_PUBLIC_KEY } });
    return ((await answer.json()) as { status: string }).status;
  };
  while ((await statusOf()) !== "settled" && performance.now() - killedAt < 60_000) await delay(100);
  expect(performance.now() - killedAt).toBeLessThan(10_000);
});
