import { spawn } from "node:child_process";
import { once } from "node:events";
import { get } from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { endedWithBench } from "./endings.ts";

/** The command line as it was built. */
const PROGRAM = fileURLToPath(new URL("../../../bin/pmctl.js", import.meta.url));
const FREE_PORTS = ["--port", "0", "--ops-port", "0", "-o", "ndjson", "--quiet"];

/** A process of pmctl that listens. */
export interface Listener {
  port: number;
  pid: number;
  end(): Promise<void>;
}

export function startShared(directory: string): Promise<Listener> {
  return start(directory, ["up", "--shared", ...FREE_PORTS]);
}

export function startServer(directory: string, tenant: string): Promise<Listener> {
  return start(directory, ["serve", tenant, ...FREE_PORTS]);
}

/** Runs a command to its end. @throws when it does not succeed */
export async function runCommand(directory: string, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { cwd: directory, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  const end = endedWithBench(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const [code] = await ended;
  await end();
  if (code !== 0) throw new Error(`pmctl ${args[0]} ended with ${code}`);
}

async function start(directory: string, args: string[]): Promise<Listener> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { cwd: directory, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const end = endedWithBench(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const [line] = await Promise.race([
    once(createInterface(child.stdout), "line"),
    ended.then(([code]) => Promise.reject(new Error(`pmctl ${args[0]} ended with ${code}`))),
  ]);
  const { url } = JSON.parse(String(line)) as { url: string };
  return {
    port: Number(new URL(url).port),
    pid: child.pid ?? 0,
    end,
  };
}

/** Milliseconds until a tenant's health is told, over a connection of its own. */
export async function firstAnswerMs(port: number, host: string): Promise<number> {
  const startedAt = performance.now();
  const status = await new Promise<number | undefined>((resolve, reject) => {
    get({ host: "127.0.0.1", port, path: "/health", headers: { host }, agent: false }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode));
    }).once("error", reject);
  });
  if (status !== 200) throw new Error(`${host} answered ${status}`);
  return performance.now() - startedAt;
}
