#!/usr/bin/env node
import { readFileSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";
import { sourceFingerprint } from "./fingerprint.js";

const OLDEST = [24, 15];
const root = new URL("../", import.meta.url);

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `pmctl needs Node.js ${OLDEST.join(".")} or newer, and this is ${process.version}. ` +
      "In its own directory `npx pmctl` uses the right one.\n",
  );
  process.exit(1);
}

// A checkout whose sources have changed since the build must not run the old code unnoticed.
const sources = sourceFingerprint(root);
if (sources !== undefined && sources !== builtFrom()) {
  process.stderr.write("pmctl: the build in dist/ is missing or older than src/; run `npm run build`.\n");
  process.exit(1);
}

// Beside the build it belongs to: Node's own place for it is a /tmp that everybody can write to.
module.enableCompileCache?.(fileURLToPath(new URL("dist/.compile-cache", root)));
const { run } = await import("../dist/cli/main.js");
await run();

function builtFrom() {
  try {
    return readFileSync(new URL("dist/fingerprint", root), "utf8");
  } catch {
    return undefined;
  }
}
