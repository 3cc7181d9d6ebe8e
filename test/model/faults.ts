import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FAULTS, type PlantedFault } from "./planted-faults.ts";

/**
 * Plants one fault after the other in a copy of the product, and runs the suite's seeds against it until one finds it:
 *
 *     npm run model:faults                    all of them
 *     npm run model:faults -- --only payout   those whose name has this in it
 *
 * Ends with 1 when a fault is not found, or when its place in the sources is not there any more.
 */
const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });

const ROOT = new URL("../../", import.meta.url).pathname;
const COPIED = ["src", "test", "bin", "migrations", "templates", "package.json", "tsconfig.json", "vitest.config.ts"];

async function copyOfProduct(): Promise<string> {
  const directory = await mkdtemp("/tmp/pmctl-fault-");
  for (const name of COPIED) await cp(join(ROOT, name), join(directory, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"));
  return directory;
}

/** Replaces the one place that a fault names. */
async function plant(directory: string, { file, right, wrong }: PlantedFault): Promise<void> {
  const path = join(directory, file);
  const source = await readFile(path, "utf8");
  if (source.split(right).length !== 2) throw new Error(`${file} does not hold exactly once: ${right}`);
  await writeFile(
    path,
    source.replace(right, () => wrong),
  );
}

/** What the seeds say: the line that names seed and step, and the first line of the departure. */
async function search(directory: string): Promise<{ found: boolean; said: string }> {
  const child = spawn(process.execPath, ["test/model/soak.ts", "--seeds", "1-20", "--no-shrink"], {
    cwd: directory,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let said = "";
  for await (const chunk of child.stdout) said += String(chunk);
  const found = /^seed \d+: step .* departs\n.*(\n.*)?/m.exec(said);
  return { found: found !== null, said: found?.[0] ?? said.trim().split("\n").at(-1) ?? "" };
}

for (const fault of FAULTS.filter(({ name }) => name.includes(values.only))) {
  const directory = await copyOfProduct();
  const began = Date.now();
  try {
    await plant(directory, fault);
    const { found, said } = await search(directory);
    const seconds = Math.round((Date.now() - began) / 1000);
    console.log(
      `${found ? "found " : "MISSED"} ${fault.name} (${seconds} s): ${said.slice(0, 400).replaceAll("\n", " ")}`,
    );
    if (!found) process.exitCode = 1;
  } catch (error) {
    console.log(`CANNOT ${fault.name}: ${(error as Error).message}`);
    process.exitCode = 1;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
