// Builds the package for publishers from src/embed/host/package/ to dist/embed-package/, or to the folder that is named: one module
// per export, with its types.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = new URL("../", import.meta.url);
const path = (name) => fileURLToPath(new URL(name, root));

const MODULES = ["index", "react", "vue"];
/** Types that all of them share, and where the sources have them. */
const SHARED = { types: "host/types", protocol: "protocol" };

/** @param place the folder that becomes the package */
export async function buildEmbedPackage(place = path("dist/embed-package")) {
  const out = join(place, "dist");
  rmSync(place, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  await build({
    entryPoints: MODULES.map((name) => path(`src/embed/host/package/${name}.ts`)),
    outdir: out,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    external: ["react", "vue"],
  });
  const typed = mkdtempSync(join(tmpdir(), "prediction-markets-embed-"));
  const options = [
    "--noEmit",
    "false",
    "--declaration",
    "--emitDeclarationOnly",
    "--removeComments",
    "false",
    "--outDir",
    typed,
  ];
  execFileSync(process.execPath, [
    path("node_modules/typescript/bin/tsc"),
    ...["-p", path("src/embed/tsconfig.json"), "--rootDir", path("src"), ...options],
  ]);
  const declare = (name, from) => {
    const text = readFileSync(join(typed, `embed/${from}.d.ts`), "utf8");
    writeFileSync(join(out, `${name}.d.ts`), text.replaceAll(/"\.[\w./]*\/(\w+)\.ts"/g, '"./$1.js"'));
  };
  for (const name of MODULES) declare(name, `host/package/${name}`);
  for (const [name, from] of Object.entries(SHARED)) declare(name, from);
  for (const name of ["package.json", "README.md"])
    copyFileSync(path(`src/embed/host/package/${name}`), join(place, name));
  rmSync(typed, { recursive: true, force: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildEmbedPackage(process.argv[2]);
