import "./pmctl.cjs";
import { existsSync } from "node:fs";
import module from "node:module";
import { compileCacheDirectory } from "./pmctl-cache.js";

const root = new URL("../", import.meta.url);

// A checkout whose sources have changed since the build must not run the old code unnoticed. An installed package has none.
// While a shell completes a word, this would take longer than the rest, and old code does no harm.
const completes = process.argv[2] === "completion" && process.argv[3] === "values";
if (!completes && existsSync(new URL("src/", root))) {
  const { isBuildCurrent } = await import("./fingerprint.js");
  if (!isBuildCurrent(root)) {
    process.stderr.write("pmctl: the build in dist/ is missing or older than src/; run `npm run build`.\n");
    process.exit(1);
  }
}

const directory = compileCacheDirectory();
if (directory !== undefined) module.enableCompileCache(directory);
const { run } = await import("../dist/cli/main.js");
await run();
