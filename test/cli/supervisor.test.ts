import { afterEach, describe, expect, test } from "vitest";
import { HouseOps } from "../../src/app/house/house-ops.ts";
import { type LifePolicy, WorkerProcess } from "../../src/app/house/worker-process.ts";
import { pauseBefore, RESTART_POLICY, Supervised, type SupervisedOptions } from "../../src/app/serve/supervisor.ts";

const QUICK = { firstPauseMs: 20, longestPauseMs: 80, healthyMs: 60_000, stopMs: 120_000 };

const running: Supervised[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
});

/** Supervises a few lines of JavaScript. `until` looks again whenever something was written or restarted. */
function supervise(code: string, options: Partial<SupervisedOptions> = {}) {
  const lines: string[] = [];
  const restarts: { ending: string; pauseMs: number }[] = [];
  const waiting: (() => void)[] = [];
  const changed = () => {
    for (const wake of waiting.splice(0)) wake();
  };
  const server = new Supervised({
    args: () => ["-e", code],
    environment: {},
    directory: "/tmp",
    policy: QUICK,
    onLine(_, line) {
      lines.push(line);
      changed();
    },
    onRestart(ending, pauseMs) {
      restarts.push({ ending, pauseMs });
      changed();
    },
    ...options,
  });
  running.push(server);
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return { server, lines, restarts, until };
}

test("pauses double from half a second to a minute", () => {
  const pauses = [1, 2, 3, 4, 5, 6, 7, 8, 20].map((restart) => pauseBefore(restart, RESTART_POLICY));
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

test("RESTART_POLICY leaves a server the 25 s that it may take to finish", () => {
  expect(RESTART_POLICY.stopMs).toBeGreaterThan(25_000);
});

describe("a process that ends by itself", () => {
  test("is started again, after a longer pause each time", async () => {
    const { restarts, until } = supervise("process.exit(6)");
    await until(() => restarts.length === 4);
    expect(restarts.slice(0, 4)).toEqual([20, 40, 80, 80].map((pauseMs) => ({ ending: "exit code 6", pauseMs })));
  });

  test("after a good time begins with the first pause again", async () => {
    const { restarts, until } = supervise("process.exit(1)", { policy: { ...QUICK, healthyMs: 0 } });
    await until(() => restarts.length === 3);
    expect(restarts.map(({ pauseMs }) => pauseMs).slice(0, 3)).toEqual([20, 20, 20]);
  });
});

describe("stopping", () => {
  test("asks first, and is clean when the process ends by itself", async () => {
    const { server, lines, until } = supervise(
      "process.on('SIGTERM', () => { console.log('bye'); process.exit(0); }); console.log('up'); setInterval(() => {}, 1e6)",
    );
    await until(() => lines.includes("up"));
    expect(await server.stop()).toBe(true);
    expect(lines).toEqual(["up", "bye"]);
  });

  test("kills a process that does not listen, and says so", async () => {
    const { server, lines, until } = supervise(
      "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1e6)",
      { policy: { ...QUICK, stopMs: 200 } },
    );
    await until(() => lines.includes("up"));
    expect(await server.stop()).toBe(false);
    expect(server.pid).toBeUndefined();
  });

  test("during the pause before a restart starts nothing more", async () => {
    const { server, restarts, until } = supervise("process.exit(1)", { policy: { ...QUICK, firstPauseMs: 60_000 } });
    await until(() => restarts.length === 1);
    expect(await server.stop()).toBe(true);
    expect(restarts).toHaveLength(1);
  });
});

/** A worker of a house with this tenant, by a few lines of JavaScript. */
function workerBy(code: string, life: LifePolicy) {
  const problems: string[] = [];
  const endings: string[] = [];
  const worker = new WorkerProcess(
    {
      ...{ kind: "terms", worker: 0, directory: "/tmp", url: "", address: "", port: 0, opsUrl: "", opsPort: 0 },
      ...{ residents: RESIDENTS, sockets: "", idleSeconds: 1, https: false, connections: 4, suspects: [], apart: [] },
      seconds: { headersSeconds: 1, bodySeconds: 1, idleSeconds: 1, writeSeconds: 1 },
    },
    {
      ...{ args: () => ["-e", code], environment: {}, directory: "/tmp", policy: QUICK, onLine: () => {} },
      onProblem: (problem) => problems.push(problem),
      onRestart: (ending) => endings.push(ending),
    },
    life,
  );
  running.push(worker.supervised);
  return { worker, problems, endings };
}

const RESIDENTS = [{ tenant: "acme", hosts: ["acme.test"], worker: 0 }];
const LIFE: LifePolicy = { startMs: 60_000, everyMs: 20, answerMs: 300, misses: 3 };

test("a worker of a house that hangs is told of, not waited for, and replaced", async () => {
  // It answers as a worker does; the test stops it.
  const code = `process.on("message", ({ kind, id, question }) => {
    if (kind === "terms") process.send({ kind: "ready" });
    if (kind !== "ask") return;
    const answer = question.about === "tenants" ? [{ tenant: "acme", state: "idle", problem: null }] : [];
    process.send({ kind: "answer", id, answer });
  });`;
  const { worker, problems, endings } = workerBy(code, LIFE);
  await worker.ready;
  const ops = new HouseOps({ residents: RESIDENTS, problems: new Map(), workers: [worker], scheme: "http" });
  const ask = async (path: string, query = "") => {
    const { status, body } = (await ops.answer(path, new URLSearchParams(query))) ?? {};
    return [status, path === "/metrics" ? body : JSON.parse(body ?? "")];
  };
  expect(await ask("/tenants")).toMatchObject([200, [{ tenant: "acme", state: "idle", problem: null }]]);
  const { pid = 0 } = worker.supervised;
  process.kill(pid, "SIGSTOP");
  const [tenants, readiness, metrics] = await Promise.all([
    ask("/tenants"),
    ask("/readyz", "tenant=acme"),
    ask("/metrics"),
  ]);
  expect(tenants).toMatchObject([200, [{ state: "failed", problem: expect.stringContaining("does not answer") }]]);
  expect(readiness).toMatchObject([503, { ok: false }]);
  expect(metrics[1]).toContain('pmctl_tenants{state="failed"} 1');
  await expect.poll(() => worker.isServing).toBe(false);
  expect(await ask("/readyz")).toMatchObject([503, { ok: false, serving: 0 }]);
  await expect.poll(() => endings).toEqual(["SIGKILL"]);
  expect(problems).toEqual(["does not answer and is killed"]);
  await expect.poll(() => worker.isServing, { timeout: 10_000 }).toBe(true);
  expect(worker.supervised.pid).not.toBe(pid);
});

test("a worker of a house that hangs before it serves is replaced too", async () => {
  const { worker, problems, endings } = workerBy("setInterval(() => {}, 1e6)", { ...LIFE, startMs: 50 });
  await expect.poll(() => endings.length).toBeGreaterThan(1);
  expect(endings[0]).toBe("SIGKILL");
  expect(problems[0]).toBe("has not begun to serve within 0.05 s and is killed");
  expect(worker.isServing).toBe(false);
});

test("a tenant whose opening ends its worker three times is set apart, and one that is opened beside it is not", async () => {
  // Opens all at once, but suspects one after the other, as a worker does; the opening of acme ends it.
  const code = `process.on("message", ({ kind, suspects, apart }) => {
    if (kind !== "terms") return;
    process.send({ kind: "ready" });
    const tell = (kind, tenant) => process.send({ kind, tenant });
    const tenants = ["zeta", "acme"].filter((tenant) => !apart.includes(tenant));
    for (const tenant of tenants) {
      tell("opening", tenant);
      if (suspects.includes(tenant) && tenant !== "acme") tell("opened", tenant);
    }
    if (tenants.includes("acme")) process.exit(1);
    for (const tenant of tenants) tell("opened", tenant);
  });`;
  const { worker, problems, endings } = workerBy(code, LIFE);
  await expect.poll(() => endings.length === 3 && worker.isServing, { timeout: 10_000 }).toBe(true);
  expect(problems).toEqual([
    "ended while it opened zeta, acme",
    "ended while it opened acme",
    "ended while it opened zeta, acme",
    expect.stringMatching(/^serves acme no longer: set apart, because 3 times .*pmctl up --isolate acme/),
  ]);
});
