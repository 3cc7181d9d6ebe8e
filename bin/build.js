// Compiles src/ to dist/, bundles what browsers load, and stamps the build with what it was made from.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildAssets } from "./assets.js";
import { sourceFingerprint } from "./fingerprint.js";

const root = new URL("../", import.meta.url);
rmSync(new URL("dist/", root), { recursive: true, force: true });
const compiler = fileURLToPath(new URL("node_modules/typescript/bin/tsc", root));
execFileSync(process.execPath, [compiler, "-p", fileURLToPath(new URL("tsconfig.json", root))], { stdio: "inherit" });
await buildAssets(root);
// Last, so that an interrupted build is a stale one.
writeFileSync(new URL("dist/fingerprint", root), sourceFingerprint(root));
