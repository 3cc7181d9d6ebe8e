/**
 * Upgrades a tenant of the previous release under load: `npm run upgrade [-- [--stop] [COMMIT]]`.
 *
 * The old release makes the tenant, its markets and its money, and serves it while clients trade. This checkout then brings
 * the schema forward with `apply`, while the old server goes on. The old release's commands refuse the newer schema from then
 * on. A second old server either begins on it with a notice, and takes trades, or refuses it. A new server starts beside the
 * old one, and clients trade at both while markets end in ways that the old one does not know. Then clients change over, and
 * the old one ends. With `--stop` the old one ends first, and clients repeat their orders until the new one answers. After that
 * each acknowledged trade must be there once, no other may be, and ledger, audit log and plan must be clean.
 *
 * It needs the history of the checkout, for the old sources, and ends with 1 where something is off. Without a tag `v…` it
 * begins from the commit that `release.ts` finds.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { newOperator, type ServerProcess } from "../support/operator.ts";
import { withoutChecks, withRateLimit } from "../support/tenant-text.ts";
import { fund, startLoad } from "./load.ts";
import { endMarkets } from "./mixed.ts";
import { layOut, migrationsSince, previousRelease } from "./release.ts";

const PHASE_MS = 3000;
const NEW = new URL("../../src/cli/main.ts", import.meta.url).pathname;
/** Part of the sentence with which a build refuses a schema, or begins on it. */
const NEWER = "newer than this pmctl";

const {
  values: { stop },
  positionals: [named],
} = parseArgs({ options: { stop: { type: "boolean" } }, allowPositionals: true });
const commit = named ?? (await previousRelease());
if (commit === undefined) {
  console.log("upgrade: this checkout has no history, so there is no release to upgrade from");
  process.exit(1);
}
const operator = await newOperator({ cluster: "none" });
const place = await mkdtemp("/tmp/pmctl-upgrade-");
await chmod(place, 0o755);
const findings: string[] = [];

/** @throws Error unless the command ends with 0 */
async function run(main: string, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await operator.runBuild(main, ...args);
  if (exitCode !== 0) throw new Error(`pmctl ${args.join(" ")} ended with ${exitCode}: ${stderr}\n${stdout}`);
  return stdout;
}

async function end(server: ServerProcess): Promise<void> {
  const code = await server.kill("SIGTERM");
  if (code !== 0) findings.push(`a server ended with ${code}: ${server.errors()}`);
}

/** Runs a check whose exit code says whether all is well. */
async function check(what: string, ...args: string[]): Promise<void> {
  const { exitCode, stdout, stderr } = await operator.run(...args, "-t", "acme", "--via", "db", "-o", "json");
  if (exitCode !== 0) findings.push(`${what}: exit ${exitCode} ${stderr}\n${stdout}`);
}

try {
  const OLD = await layOut(commit, join(place, "old"));
  const migrations = await migrationsSince(join(place, "old"));
  await run(OLD, "init", "acme", "--yes");
  await operator.edit("acme", (text) => withoutChecks(withRateLimit(text, 1_000_000)));
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
  const old = await operator.serveBuild(OLD, "acme");
  await fund(old.url, secrets, 20);

  let urls = [old.url];
  let turn = 0;
  const load = startLoad(() => urls[turn++ % urls.length] as string, secrets, marketIds);
  const others: string[] = [];
  const stage = (name: string) =>
    console.log(
      `${name}: ${load.acknowledged.size} trades, longest gap ${load.longestGapMs()} ms, failed ${JSON.stringify(Object.fromEntries(load.failed))}`,
    );
  await delay(PHASE_MS);
  stage(`served by ${commit}`);
  if (stop) await end(old);
  const [applied] = JSON.parse(await run(NEW, "apply", "acme", "--yes", "--via", "db", "-o", "json")) as {
    migrations: string[];
  }[];
  stage(`brought forward by ${applied?.migrations.join(", ") || "no migration"}`);
  if (applied?.migrations.join() !== migrations.join())
    findings.push(`expected the migrations ${migrations.join(", ")}`);
  if (!stop) {
    await delay(PHASE_MS);
    stage("the old server on the new schema");
  }
  if (!stop && migrations.length > 0) {
    const asked = await operator.runBuild(OLD, "market", "list", "-t", "acme", "--via", "db");
    if (asked.exitCode === 0 || !asked.stderr.includes(NEWER))
      findings.push(`an old command on the new schema: exit ${asked.exitCode} ${asked.stderr}`);
    const again = await operator.serveBuild(OLD, "acme").catch((error: Error) => error);
    const said = again instanceof Error ? again.message : again.errors();
    if (!said.includes(NEWER)) findings.push(`an old server that starts on the new schema: ${said}`);
    if (!(again instanceof Error)) {
      urls = [old.url, again.url];
      await delay(PHASE_MS);
      urls = [old.url];
      await end(again);
    }
    stage(`another old server ${again instanceof Error ? "refused the new schema" : "began on the new schema"}`);
  }
  const present = await operator.serve("acme");
  if (!stop) {
    urls = [old.url, present.url];
    const ended = await endMarkets({ operator, secrets, old: old.url, present: present.url });
    findings.push(...ended.findings);
    others.push(...ended.tradeIds);
    const unknown = [...new Set(ended.unknownToOld)].map((path) => path.replace(/mkt_\w+/, ":id"));
    if (unknown.length > 0) console.log(`the old server cannot show ${[...new Set(unknown)].join(", ")}`);
    await delay(PHASE_MS);
    stage("both servers, and markets that ended");
  }
  urls = [present.url];
  if (!stop) await end(old);
  await delay(PHASE_MS);
  await load.stop();
  stage("served by this checkout");

  await check("reconcile", "reconcile", "--full", "--explain");
  await check("audit verify", "audit", "verify");
  await check("replay", "replay");
  await check("plan", "plan", "acme", "--detailed-exitcode");
  const list = ["audit", "list", "-t", "acme", "--type", "trade.executed", "--limit", "1000000", "-o", "ndjson"];
  const recorded = (await run(NEW, ...list))
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { payload: { tradeId: string } }).payload.tradeId);
  const there = new Set(recorded);
  const acknowledged = [...load.acknowledged.values(), ...others];
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
  await end(present);
  // A restore compares each row with what the log says of it.
  const backup = join(place, "acme.backup");
  await check("backup", "db", "backup", "--out", backup);
  await check("restore", "db", "restore", backup, "--yes");
} finally {
  await operator.close();
  await rm(place, { recursive: true, force: true });
}
console.log(findings.length === 0 ? "upgrade: nothing lost, nothing twice, all exact" : findings.join("\n"));
process.exit(findings.length === 0 ? 0 : 1);
