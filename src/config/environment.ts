import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { Fault } from "../domain/fault.ts";
import { stateDirectory } from "../state/state-directory.ts";
import { areOwn } from "./selection/own-files.ts";

/** Variables by name. Only this file reads `process.env`; all other code is passed what it needs. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The process's own variables, for child processes and for {@link loadEnvironment}. */
export function processEnvironment(): Environment {
  return process.env;
}

/** Removes variables with exactly these values from the process's own, so that child processes do not inherit them. */
export function forgetVariables(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) if (process.env[name] === value) delete process.env[name];
}

/** The type of the process's warnings about secret files. */
export const SECRET_WARNING = "PmctlSecretFile";

/** `--allow-exec` for child processes and containers: if set to 1, secret references may run programs. */
export const ALLOW_EXEC = "PMCTL_ALLOW_EXEC";

/** The prefix of the variables with the addresses of tenants' servers. */
const URL_PREFIX = "PMCTL_URL_";

/** The variables that `pmctl demo` created for its tenant, relative to the operator's directory. */
export const DEMO_ENVIRONMENT = join(stateDirectory("."), "demo.env");

/**
 * The process's variables, then those of `.env` in the operator's directory, then those of a demo that this user
 * started there (another user's demo could choose the tenant's secrets). A variable set for the process wins even if it
 * is empty, which is how an operator disables a file's value.
 *
 * @throws Fault CONFIG_INVALID if `.env` exists and is unreadable
 */
export function loadEnvironment(directory: string, own: Environment = processEnvironment()): Environment {
  const [demoFile, ownFile] = [join(directory, DEMO_ENVIRONMENT), join(directory, ".env")];
  const demo = areOwn([dirname(demoFile), demoFile]) ? permitted(readDotEnv(demoFile)) : {};
  const file = permitted(readDotEnv(ownFile));
  return { ...demo, ...file, ...own };
}

/**
 * Files in the directory may come from a stranger. They can neither allow programs to run, nor choose the server that
 * receives the process's keys.
 */
function permitted(variables: Environment): Environment {
  const isRefused = (name: string) => name === ALLOW_EXEC || name.startsWith(URL_PREFIX);
  if (!Object.keys(variables).some(isRefused)) return variables;
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !isRefused(name)));
}

/** Lets secret references run programs in this process and its child processes: `--allow-exec`. */
export function allowExec(): void {
  process.env[ALLOW_EXEC] = "1";
}

/** Variables of the files read so far: parsing them again for each of hundreds of tenants takes longer than a plan. */
const parsed = new Map<string, { text: string; variables: Environment }>();

function readDotEnv(file: string): Environment {
  try {
    const text = readFileSync(file, "utf8");
    const known = parsed.get(file);
    if (known?.text === text) return known.variables;
    const variables = parseEnv(text);
    parsed.set(file, { text, variables });
    return variables;
  } catch (cause) {
    if (isErrno(cause) && cause.code === "ENOENT") return {};
    throw new Fault("CONFIG_INVALID", `${file} cannot be read (${isErrno(cause) ? cause.code : "not a file"})`, {
      cause,
    });
  }
}

/** Whether something thrown by `node:fs` carries the system's error code. */
export function isErrno(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error;
}

/** `PMCTL_TENANT`: the tenant of a command without `-t`. */
export function defaultTenant(environment = processEnvironment()): string | undefined {
  return environment.PMCTL_TENANT || undefined;
}

/**
 * The server for a tenant's commands without `--url`: `PMCTL_URL_ACME` for `acme`. Each tenant has its own variable, so
 * that no tenant's key is sent to another tenant's server. Only the process's own variables count: `.env` may come with
 * a stranger's pull request.
 */
export function serverUrl(tenant: string, own: Environment = processEnvironment()): string | undefined {
  return own[serverUrlVariable(tenant)] || undefined;
}

/** Whether `.env` sets the variable of the tenant's server, which has no effect in a file. */
export function isServerUrlInFile(tenant: string, directory: string): boolean {
  return Boolean(readDotEnv(join(directory, ".env"))[serverUrlVariable(tenant)]);
}

export function serverUrlVariable(tenant: string): string {
  return `${URL_PREFIX}${environmentPrefix(tenant)}`;
}

/** `ACME_READ_KEY`: a key with the scope `read`, the only secret that a planning pipeline needs. */
export function readKey(tenant: string, environment: Environment): string | undefined {
  return environment[readKeyVariable(tenant)] || undefined;
}

export function readKeyVariable(tenant: string): string {
  return `${environmentPrefix(tenant)}_READ_KEY`;
}

/** The prefix of a tenant's variables: `MY_SHOP` for `my-shop`. */
export function environmentPrefix(tenant: string): string {
  return tenant.toUpperCase().replaceAll("-", "_");
}

/** The tenant id with this {@link environmentPrefix}. */
export function prefixedTenant(prefix: string): string {
  return prefix.toLowerCase().replaceAll("_", "-");
}

/**
 * The ids of the tenants that may own a variable, by its prefixes. The longest comes first, because `ACME_EU_KEY` does
 * not belong to `acme` if a tenant `acme-eu` exists.
 */
export function possibleOwners(name: string): string[] {
  const ids: string[] = [];
  for (let end = name.lastIndexOf("_"); end > 0; end = name.lastIndexOf("_", end - 1))
    ids.push(prefixedTenant(name.slice(0, end)));
  return ids;
}

/** `PMCTL_OUTPUT`: the format of a command without `-o`. */
export function usualFormat(environment = processEnvironment()): string | undefined {
  return environment.PMCTL_OUTPUT || undefined;
}

/** False if Node is configured to accept any certificate. */
export function certificatesAreVerified(environment = processEnvironment()): boolean {
  return environment.NODE_TLS_REJECT_UNAUTHORIZED !== "0";
}

/** `npx ` if npx runs this process: then pmctl is not on the PATH of another terminal. */
export function commandPrefix(): string {
  return processEnvironment().npm_command === "exec" ? "npx " : "";
}

/** Whether `NO_COLOR` is set to any value, as no-color.org defines. */
export function colorIsOff(environment = processEnvironment()): boolean {
  return Boolean(environment.NO_COLOR);
}

/** The program that shows long output: `PMCTL_PAGER`, else `PAGER`, else `less`; undefined for `cat` or an empty value. */
export function pagerCommand(environment = processEnvironment()): string | undefined {
  const command = (environment.PMCTL_PAGER ?? environment.PAGER ?? "less").trim();
  return command === "" || command === "cat" ? undefined : command;
}

/** Whether pmctl runs on a build server, where no prompt can be answered. */
export function isCi(environment = processEnvironment()): boolean {
  return Boolean(environment.CI) && environment.CI !== "false";
}

/** The file whose Markdown GitHub shows on the page of a workflow run (`GITHUB_STEP_SUMMARY`). */
export function stepSummaryFile(environment = processEnvironment()): string | undefined {
  return environment.GITHUB_STEP_SUMMARY || undefined;
}
