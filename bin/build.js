// Compiles src/ to dist/, bundles what browsers load, makes the pages of /docs and of dist/site, and stamps the build with what it was made from.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { buildAssets } from "./assets.js";
import { sourceFingerprint } from "./fingerprint.js";

const root = new URL("../", import.meta.url);
const PACKED = { format: "esm", target: "esnext", minifyWhitespace: true, minifySyntax: true, lineLimit: 240 };
const write = (name, text) => writeFileSync(new URL(`dist/${name}`, root), text);

rmSync(new URL("dist/", root), { recursive: true, force: true });
const compiler = fileURLToPath(new URL("node_modules/typescript/bin/tsc", root));
execFileSync(process.execPath, [compiler, "-p", fileURLToPath(new URL("tsconfig.json", root))], { stdio: "inherit" });
// The compiler indents by four spaces, which no option changes. Without indents and in shorter syntax, but with every name and in
// lines that a stack trace can name, the package is more than half a megabyte smaller.
for (const path of readdirSync(new URL("dist/", root), { recursive: true, encoding: "utf8" })) {
  if (!path.endsWith(".js")) continue;
  const file = new URL(`dist/${path}`, root);
  writeFileSync(file, transformSync(readFileSync(file, "utf8"), PACKED).code);
}
// Plain data that takes all schemas to compute.
const { wireFacts } = await import("../dist/contract/wire-facts.js");
write("contract/wire-facts.js", `export const wireFacts = ${JSON.stringify(wireFacts)};\n`);
await buildAssets(root);
const { schemaDocument } = await import("../dist/app/schema-documents.js");
write("openapi.json", `${JSON.stringify(await schemaDocument("openapi"))}\n`);
const { buildDocs, buildSite } = await import("./docs.js");
buildDocs(root);
buildSite(root);
write("commit", commit());
// Written last, so that an interrupted build counts as stale.
write("fingerprint", sourceFingerprint(root));

/**
 * The short name of the checked-out commit. Sources within another project's checkout have none; a build without the
 * repository, such as of an image, gets its name from outside.
 */
function commit() {
  if (/^[0-9a-f]{7,40}$/.test(process.env.PMCTL_COMMIT ?? "")) return process.env.PMCTL_COMMIT;
  try {
    const options = { cwd: fileURLToPath(root), encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
    const [folder, hash] = execFileSync("git", ["rev-parse", "--show-prefix", "--short=12", "HEAD"], options).split(
      "\n",
    );
    return folder === "" ? hash : "unknown";
  } catch {
    return "unknown";
  }
}
