/**
 * Upgrades a tenant of the previous release under load: `npm run upgrade [-- [--stop] [COMMIT]]`.
 *
 * The old release makes the tenant, its markets and its money, and serves it while clients trade. This checkout then brings
 * the schema forward with `apply`, while the old server goes on; a new server starts beside it, clients change over, and the
 * old one ends. With `--stop` the old one ends first, and clients repeat their orders until the new one answers. After that each
 * acknowledged trade must be there once, no other may be, and ledger, audit log and plan must be clean.
 *
 * It needs the history of the checkout, for the old sources, and ends with 1 where something is off. Where nothing was released
 * yet, there is nothing to upgrade from: it says so and ends with 0.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";
import { newOperator } from "../support/operator.ts";
import { withRateLimit } from "../support/tenant-text.ts";
import { fund, startLoad } from "./load.ts";
import { layOut, previousRelease } from "./release.ts";

const PHASE_MS = 3000;
const NEW = new URL("../../src/cli/main.ts", import.meta.url).pathname;

const {
  values: { stop },
  positionals: [named],
} = parseArgs({ options: { stop: { type: "boolean" } }, allowPositionals: true });
const commit = named ?? (await previousRelease());
if (commit === undefined) {
  console.log("upgrade: no version has been released yet (no tag v…), so there is nothing to upgrade from");
  process.exit(0);
}
const operator = await newOperator({ cluster: "none" });
const { directory } = operator;
const place = await mkdtemp("/tmp/pmctl-upgrade-");
await chmod(place, 0o755);
const servers: ChildProcess[] = [];
const findings: string[] = [];

async function run(main: string, ...args: string[]): Promise<string> {
  const ended = await execa(process.execPath, [main, ...args], { cwd: directory, reject: false, stdin: "ignore" });
  if (ended.exitCode !== 0)
    throw new Error(`pmctl ${args.join(" ")} ended with ${ended.exitCode}: ${ended.stderr}\n${ended.stdout}`);
  return ended.stdout;
}

async function serve(main: string): Promise<{ url: string; stop(): Promise<void> }> {
  const args = [main, "serve", "acme", "--port", "0", "--ops-port", "0", "-o", "ndjson"];
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ["ignore", "pipe", "inherit"] });
  servers.push(child);
  const [line] = await once(createInterface(child.stdout), "line");
  const { url } = JSON.parse(String(line)) as { url: string };
  return {
    url,
    stop: async () => {
      child.kill("SIGTERM");
      const [code] = await once(child, "exit");
      if (code !== 0) findings.push(`a server ended with ${code}`);
    },
  };
}

/** Runs a check whose exit code says whether all is well. */
async function check(what: string, ...args: string[]): Promise<void> {
  const { exitCode, stdout, stderr } = await operator.run(...args, "-t", "acme", "--via", "db", "-o", "json");
  if (exitCode !== 0) findings.push(`${what}: exit ${exitCode} ${stderr}\n${stdout}`);
}

try {
  const OLD = await layOut(commit, join(place, "old"));
  await run(OLD, "init", "acme", "--yes");
  await operator.edit("acme", (text) =>
    `${withRateLimit(text, 1_000_000)}kyc: { required: false }\n`.replace('["US"]', "[]"),
  );
  await run(OLD, "apply", "acme", "--yes");
  const marketIds: string[] = [];
  for (const kind of ["cpmm", "lmsr"]) {
    const created = await run(
      OLD,
      ...["market", "create", "--question", "Will it hold?", "--category", "test", "--kind", kind, "--p0", "0.5"],
      ...["--close-at", "2040-01-01T00:00:00Z", "--resolution-ref", "test", "--liquidity", "20000", "-o", "json"],
    );
    marketIds.push((JSON.parse(created) as { id: string }).id);
  }
  const secrets = await operator.secrets();
  const old = await serve(OLD);
  await fund(old.url, secrets);

  let url = old.url;
  const load = startLoad(() => url, secrets, marketIds);
  const stage = (name: string) =>
    console.log(
      `${name}: ${load.acknowledged.size} trades, longest gap ${load.longestGapMs()} ms, failed ${JSON.stringify(Object.fromEntries(load.failed))}`,
    );
  await delay(PHASE_MS);
  stage(`served by ${commit}`);
  if (stop) await old.stop();
  const [applied] = JSON.parse(await run(NEW, "apply", "acme", "--yes", "--via", "db", "-o", "json")) as {
    migrations: string[];
  }[];
  stage(`brought forward by ${applied?.migrations.join(", ") || "no migration"}`);
  if (!stop) {
    await delay(PHASE_MS);
    stage("the old server on the new schema");
  }
  const present = await serve(NEW);
  url = present.url;
  if (!stop) await old.stop();
  await delay(PHASE_MS);
  await load.stop();
  stage("served by this checkout");

  await check("reconcile", "reconcile", "--full", "--explain");
  await check("audit verify", "audit", "verify");
  await check("plan", "plan", "acme", "--detailed-exitcode");
  const lines = await run(
    NEW,
    "audit",
    "list",
    "-t",
    "acme",
    "--type",
    "trade.executed",
    "--limit",
    "1000000",
    "-o",
    "ndjson",
  );
  const recorded = lines
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { payload: { tradeId: string } }).payload.tradeId);
  const there = new Set(recorded);
  const acknowledged = [...load.acknowledged.values()];
  if (there.size !== recorded.length) findings.push("a trade is on record twice");
  if (new Set(acknowledged).size !== acknowledged.length) findings.push("two orders were answered with one trade");
  const missing = acknowledged.filter((id) => !there.has(id));
  if (missing.length > 0) findings.push(`${missing.length} acknowledged trades are missing`);
  if (there.size !== acknowledged.length)
    findings.push(`${there.size} trades are on record, ${acknowledged.length} acknowledged`);
  // While nothing serves, clients find nothing that answers.
  if (stop) load.failed.delete("no answer");
  if (load.failed.size > 0)
    findings.push(`answers that clients did not expect: ${JSON.stringify(Object.fromEntries(load.failed))}`);
  await present.stop();
  // A restore compares each row with what the log says of it.
  const backup = join(place, "acme.backup");
  await check("backup", "db", "backup", "--out", backup);
  await check("restore", "db", "restore", backup, "--yes");
} finally {
  for (const server of servers) if (server.exitCode === null) server.kill("SIGKILL");
  await embeddedCluster(directory).stop();
  await rm(directory, { recursive: true, force: true });
  await rm(place, { recursive: true, force: true });
}
console.log(findings.length === 0 ? "upgrade: nothing lost, nothing twice, all exact" : findings.join("\n"));
process.exit(findings.length === 0 ? 0 : 1);
