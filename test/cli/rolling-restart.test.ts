import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Balancer } from "../support/balancer.ts";
import { newOperator, type Operator, postWebhook, type ServerProcess } from "../support/operator.ts";

interface Ready {
  draining: boolean;
  server: string;
  leases: { work: string; held: boolean; holder: string | null; until: string | null }[];
}

/** Between two requests of a client. */
const PAUSE_MS = 20;

let operator: Operator;
let balancer: Balancer;
let secrets: Record<string, string>;
beforeAll(async () => {
  operator = await newOperator();
  await operator.run("init", "acme");
  await operator.edit("acme", (text) => `${text}\nrateLimit: { perMinute: 100000 }\n`);
  expect(await operator.run("apply", "acme")).toMatchObject({ exitCode: 0 });
  secrets = await operator.secrets();
  balancer = await Balancer.open();
});
afterAll(async () => {
  balancer.close();
  await operator.close();
});

const readiness = async ({ opsUrl }: ServerProcess) => (await (await fetch(`${opsUrl}/readyz`)).json()) as Ready;
/** Resolves once the server says of itself what is asked for. */
async function until(server: ServerProcess, isSo: (ready: Ready) => boolean): Promise<void> {
  while (!isSo(await readiness(server))) await delay(50);
}
const holdsAll = ({ leases }: Ready) => leases.length === 5 && leases.every(({ held }) => held);

/** Asks on kept connections, as other machines do. */
function ask(agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    request(`${balancer.url}/health`, { agent }, (response) => {
      response
        .resume()
        .on("end", () => resolve(response.statusCode ?? 0))
        .on("error", reject);
    })
      .on("error", reject)
      .end();
  });
}

test("servers start over one after the other under load: no request is refused or lost, and work goes on elsewhere", async () => {
  let servers = [
    await operator.serve("acme", "--drain-seconds", "2"),
    await operator.serve("acme", "--drain-seconds", "2"),
  ];
  for (const server of servers) await balancer.add(server);
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const failures: unknown[] = [];
  let [stopped, asked, paid] = [false, 0, 0];
  const loop = (work: () => Promise<unknown>) =>
    (async () => {
      while (!stopped && failures.length === 0) {
        await work().catch((error: unknown) => failures.push(error));
        await delay(PAUSE_MS);
      }
    })();
  const loops = [
    ...Array.from({ length: 4 }, () =>
      loop(async () => {
        const status = await ask(agent);
        if (status !== 200) failures.push(status);
        asked += 1;
      }),
    ),
    loop(async () => {
      const event = { event: "deposit.completed", userId: "ann", amountUsd: 1, txRef: `tx-${paid}` };
      const answer = await postWebhook(
        balancer.url,
        "/payments/inbound/acme",
        secrets.ACME_WEBHOOK_SECRET ?? "",
        event,
      );
      const text = await answer.text();
      if (answer.status !== 200) failures.push(text);
      else paid += 1;
    }),
  ];
  const [first] = servers;
  for (const leaving of servers) {
    const before = asked;
    const [next] = servers.filter((each) => each !== leaving);
    const ended = leaving.kill("SIGTERM");
    await until(leaving, ({ draining, leases }) => draining && leases.every(({ held }) => !held));
    await until(next as ServerProcess, holdsAll);
    expect(await ended).toBe(0);
    balancer.remove(leaving);
    // The last one to leave is not replaced: the server that came for the first one goes on alone.
    if (leaving === first) {
      const started = await operator.serve("acme", "--drain-seconds", "2");
      await balancer.add(started);
      servers = [next as ServerProcess, started];
    }
    while (failures.length === 0 && asked < before + 50) await delay(20);
  }
  stopped = true;
  await Promise.all(loops);
  agent.destroy();
  expect(failures).toEqual([]);
  expect(paid).toBeGreaterThan(0);
  const [user] = [await operator.run("user", "show", "ann", "--via", "db", "-o", "json")];
  expect(JSON.parse(user.stdout)).toMatchObject({ balanceUsd: paid });
}, 120_000);
