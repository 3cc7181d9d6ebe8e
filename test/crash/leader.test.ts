import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { ServerProcess } from "../support/operator.ts";
import { type CrashScene, expectExact, fund, openCrashScene, startClients } from "./crash-scene.ts";

let scene: CrashScene;
let servers: ServerProcess[] = [];

beforeAll(async () => {
  scene = await openCrashScene();
});
afterEach(async () => {
  for (const server of servers) await server.kill("SIGKILL");
});
afterAll(() => scene?.operator.close());

/** Servers of the tenant, the one that leads first, and clients that use all of them in turn. */
async function serveAndTrade(count: number) {
  servers = [];
  while (servers.length < count) servers.push(await scene.operator.serve("acme", "--no-sweep"));
  await fund(scene, at(0).url);
  let turn = 0;
  const clients = startClients(scene, () => servers[turn++ % servers.length]);
  /** Until clients have had this many more answers. */
  const answers = async (many: number) => {
    const before = clients.answered();
    while (clients.answered() < before + many) await delay(5);
  };
  return { clients, answers };
}

function at(index: number): ServerProcess {
  const server = servers[index];
  if (!server) throw new Error(`There is no server ${index}`);
  return server;
}

/** How many batches a process has committed. */
async function commitsOf({ opsUrl }: ServerProcess): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(/^pmctl_sequencer_batch_commands_count (\d+)/m.exec(metrics)?.[1] ?? 0);
}

/** Until the servers but the first commit nothing, because they pass all trades to it. */
async function untilPassed(answers: (many: number) => Promise<void>): Promise<void> {
  const others = () => Promise.all(servers.slice(1).map(commitsOf));
  for (let before = await others(); ; ) {
    await answers(50);
    const after = await others();
    if (after.join() === before.join()) return;
    before = after;
  }
}

const TIMEOUT_MS = 120_000;

test("three servers on one tenant: the oldest decides for all, and every total is exact", {
  timeout: TIMEOUT_MS,
}, async () => {
  const { clients, answers } = await serveAndTrade(3);
  await untilPassed(answers);
  const before = await commitsOf(at(0));
  await answers(300);
  expect(await commitsOf(at(0))).toBeGreaterThan(before);
  await clients.stop();
  for (const server of servers) expect(await server.kill("SIGTERM")).toBe(0);
  expect(clients.orders.filter(({ unsure }) => unsure)).toEqual([]);
  await expectExact(scene, clients.orders);
});

test("kill -9 of the leader: the others decide, the next oldest leads, no acknowledged trade is lost and none repeated", {
  timeout: TIMEOUT_MS,
}, async () => {
  const { clients, answers } = await serveAndTrade(3);
  await untilPassed(answers);
  const leader = servers.shift();
  await leader?.kill("SIGKILL");
  await answers(300);
  await untilPassed(answers);
  await clients.stop();
  for (const server of servers) expect(await server.kill("SIGTERM")).toBe(0);
  await expectExact(scene, clients.orders);
});

test("a leader that is stopped in the middle and continues later: its clients and the others' are answered, each trade once", {
  timeout: TIMEOUT_MS,
}, async () => {
  const { clients, answers } = await serveAndTrade(2);
  await untilPassed(answers);
  const leader = at(0);
  servers = [at(1)];
  leader.child.kill("SIGSTOP");
  await answers(100);
  leader.child.kill("SIGCONT");
  servers = [leader, at(0)];
  await answers(300);
  await clients.stop();
  for (const server of servers) expect(await server.kill("SIGTERM")).toBe(0);
  await expectExact(scene, clients.orders);
});

test("a leader that ends leaves no caller of another server without an answer", { timeout: TIMEOUT_MS }, async () => {
  const { clients, answers } = await serveAndTrade(2);
  await untilPassed(answers);
  const leader = servers.shift();
  // Its own clients are elsewhere from now on.
  await answers(50);
  expect(await leader?.kill("SIGTERM")).toBe(0);
  await answers(200);
  await clients.stop();
  expect(clients.orders.filter(({ unsure }) => unsure)).toEqual([]);
  expect(await at(0).kill("SIGTERM")).toBe(0);
  await expectExact(scene, clients.orders);
});
