import { afterEach, describe, expect, test } from "vitest";
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
