/**
 * Installs the package as an operator does, and runs it: `npm run package`.
 *
 * It packs this checkout, installs the file without scripts for a user who has nothing else, in directories of its own whose
 * names have spaces and letters beyond ASCII, and runs `pmctl demo --once` in an empty directory: with `npm install --global`,
 * then without a home that can be written to, and with `npx`. Each must be done within a minute, and the installed folder be
 * the same afterwards. It asks npm's registry, so no test runs it.
 */
import { hash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { embeddedCluster } from "../../src/postgres/embedded/cluster.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const LIMIT_SECONDS = 60;

const place = await mkdtemp("/tmp/pmctl package ü 世界 ");
await chmod(place, 0o755);
const findings: string[] = [];

/** A digest of every file below a directory, by path. */
async function digestOf(directory: string): Promise<string> {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter(
    (entry) => !entry.isDirectory(),
  );
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  const lines = await Promise.all(paths.map(async (path) => `${path} ${hash("sha256", await readFile(path))}`));
  return hash("sha256", lines.join("\n"));
}

/** In which nothing can be written, by root neither. */
const NO_HOME = "/dev/null";

/** Runs a program in a directory of this name, for a user whose home holds nothing but what earlier runs of the name left. */
async function run(name: string, program: string, ...args: string[]): Promise<string> {
  const home = join(place, `${name} home`);
  await mkdir(home, { recursive: true });
  return runAt(home, name, program, ...args);
}

async function runAt(home: string, name: string, program: string, ...args: string[]): Promise<string> {
  const cwd = join(place, name);
  await mkdir(cwd, { recursive: true });
  const path = [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(":");
  // The registry and its proxy stay those of the caller.
  const env = { PATH: path, HOME: home, XDG_CACHE_HOME: join(home, ".cache") };
  return (await execa(program, args, { cwd, env, stdin: "ignore" })).stdout;
}

async function timed(name: string, work: () => Promise<void>): Promise<void> {
  const began = performance.now();
  try {
    await work();
  } finally {
    await embeddedCluster(join(place, name)).stop();
  }
  const seconds = (performance.now() - began) / 1000;
  console.log(`${name}: ${seconds.toFixed(1)} s`);
  if (seconds > LIMIT_SECONDS) findings.push(`${name} took longer than ${LIMIT_SECONDS} s`);
}

try {
  const { stdout } = await execa("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", place], {
    cwd: ROOT,
  });
  const [packed] = Object.values(JSON.parse(stdout)) as [{ filename: string; size: number; unpackedSize: number }];
  const file = join(place, packed.filename);
  console.log(`${packed.filename}: ${packed.size} bytes, ${packed.unpackedSize} unpacked`);
  const prefix = join(place, "prefix");
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund"];
  await timed("install", async () => {
    await run("install", "npm", "install", "--global", "--prefix", prefix, ...quiet, file);
    const installed = await digestOf(prefix);
    console.log(`pmctl ${await run("install", join(prefix, "bin/pmctl"), "--version")}`);
    await run("install", join(prefix, "bin/pmctl"), "demo", "--once");
    if ((await digestOf(prefix)) !== installed) findings.push("a run changed the installed folder");
  });
  await timed("homeless", async () => {
    await runAt(NO_HOME, "homeless", join(prefix, "bin/pmctl"), "demo", "--once");
  });
  await timed("npx", async () => {
    await run("npx", "npx", "--yes", ...quiet, "--package", file, "pmctl", "demo", "--once");
  });
} finally {
  await rm(place, { recursive: true, force: true });
}
console.log(findings.length === 0 ? "package: installs and runs" : findings.join("\n"));
process.exit(findings.length === 0 ? 0 : 1);
