import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAIN } from "./support/pmctl.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

let cwd: string;

/** A tenant whose file says nothing: its server would end with 6, after it was given its heap. */
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "pmctl-early-"));
  mkdirSync(join(cwd, "tenants/acme"), { recursive: true });
  writeFileSync(join(cwd, "tenants/acme/tenant.yaml"), "{}\n");
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** Starts `serve` after a module that sends the process a signal at a moment, and resolves to how it ended. */
async function serveWith(preload: string): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  const module = `data:text/javascript,${encodeURIComponent(preload)}`;
  const child = spawn(process.execPath, ["--import", module, MAIN, "serve", "acme"], {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: "ignore",
  });
  const [code, signal] = await once(child, "exit");
  return { code, signal };
}

test("a signal in the moment before a server's process is replaced by itself ends it", async () => {
  const ends = await Promise.all(
    SIGNALS.map((signal) =>
      serveWith(
        `const { execve } = process; process.execve = (...args) => { process.kill(process.pid, "${signal}"); execve.apply(process, args); };`,
      ),
    ),
  );
  expect(ends).toEqual(SIGNALS.map((signal) => ({ code: null, signal })));
});

test("a server's process listens to signals only once it was replaced", async () => {
  const atListening = `process.on("newListener", (name) => {
    if (name !== "SIGTERM") return;
    process.exit(process.execArgv.some((option) => option.includes("semi-space")) ? 98 : 99);
  });`;
  expect(await serveWith(atListening)).toEqual({ code: 98, signal: null });
});
