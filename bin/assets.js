// Bundles src/embed/ to dist/assets/: the loader that publishers include, and the frame's script and style.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** package.json says that no module has side effects, which is true of what it publishes; this one has, and is for them alone. */
const keepLocale = {
  name: "keep-locale",
  setup({ onResolve }) {
    const resolved = ({ resolveDir, path }) => ({ path: join(resolveDir, path), sideEffects: true });
    onResolve({ filter: /^\.\/locale\.ts$/ }, resolved);
  },
};

/** Names by role, so that the server finds what was built: see `src/server/pages/assets.ts`. */
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
      plugins: [keepLocale],
      ...options,
    });
    return outputFiles[0].text;
  };
  const jsx = { jsx: "automatic", jsxImportSource: "preact" };
  const licenses = ["preact", "uplot"].map((name) => readFileSync(path(`node_modules/${name}/LICENSE`), "utf8"));
  const files = {
    "embed.js": await bundle("src/embed/loader.ts", { format: "iife" }),
    "frame.js": await bundle("src/embed/frame.tsx", { format: "iife", ...jsx }),
    "document.css": await bundle("src/embed/styles/document.css", {}),
    "frame.css": await bundle("src/embed/styles/frame.css", {}),
    "refusal.js": await bundle("src/embed/refusal.ts", { format: "iife" }),
    "playground.js": await bundle("src/embed/playground.ts", { format: "iife" }),
    "playground.css": await bundle("src/embed/styles/playground.css", {}),
    "LICENSES.txt": licenses.join("\n"),
  };
  mkdirSync(new URL("dist/assets/", root), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(new URL(`dist/assets/${name}`, root), text);
}
