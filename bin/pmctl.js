import "./pmctl.cjs";
import { existsSync, readFileSync } from "node:fs";
import module from "node:module";
import { compileCacheDirectory } from "./pmctl-cache.js";

const root = new URL("../", import.meta.url);

// A checkout whose sources have changed since the build must not run the old code unnoticed. An installed package has none.
// While a shell completes a word, reading all sources would take longer than the rest, and old code does no harm.
const completes = process.argv[2] === "completion" && process.argv[3] === "values";
if (!completes && existsSync(new URL("src/", root))) {
  const { sourceFingerprint } = await import("./fingerprint.js");
  if (sourceFingerprint(root) !== builtFrom()) {
    process.stderr.write("pmctl: the build in dist/ is missing or older than src/; run `npm run build`.\n");
    process.exit(1);
  }
}

const directory = compileCacheDirectory();
if (directory !== undefined) module.enableCompileCache(directory);
const { run } = await import("../dist/cli/main.js");
await run();

function builtFrom() {
  try {
    return readFileSync(new URL("dist/fingerprint", root), "utf8");
  } catch {
    return undefined;
  }
}
