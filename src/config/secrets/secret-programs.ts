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
/** A password manager may wait for a fingerprint. */
const TIMEOUT_MS = 30_000;

export interface ProgramContext {
  environment: Environment;
  /** The working directory of programs, to which files are relative: the tenant's folder. */
  directory: string;
  /** Further folders that may contain files, absolute. */
  roots?: readonly string[] | undefined;
  /** The timeout of a program; 30 s by default. */
  timeoutMs?: number | undefined;
  /** The variables of this process; programs get no others. */
  own?: Environment | undefined;
}

/** The variables for the places of programs, keys and settings, which every program gets. */
const COMMON_VARIABLES = [
  ...["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"],
  ...["XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "GNUPGHOME", "SSH_AUTH_SOCK", "SOPS_AGE_KEY_FILE"],
];

/**
 * The variables of a tenant's programs: a short list of the process's own, those added in `pmctl.yaml`, and the tenant's.
 * Variables of `.env` are excluded, because its author may not be allowed to run programs, and so are those of other tenants.
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
 * The trimmed output of a program in the tenant file. A tenant file may come with a stranger's pull request, so its
 * programs run only if the operator passes --allow-exec.
 *
 * @throws Error with a message that contains neither output nor arguments
 */
export function readFromProgram({ exec: [program = "", ...args] }: ExecReference, context: ProgramContext): string {
  if (context.environment[ALLOW_EXEC] !== "1")
    throw new Error(`the secret comes from the program ${program}: add --allow-exec to let pmctl run it`);
  return run(program, args, context).trim();
}

/**
 * A decrypted value of a SOPS file, with any keys that `sops` finds. If `pmctl.yaml` states the path of `sops`,
 * `--allow-exec` is not needed: then neither the tenant file nor the `PATH` chooses the program.
 *
 * @throws Error as {@link readFromProgram}
 */
export function readFromSops({ sops, path }: SopsReference, context: ProgramContext): string {
  // Absolute, so that a leading dash is not an option. Links are resolved, so that swapping one later has no effect.
  const file = realPlace(resolve(context.directory, sops));
  if (!isBelow(file, [context.directory, ...(context.roots ?? [])]))
    throw new Error(`the SOPS file ${sops} leads out of the tenant's folder and of what pmctl.yaml lists`);
  const fixed = operatorPrograms(dirname(dirname(context.directory))).sops;
  if (fixed === undefined && context.environment[ALLOW_EXEC] !== "1")
    throw new Error(
      `the secret is decrypted by the program sops: add --allow-exec to let pmctl run it, or state its path in pmctl.yaml under programs.sops`,
    );
  return run(fixed ?? "sops", ["decrypt", "--extract", sopsPath(path), file], context).replace(/\r?\n$/, "");
}

/** `stripe.keys[0]` in SOPS notation: `["stripe"]["keys"][0]`. A path that begins with a bracket already has this form. */
export function sopsPath(path: string): string {
  if (path.startsWith("[")) return path;
  const steps = path.match(/\[\d+\]|[^.[\]]+/g) ?? [];
  return steps.map((step) => (step.startsWith("[") ? step : `[${JSON.stringify(step)}]`)).join("");
}

/** The program's error output is never repeated, because it may contain the secret. */
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
  if (result.timedOut) throw new Error(`the program ${program} returned no secret within ${limit / 1000} s`);
  if (result.isMaxBuffer) throw new Error(`the program ${program} printed more than 64 KiB`);
  if (result.exitCode === undefined && result.signal === undefined)
    throw new Error(`the program ${program} cannot be run (${result.code ?? "not found"})`);
  if (result.failed) {
    const how = result.exitCode === undefined ? `signal ${result.signal}` : `code ${result.exitCode}`;
    throw new Error(`the program ${program} ended with ${how}: run it by hand to see why`);
  }
  return result.stdout;
}
