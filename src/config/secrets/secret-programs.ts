import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { isBelow, realPlace } from "../bounded-file.ts";
import { ALLOW_EXEC, type Environment, possibleOwners, processEnvironment } from "../environment.ts";
import { operatorPrograms } from "../operator-file.ts";
import type { SecretReference } from "../schema/scalars.ts";

type ExecReference = Extract<SecretReference, { exec: string[] }>;
type SopsReference = Extract<SecretReference, { sops: string }>;

const MAX_SECRET_BYTES = 64 * 1024;
/** A password manager may wait for a finger on a sensor. */
const TIMEOUT_MS = 30_000;

export interface ProgramContext {
  environment: Environment;
  /** Where programs run, and what files are relative to: the tenant's folder. */
  directory: string;
  /** Other folders that files may lie below, absolute. */
  roots?: readonly string[] | undefined;
  /** How long a program may take; 30 s unless given. */
  timeoutMs?: number | undefined;
  /** The variables of this process; programs get no others. */
  own?: Environment | undefined;
}

/** What programs get of any process: where they, their keys and their settings lie. */
const COMMON_VARIABLES = [
  ...["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"],
  ...["XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "GNUPGHOME", "SSH_AUTH_SOCK", "SOPS_AGE_KEY_FILE"],
];

/**
 * The variables of a tenant's programs: a short list of the process's own, those that `pmctl.yaml` adds, and the tenant's.
 * None of `.env`, whose author need not be who may run programs, and none of another tenant.
 * @param directory the tenant's folder, absolute
 */
export function programEnvironment(directory: string, own: Environment = processEnvironment()): Environment {
  const [tenants, tenant] = [dirname(directory), basename(directory)];
  const isTenant = (id: string) => id === tenant || existsSync(join(tenants, id, "tenant.yaml"));
  const listed = new Set([...COMMON_VARIABLES, ...operatorPrograms(dirname(tenants)).env]);
  const isGiven = (name: string) => listed.has(name) || possibleOwners(name).find(isTenant) === tenant;
  return Object.fromEntries(Object.entries(own).filter(([name]) => isGiven(name)));
}

/**
 * What a program of the tenant file prints, trimmed. A tenant file may come with a stranger's pull request, so its
 * programs run only when the operator passes --allow-exec.
 *
 * @throws Error with a sentence that holds neither output nor arguments
 */
export function readFromProgram({ exec: [program = "", ...args] }: ExecReference, context: ProgramContext): string {
  if (context.environment[ALLOW_EXEC] !== "1")
    throw new Error(`the secret comes from the program ${program}: add --allow-exec to let pmctl run it`);
  return run(program, args, context).trim();
}

/**
 * A value of a SOPS file, decrypted with whatever keys `sops` finds. Where `pmctl.yaml` says which program that is, it needs no
 * `--allow-exec`: neither the tenant file nor the `PATH` chooses it then.
 *
 * @throws Error as {@link readFromProgram}
 */
export function readFromSops({ sops, path }: SopsReference, context: ProgramContext): string {
  // Absolute, so that a leading dash makes no option; links are followed, so that swapping one later changes nothing.
  const file = realPlace(resolve(context.directory, sops));
  if (!isBelow(file, [context.directory, ...(context.roots ?? [])]))
    throw new Error(`the SOPS file ${sops} leads out of the tenant's folder and of what pmctl.yaml lists`);
  const fixed = operatorPrograms(dirname(dirname(context.directory))).sops;
  if (fixed === undefined && context.environment[ALLOW_EXEC] !== "1")
    throw new Error(
      `the secret is decrypted by the program sops: add --allow-exec to let pmctl run it, or say where it is in pmctl.yaml under programs.sops`,
    );
  return run(fixed ?? "sops", ["decrypt", "--extract", sopsPath(path), file], context).replace(/\r?\n$/, "");
}

/** `stripe.keys[0]` as SOPS writes it: `["stripe"]["keys"][0]`. A path that begins with a bracket is in that form already. */
export function sopsPath(path: string): string {
  if (path.startsWith("[")) return path;
  const steps = path.match(/\[\d+\]|[^.[\]]+/g) ?? [];
  return steps.map((step) => (step.startsWith("[") ? step : `[${JSON.stringify(step)}]`)).join("");
}

/** The program's error output is never repeated, because it may hold the secret. */
function run(program: string, args: readonly string[], { directory, timeoutMs, own }: ProgramContext): string {
  const limit = timeoutMs ?? TIMEOUT_MS;
  // Loaded only here, because few commands run a program and every command would wait for the import.
  const { execaSync } = createRequire(import.meta.url)("execa") as typeof import("execa");
  const result = execaSync(program, args, {
    cwd: directory,
    env: programEnvironment(directory, own),
    extendEnv: false,
    reject: false,
    stdin: "ignore",
    stripFinalNewline: false,
    timeout: limit,
    killSignal: "SIGKILL",
    maxBuffer: MAX_SECRET_BYTES,
  });
  if (result.timedOut) throw new Error(`the program ${program} gave no secret within ${limit / 1000} s`);
  if (result.isMaxBuffer) throw new Error(`the program ${program} printed more than 64 KiB`);
  if (result.exitCode === undefined && result.signal === undefined)
    throw new Error(`the program ${program} cannot be run (${result.code ?? "not found"})`);
  if (result.failed) {
    const how = result.exitCode === undefined ? `signal ${result.signal}` : `code ${result.exitCode}`;
    throw new Error(`the program ${program} ended with ${how}: run it by hand to see why`);
  }
  return result.stdout;
}
