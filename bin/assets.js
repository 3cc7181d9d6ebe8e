// Bundles src/embed/ into dist/assets/: the loader for publishers, the frame with its parts, and the pages' scripts; and
// src/console/, the operator's console.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** package.json says that no module has side effects. That holds for published modules; this one has some. */
const keepLocale = {
  name: "keep-locale",
  setup({ onResolve }) {
    const resolved = ({ resolveDir, path }) => ({ path: join(resolveDir, path), sideEffects: true });
    onResolve({ filter: /^\.\/locale\.ts$/ }, resolved);
  },
};

const USUAL = { bundle: true, minify: true, write: false, target: "es2022", legalComments: "none" };

/** Elements as calls of `h`, whose children are arguments: the automatic calls name them, which costs every reader 200 bytes. */
const JSX = { tsconfigRaw: { compilerOptions: { jsx: "react", jsxFactory: "h", jsxFragmentFactory: "Fragment" } } };
const importOfH = {
  name: "import-of-h",
  setup({ onLoad }) {
    onLoad({ filter: /\.tsx$/ }, ({ path }) => ({
      contents: `import { h, Fragment } from "preact";\n${readFileSync(path, "utf8")}`,
      loader: "tsx",
    }));
  },
};

/** Turns an imported style sheet into a text, which the script gives to the browser: no request, nothing inline. */
const styleAsText = {
  name: "style-as-text",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => ({ contents: await bundle(path), loader: "text" }));
  },
};

/** What clients need to know of operations, as the build wrote it: the module itself would bring every schema along. */
function factsOfOperations(path) {
  return {
    name: "facts-of-operations",
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]contract[\\/]wire-facts\.ts$/ }, () => ({ contents: readFileSync(path, "utf8") }));
    },
  };
}

async function bundle(entry, options = {}) {
  const { outputFiles } = await build({ entryPoints: [entry], plugins: [keepLocale], ...USUAL, ...options });
  return outputFiles[0].text;
}

/**
 * Keeps only the messages that the loader's own texts name; frames need the rest.
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
 * Makes one file that runs as a classic script and as a module, which may not even contain `export` and `import.meta`
 * alike. In a script `await` is a name, so `/` divides, and the rest is a comment in a list. In a module `await` takes
 * a regular expression, then its own statements follow, up to a comment (ECMA-262, 12.7 and 13.1).
 */
function asScriptAndModule(text) {
  const forModules = (statements) => `typeof await/[/*]/;${statements}//*/0];\n`;
  return [
    forModules("const pmctlModule={url:import.meta.url};"),
    text,
    forModules("export const{embed,mount,unmount}=pmctlModule.exports;"),
  ].join("");
}

/** Files with a hash of their contents in the name; modules that are loaded by `import()` become files of their own. */
const IN_PARTS = {
  format: "esm",
  splitting: true,
  metafile: true,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
};

/**
 * Bundles an entry of the frame into files with a hash of their contents in the name, and returns the entry's name.
 * Modules that it loads by `import()` become files of their own.
 */
async function bundleParts(entry, folder, options = {}) {
  const { metafile, outputFiles } = await build({
    entryPoints: [entry],
    ...USUAL,
    ...JSX,
    ...IN_PARTS,
    outdir: folder,
    external: ["/assets/*"],
    plugins: [keepLocale, importOfH, styleAsText],
    ...options,
  });
  const [entryFile, { imports }] = Object.entries(metafile.outputs).find(([, { entryPoint }]) =>
    entry.endsWith(entryPoint),
  );
  const needed = imports.filter(({ kind }) => kind === "import-statement");
  if (needed.length > 0)
    throw new Error(
      `${entry}: what it imports later by import() shares modules with it, so that its first contents would cost another ` +
        "request. Pass what both need as an argument instead.",
    );
  for (const { path, contents } of outputFiles) writeFileSync(path, contents);
  return basename(entryFile);
}

/**
 * Bundles the operator's console into a folder of its own. What it imports by `import()` becomes files of their own.
 * @returns the names of its script and its style sheet
 */
async function bundleConsole(entry, folder, options) {
  const { metafile, outputFiles } = await build({
    entryPoints: [entry],
    ...USUAL,
    ...JSX,
    ...options,
    ...IN_PARTS,
    outdir: folder,
  });
  mkdirSync(folder, { recursive: true });
  for (const { path, contents } of outputFiles) writeFileSync(path, contents);
  const [script, { cssBundle }] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint);
  return { script: basename(script), style: basename(cssBundle) };
}

/** Names by role, with which the server finds the built files: see `src/server/pages/assets.ts`. */
export async function buildAssets(root) {
  const path = (name) => fileURLToPath(new URL(name, root));
  const parts = path("dist/assets/parts");
  rmSync(path("dist/assets"), { recursive: true, force: true });
  for (const folder of [parts, path("dist/assets/console")]) mkdirSync(folder, { recursive: true });
  const write = (name, text) => writeFileSync(path(`dist/assets/${name}`), text);

  const { version } = JSON.parse(readFileSync(path("package.json"), "utf8"));
  const loader = asScriptAndModule(
    await bundle(path("src/embed/loader.ts"), {
      format: "iife",
      charset: "utf8",
      define: { PMCTL_VERSION: JSON.stringify(version) },
      plugins: [onlyMessagesOf(readFileSync(path("src/embed/host/words.ts"), "utf8"))],
    }),
  );
  const digest = createHash("sha384").update(loader).digest("hex");
  const loaderName = `embed-${digest.slice(0, 16)}.js`;
  write(`parts/${loaderName}`, loader);
  const kept = path("templates/loaders");
  if (existsSync(kept)) for (const name of readdirSync(kept)) copyFileSync(join(kept, name), join(parts, name));

  const stream = await bundleParts(path("src/embed/stream/shared-hub.ts"), parts, { entryNames: "stream-[hash]" });
  const define = { STREAM_PART: JSON.stringify(`/assets/${stream}`) };
  const frame = await bundleParts(path("src/embed/frame.tsx"), parts, { define });
  write("entries.json", JSON.stringify({ loader: loaderName, frame, stream }));

  // The console draws curves with the library in the widget's part, so that the package has it once.
  const plot = readdirSync(parts).find((name) => name.startsWith("plot-"));
  const ofConsole = await bundleConsole(path("src/console/main.tsx"), path("dist/assets/console"), {
    define: { PLOT_PART: JSON.stringify(plot) },
    plugins: [keepLocale, importOfH, factsOfOperations(path("dist/contract/wire-facts.js"))],
  });
  write("console.json", JSON.stringify({ ...ofConsole, plot }));

  write("document.css", await bundle(path("src/embed/styles/document.css")));
  write("refusal.js", await bundle(path("src/embed/refusal.ts"), { format: "iife" }));
  for (const page of ["playground", "configurator", "search"])
    write(`${page}.js`, await bundle(path(`src/embed/pages/${page}.ts`), { format: "iife" }));
  for (const page of ["playground", "configurator", "documents"])
    write(`${page}.css`, await bundle(path(`src/embed/styles/${page}.css`)));
  const licenses = ["preact", "uplot"].map((name) => readFileSync(path(`node_modules/${name}/LICENSE`), "utf8"));
  write("LICENSES.txt", licenses.join("\n"));
}
