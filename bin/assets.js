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

/**
 * Of the message files, the loader needs the few messages that its own words name; the rest are for frames.
 * @param text the source that names them, each as a literal
 */
function onlyMessagesOf(text) {
  const keys = [...text.matchAll(/"(\w+\.\w+)"/g)].map(([, key]) => key);
  return {
    name: "only-messages",
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]catalogue[\\/][\w-]+\.json$/ }, ({ path }) => {
        const messages = JSON.parse(readFileSync(path, "utf8"));
        const kept = Object.fromEntries(keys.map((key) => [key, messages[key]]));
        return { contents: JSON.stringify(kept), loader: "json" };
      });
    },
  };
}

/**
 * Makes one file that runs as a classic script and as a module, which may not even spell `export` and `import.meta` alike. To a
 * script `await` is a name, so that `/` divides and what follows is a comment in a list; to a module `await` takes a regular
 * expression, after which its own statements come, up to a comment (ECMA-262, 12.7 and 13.1).
 */
function asScriptAndModule(text) {
  const forModules = (statements) => `typeof await/[/*]/;${statements}//*/0];\n`;
  return [
    forModules("const pmctlModule={url:import.meta.url};"),
    text,
    forModules("export const{embed,mount,unmount}=pmctlModule.exports;"),
  ].join("");
}

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
  const { version } = JSON.parse(readFileSync(path("package.json"), "utf8"));
  const files = {
    "embed.js": asScriptAndModule(
      await bundle("src/embed/loader.ts", {
        format: "iife",
        charset: "utf8",
        define: { PMCTL_VERSION: JSON.stringify(version) },
        plugins: [onlyMessagesOf(readFileSync(path("src/embed/host/words.ts"), "utf8"))],
      }),
    ),
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
