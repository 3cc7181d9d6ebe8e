import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { type Account, runAs } from "../../src/postgres/embedded/account.ts";

/** A program of the cluster, which can be killed and started again. */
export class Program {
  readonly #command: readonly [string, ...string[]];
  readonly #account: Account;
  readonly #log: string;
  readonly #namespace: string | undefined;
  #child: ChildProcess | undefined;

  /**
   * @param log the file that its output is added to
   * @param namespace the network namespace that it runs in, where that is another than ours
   */
  constructor(command: readonly [string, ...string[]], account: Account, log: string, namespace?: string) {
    this.#command = command;
    this.#account = account;
    this.#log = log;
    this.#namespace = namespace;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    const child = this.#child;
    return child && child.exitCode === null && child.signalCode === null ? child.pid : undefined;
  }

  /** Starts it unless it runs. */
  start(): void {
    if (this.pid !== undefined) return;
    const log = openSync(this.#log, "a");
    const { cwd, env, uid, gid } = { uid: undefined, gid: undefined, ...runAs(this.#account) };
    const user = uid === undefined || gid === undefined ? {} : { uid, gid };
    const inside = [
      "nsenter",
      `--net=/run/netns/${this.#namespace}`,
      `--setuid=${uid}`,
      `--setgid=${gid}`,
      "--",
    ] as const;
    const [file, ...args] = this.#namespace === undefined ? this.#command : [...inside, ...this.#command];
    // Only root enters a namespace, so `nsenter` changes the user.
    const as = this.#namespace === undefined ? user : {};
    this.#child = spawn(file, args, { cwd, env, ...as, stdio: ["ignore", log, log] });
    closeSync(log);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || this.pid === undefined) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }
}

/** Sends a signal to processes, also to those that are gone. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It ended meanwhile.
    }
  }
}

/** A process and all that it has started, as they are now. */
export async function familyOf(pid: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, "latin1").catch(() => "");
    // The program's name is in brackets and may contain any character.
    const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const family = [pid];
  for (const member of family) for (const [child, parent] of parents) if (parent === member) family.push(child);
  return family.filter((member) => parents.has(member));
}

/**
 * Looks until there is something to see.
 * @throws Error after `timeoutMs`, naming what was waited for
 */
export async function until<T>(what: string, look: () => Promise<T | undefined>, timeoutMs: number): Promise<T> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await delay(100)) {
    const seen = await look().catch(() => undefined);
    if (seen !== undefined) return seen;
  }
  throw new Error(`Not within ${timeoutMs / 1000} s: ${what}`);
}
