import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { copyOfProduct } from "./copy-of-product.ts";
import { FAULTS, type PlantedFault } from "./planted-faults.ts";

/**
 * Plants one fault after the other in a copy of the product, and runs the suite's seeds against it until one finds it:
 *
 *     npm run model:faults                    all of them
 *     npm run model:faults -- --only payout   those whose name has this in it
 *
 * Ends with 1 when a fault is not found, when its place in the sources is not there any more, or when the seeds did not run.
 */
const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });

/** Characters of a departure or an error. */
const SHOWN = 400;

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

/**
 * Runs the seeds: the line that names seed and step with the first line of the departure, or undefined if all agree.
 * @throws Error with the last lines of what was written, if the seeds did not run to their end
 */
async function search(directory: string): Promise<string | undefined> {
  const child = spawn(process.execPath, ["test/model/soak.ts", "--seeds", "1-20", "--no-shrink"], {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [said, complained] = ["", ""];
  child.stdout.on("data", (chunk) => {
    said += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    complained += String(chunk);
  });
  await once(child, "close");
  const found = /^seed \d+: step .* departs\n.*(\n.*)?/m.exec(said)?.[0];
  if (found === undefined && child.exitCode !== 0)
    throw new Error(`the seeds did not run: ${`${said}\n${complained}`.trim().slice(-SHOWN)}`);
  return found;
}

for (const fault of FAULTS.filter(({ name }) => name.includes(values.only))) {
  const directory = await copyOfProduct();
  const began = Date.now();
  try {
    await plant(directory, fault);
    const found = await search(directory);
    const seconds = Math.round((Date.now() - began) / 1000);
    const departure = found?.slice(0, SHOWN).replaceAll("\n", " ") ?? "all seeds agree";
    console.log(`${found ? "found " : "MISSED"} ${fault.name} (${seconds} s): ${departure}`);
    if (!found) process.exitCode = 1;
  } catch (error) {
    console.log(`CANNOT ${fault.name}: ${(error as Error).message}`);
    process.exitCode = 1;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
