import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseEnv } from "node:util";
import { execa } from "execa";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { placeFreshCluster } from "./fresh-cluster.ts";
import { inProcess, isBusy } from "./in-process.ts";
import { placeOfDatabases } from "./memory-place.ts";

const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;

/** What serves starts its process over with a smaller heap, which must not happen to the tests' own. */
const OWN_PROCESS = ["serve", "up", "demo"];

/** A directory as an operator has it, with the command line run in it. */
export interface Operator {
  directory: string;
  /** The secrets of `.env`. */
  secrets(): Promise<Record<string, string>>;
  /**
   * Runs a command to its end, and never throws for an exit code. Within this process, unless another one is at it or
   * the command takes over its process. Texts come without their last line break.
   */
  run(...args: string[]): Promise<{ stdout: string; stderr: string; exitCode: number | undefined }>;
  /** The same with variables of its own. */
  runWith(env: Record<string, string>, ...args: string[]): ReturnType<Operator["run"]>;
  /** Runs a command of another build, by its command line's main file, in a process of its own. */
  runBuild(main: string, ...args: string[]): ReturnType<Operator["run"]>;
  /** Starts `serve` on free ports, with these options, and waits until it listens. */
  serve(tenant: string, ...flags: string[]): Promise<ServerProcess>;
  /** The same with another build, by its command line's main file. */
  serveBuild(main: string, tenant: string, ...flags: string[]): Promise<ServerProcess>;
  /** Replaces text in the tenant file. */
  edit(tenant: string, change: (text: string) => string): Promise<void>;
  /** Stops the database and removes everything. */
  close(): Promise<void>;
}

/**
 * A market that closes soon. What has to lie in the future when it arrives may have passed by then on a busy machine; the
 * next try leaves it more time.
 * @param args the command line that creates it, with `-o json`
 */
export async function marketThatCloses(
  { run }: Operator,
  args: (closeAt: string) => string[],
): Promise<{ id: string; closeAt: number }> {
  for (let leadMs = 2500; ; leadMs *= 2) {
    const closeAt = Date.now() + leadMs;
    const { exitCode, stdout, stderr } = await run(...args(new Date(closeAt).toISOString()));
    if (exitCode === 0) return { id: (JSON.parse(stdout) as { id: string }).id, closeAt };
    if (!stderr.includes("must be in the future") || leadMs > 100_000) throw new Error(stderr);
  }
}

export interface ServerProcess {
  url: string;
  opsUrl: string;
  /** What it has said on stderr so far. */
  errors(): string;
  child: ChildProcess;
  /** Resolves when the process is gone. */
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

export interface OperatorOptions {
  /** The embedded database: files that wait for their first start, or none, so that a command's first need creates them. */
  cluster?: "fresh" | "none";
}

/** An operator's directory without a tenant, which an unprivileged database server can reach, as every ordinary one. */
export async function newOperator({ cluster = "fresh" }: OperatorOptions = {}): Promise<Operator> {
  const directory = await mkdtemp(`${await placeOfDatabases()}/pmctl-operator-`);
  await chmod(directory, 0o755);
  if (cluster === "fresh") await placeFreshCluster(directory);
  const servers = new Set<ChildProcess>();
  return {
    directory,
    secrets: async () => parseEnv(await readFile(join(directory, ".env"), "utf8")) as Record<string, string>,
    run: (...args) => run(directory, {}, args),
    runWith: (env, ...args) => run(directory, env, args),
    runBuild: (main, ...args) => runProcess(main, directory, {}, args),
    serve: (tenant, ...flags) => serve(MAIN, directory, tenant, flags, servers),
    serveBuild: (main, tenant, ...flags) => serve(main, directory, tenant, flags, servers),
    edit: async (tenant, change) => {
      const file = join(directory, "tenants", tenant, "tenant.yaml");
      await writeFile(file, change(await readFile(file, "utf8")));
    },
    close: async () => {
      for (const child of servers) child.kill("SIGKILL");
      await embeddedCluster(directory).stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function run(directory: string, env: Record<string, string>, args: string[]): ReturnType<Operator["run"]> {
  const result = await runCommand(directory, env, args);
  const [command, tenant] = args;
  if (command === "init" && tenant) await asForRealMoney(join(directory, "tenants", tenant));
  return result;
}

/**
 * A tenant that `init` has just written, as before real money: identities are checked, a jurisdiction is blocked, and no market
 * opens. A test that is about the files of `init` reads `planInit`.
 */
async function asForRealMoney(folder: string): Promise<void> {
  const market = join(folder, "markets/example.yaml");
  const isNew = await rename(market, `${market}.sample`).then(
    () => true,
    () => false,
  );
  if (!isNew) return;
  await rm(join(folder, "tests/example.yaml"), { force: true });
  const file = join(folder, "tenant.yaml");
  const text = await readFile(file, "utf8");
  const strict = text
    .replace(/^kyc: \{ required: false \} #.*\n/m, "")
    .replace(/^( {2}required: )false( # before real money)/m, "$1true$2")
    .replace(/^( {2}jurisdictions: \{ allowed: \[\], blocked: )\[\]( \} #)/m, '$1["US"]$2')
    .replace(/^( {4}blocked: )\[\]( #)/m, '$1["US"]$2');
  await writeFile(file, strict);
}

async function runCommand(directory: string, env: Record<string, string>, args: string[]): ReturnType<Operator["run"]> {
  if (isBusy() || args.some((word) => OWN_PROCESS.includes(word))) return runProcess(MAIN, directory, env, args);
  const { code, stdout, stderr } = await inProcess(args, { cwd: directory, env: { ...process.env, ...env } });
  return { stdout: stdout.replace(/\n$/, ""), stderr: stderr.replace(/\n$/, ""), exitCode: code };
}

async function runProcess(
  main: string,
  directory: string,
  env: Record<string, string>,
  args: string[],
): ReturnType<Operator["run"]> {
  const { stdout, stderr, exitCode } = await execa(process.execPath, [main, ...args], {
    cwd: directory,
    env,
    reject: false,
    stdin: "ignore",
    timeout: 150_000,
  });
  return { stdout, stderr, exitCode };
}

async function serve(
  main: string,
  directory: string,
  tenant: string,
  flags: string[],
  servers: Set<ChildProcess>,
): Promise<ServerProcess> {
  const args = [main, "serve", tenant, "--port", "0", "--ops-port", "0", "-o", "ndjson", ...flags];
  const child = spawn(process.execPath, args, {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
  });
  servers.add(child);
  child.once("exit", () => servers.delete(child));
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const lines = createInterface(child.stdout);
  const [line] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => Promise.reject(new Error(`serve ended: ${errors}`))),
  ]);
  const { url, opsUrl } = JSON.parse(String(line)) as { url: string; opsUrl: string };
  return {
    url,
    opsUrl,
    errors: () => errors,
    child,
    kill: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      child.kill(signal);
      const [code] = await once(child, "exit");
      return code;
    },
  };
}

/** Posts a provider's webhook, signed with the tenant's secret. */
export async function postWebhook(url: string, path: string, secret: string, event: object): Promise<Response> {
  const body = JSON.stringify(event);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-signature": signature },
    body,
  });
}
