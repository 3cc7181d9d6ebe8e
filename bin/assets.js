// Bundles src/embed/ to dist/assets/: the loader that publishers include, and the frame's script and style.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Names by role, so that the server finds what was built: see `src/server/assets.ts`. */
export async function buildAssets(root) {
  const path = (name) => fileURLToPath(new URL(name, root));
  const bundle = async (entry, options) => {
    const { outputFiles } = await build({
      entryPoints: [path(entry)],
      bundle: true,
      minify: true,
      write: false,
      target: "es2022",
      legalComments: "none",
      ...options,
    });
    return outputFiles[0].text;
  };
  const [loader, script, style, refusal] = await Promise.all([
    bundle("src/embed/loader.ts", { format: "iife" }),
    bundle("src/embed/frame.tsx", { format: "iife", jsx: "automatic", jsxImportSource: "preact" }),
    bundle("src/embed/frame.css", {}),
    bundle("src/embed/refusal.ts", { format: "iife" }),
  ]);
  mkdirSync(new URL("dist/assets/", root), { recursive: true });
  const licenses = ["preact", "uplot"].map((name) => readFileSync(path(`node_modules/${name}/LICENSE`), "utf8"));
  const files = {
    "embed.js": loader,
    "frame.js": script,
    "frame.css": style,
    "refusal.js": refusal,
    "LICENSES.txt": licenses.join("\n"),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(new URL(`dist/assets/${name}`, root), text);
}
