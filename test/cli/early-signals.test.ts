import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
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

test("what follows the logs ends with 0 when a supervisor stops it, and with 130 by Ctrl-C", async () => {
  const folder = join(cwd, ".pmctl/logs/acme");
  mkdirSync(folder, { recursive: true });
  const line = { ts: "2030-01-01T00:00:00.000Z", level: "info", kind: "event", message: "begun" };
  writeFileSync(join(folder, "1893456000000-1.ndjson"), `${JSON.stringify(line)}\n`);
  const ended = async (signal: "SIGTERM" | "SIGINT") => {
    const child = spawn(process.execPath, [MAIN, "logs", "acme", "--follow"], {
      cwd,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
      stdio: ["ignore", "pipe", "ignore"],
    });
    await once(child.stdout, "data");
    child.kill(signal);
    return once(child, "exit");
  };
  expect(await Promise.all([ended("SIGTERM"), ended("SIGINT")])).toEqual([
    [0, null],
    [130, null],
  ]);
});

test("a signal ends a server at once that waits for a database which accepts connections and says nothing", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const file = readFileSync(new URL("../../tenants/demo/tenant.yaml", import.meta.url), "utf8");
  mkdirSync(join(cwd, "tenants/demo/markets"), { recursive: true });
  const external = `${file}database: { url: { env: DEMO_DATABASE_URL } }\n`;
  writeFileSync(join(cwd, "tenants/demo/tenant.yaml"), external);
  const names = [...external.matchAll(/env: (DEMO_\w+)/g)].map(([, name]) => name);
  const secrets = Object.fromEntries(names.map((name) => [name, randomBytes(32).toString("hex")]));
  const child = spawn(process.execPath, [MAIN, "serve", "demo"], {
    cwd,
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
      ...secrets,
      DEMO_ADMIN_KEY: `sk_${secrets.DEMO_ADMIN_KEY}`,
      DEMO_PUBLIC_KEY: `pk_${secrets.DEMO_PUBLIC_KEY}`,
      DEMO_STRIPE_SECRET: `whsec_${secrets.DEMO_STRIPE_SECRET}`,
      DEMO_DATABASE_URL: `postgres://pmctl:secret@127.0.0.1:${port}/demo?sslmode=disable`,
    },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  await Promise.race([once(silent, "connection"), ended]);
  child.kill("SIGTERM");
  expect(await ended).toEqual([143, null]);
  silent.close();
});
