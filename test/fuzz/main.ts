import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openCluster } from "../model/cluster.ts";
import { fileTargets } from "./files.ts";
import { httpTargets } from "./http.ts";
import { type Found, fuzz } from "./run.ts";
import type { Target } from "./target.ts";

/**
 * Feeds every target cases until they are done or one shows something that must not be (see README.md beside this file):
 *
 *     npm run fuzz                                            100,000 cases over all targets
 *     npm run fuzz -- --cases 1000000 --seed 17               more of them, of a seed of one's own
 *     npm run fuzz -- --target tenant-file --cases 50000      one target
 *     npm run fuzz -- --target http --replay /tmp/found       the one case that was found
 *     npm run fuzz -- --target tenant-file --keep seeds       writes what reached new code into a folder
 */
const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    target: { type: "string", multiple: true },
    cases: { type: "string", default: "100000" },
    from: { type: "string", default: "0" },
    replay: { type: "string" },
    keep: { type: "string" },
  },
});

/** What a case of each costs differs by a hundred; the shares keep the parts of a run alike. */
const SHARES: Readonly<Record<string, number>> = { http: 3, webhook: 2, socket: 1 };
const FILE_SHARE = 1.5;

const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
const needsServer = (name: string) => Object.hasOwn(SHARES, name);
const files = fileTargets();
const wanted = values.target ?? [...Object.keys(SHARES), ...files.map(({ name }) => name)];
const cluster = wanted.some(needsServer) ? await openCluster() : undefined;
const targets: Target[] = [...(cluster ? await httpTargets(cluster.template) : []), ...files];
const chosen = targets.filter(({ name }) => wanted.includes(name));
if (chosen.length !== wanted.length) throw new Error(`targets: ${targets.map(({ name }) => name).join(", ")}`);
const shareOf = (name: string) => SHARES[name] ?? FILE_SHARE;
const shares = chosen.reduce((sum, { name }) => sum + shareOf(name), 0);

try {
  for (const target of chosen) if (!(await runTarget(target))) process.exitCode = 1;
} finally {
  for (const target of targets) await target.close?.();
  await cluster?.close();
}

async function runTarget(target: Target): Promise<boolean> {
  const { name } = target;
  if (values.replay !== undefined) {
    await target.run(readFileSync(values.replay));
    console.log(`${name}: ${values.replay} shows nothing`);
    return true;
  }
  const cases = Math.ceil((Number(values.cases) * shareOf(name)) / shares);
  const result = await fuzz(target, {
    seed,
    from: Number(values.from),
    cases,
    onStep: ({ done, heapMb, corpus, blocks }) =>
      process.stderr.write(
        `${name}: ${done} of ${cases}, heap ${heapMb.toFixed(0)} MB, corpus ${corpus}, ${blocks} blocks\n`,
      ),
  });
  const { done, seconds, slowestMs, corpus, found } = result;
  console.log(
    `${name}: ${done} cases in ${seconds.toFixed(0)} s (${Math.round(done / seconds)}/s), slowest ${slowestMs.toFixed(0)} ms, seed ${seed}`,
  );
  if (values.keep !== undefined) keep(values.keep, name, corpus.slice(target.seeds.length));
  if (found) report(name, found);
  return !found;
}

function report(name: string, { index, input, error }: Found): void {
  const file = join(tmpdir(), `pmctl-fuzz-${name}-${seed}-${index}`);
  writeFileSync(file, input);
  console.log(`${name}: case ${index} of seed ${seed}\n${error.stack}\n${input.toString("latin1").slice(0, 2000)}`);
  console.log(`  again: npm run fuzz -- --target ${name} --replay ${file}`);
  console.log(`  or:    npm run fuzz -- --target ${name} --seed ${seed} --cases ${index + 1}`);
}

function keep(folder: string, name: string, inputs: readonly Buffer[]): void {
  mkdirSync(join(folder, name), { recursive: true });
  for (const [index, input] of inputs.entries())
    writeFileSync(join(folder, name, String(index).padStart(4, "0")), input);
}
