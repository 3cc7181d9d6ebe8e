import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { inProcess } from "../../support/in-process.ts";
import { newOperator, type OperatorOptions } from "../../support/operator.ts";

/** The process's entry; Node strips its types. */
export const MAIN = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));

/** A process that takes longer hangs. */
const PATIENCE_MS = 150_000;

export interface Finished {
  /** Null when it had to be killed: it hung. */
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd: string;
  env?: Record<string, string>;
  /** Given to stdin, which is closed after it. Without it stdin is closed from the start. */
  input?: string;
  /** Sent as soon as stderr or stdout holds `at`. */
  signal?: { name: NodeJS.Signals; at: string };
}

/** The process's environment, without CI, colours and tenant of the person who runs the tests. */
function environment(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = "", HOME = "", USER = "", NODE_COMPILE_CACHE = "" } = process.env;
  return { PATH, HOME, USER, NODE_COMPILE_CACHE, ...extra };
}

/** Runs pmctl as a process of its own, without a terminal. */
export async function pmctl(args: readonly string[], options: RunOptions): Promise<Finished> {
  const { cwd, env, input, signal } = options;
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: environment(env),
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  child.stdin?.end(input);
  const seen = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      seen[name] += text;
      if (signal && seen[name].includes(signal.at)) child.kill(signal.name);
    });
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  const [code] = await once(child, "close");
  clearTimeout(timer);
  return { code, ...seen };
}

/** Runs pmctl within this process, which is quicker and the same but for streams, signals and the end of the process. */
export function pmctlHere(args: readonly string[], { cwd, env }: Pick<RunOptions, "cwd" | "env">): Promise<Finished> {
  return inProcess(args, { cwd, env: environment(env) });
}

/** A line of bash in which `pmctl` is the program under test. */
export async function shell(line: string, options: Pick<RunOptions, "cwd" | "env">): Promise<Finished> {
  const program = `pmctl() { ${quote(process.execPath)} ${quote(MAIN)} "$@"; }`;
  const child = spawn("bash", ["-c", `${program}\n${line}`], {
    cwd: options.cwd,
    env: environment(options.env),
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PATIENCE_MS,
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export interface TestDirectory {
  cwd: string;
  remove(): Promise<void>;
}

/** An operator's directory without a tenant; its database, should one be started, is stopped with it. */
export async function operatorDirectory(options?: OperatorOptions): Promise<TestDirectory> {
  const { directory, close } = await newOperator(options);
  return { cwd: directory, remove: close };
}

/** What `db status` prints, in this order. */
export const DB_STATUS_FIELDS = [
  "external",
  "reachable",
  "running",
  "dataDir",
  "host",
  "port",
  "url",
  "version",
  "standbys",
];
