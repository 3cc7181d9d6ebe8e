import { Readable, Writable } from "node:stream";
import { main } from "../../src/cli/program.ts";

/** What a command line came to. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Surroundings {
  cwd: string;
  /** All variables that it sees. */
  env: Record<string, string | undefined>;
}

let busy = false;

/** Whether a command runs in this process, which can run only one at a time. */
export const isBusy = () => busy;

/**
 * Runs a command line as its process would, without the seconds that starting processes takes. Signals, pipes and what
 * ends a process that still has something open need a real one. One at a time, because it borrows this process's
 * directory and variables.
 */
export async function inProcess(args: readonly string[], { cwd, env }: Surroundings): Promise<Ended> {
  if (busy) throw new Error("another command runs in this process: one of the two has to be a process");
  busy = true;
  const seen = { stdout: "", stderr: "" };
  const before = { cwd: process.cwd(), env: process.env, write: process.stdout.write };
  const sink = (name: keyof typeof seen) =>
    new Writable({
      write(chunk, _encoding, done) {
        seen[name] += String(chunk);
        done();
      },
    });
  process.chdir(cwd);
  process.env = { ...env };
  // What goes past the output service would be among a process's data, so it is here too.
  process.stdout.write = (chunk: string | Uint8Array) => {
    seen.stdout += String(chunk);
    return true;
  };
  try {
    const code = await main(args, { stdin: Readable.from([]), stdout: sink("stdout"), stderr: sink("stderr") });
    return { code, ...seen };
  } finally {
    process.stdout.write = before.write;
    process.env = before.env;
    process.chdir(before.cwd);
    busy = false;
  }
}
