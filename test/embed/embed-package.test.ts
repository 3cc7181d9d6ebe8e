import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build } from "esbuild";
import { execa } from "execa";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPage } from "../support/browser.ts";
import { openStage, type Stage } from "./support/stage.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

let stage: Stage;
let place: string;
let packed: { filename: string; files: { path: string }[] };
beforeAll(async () => {
  [stage, place] = await Promise.all([openStage(), mkdtemp(join(tmpdir(), "embed-package-"))]);
  for (const id of ["mkt_a", "mkt_b"]) await stage.tenant.openMarket(id, { question: `Will ${id} come true?` });
  const built = join(place, "built");
  await execa(process.execPath, ["bin/embed-package.js", built], { cwd: ROOT });
  const { stdout } = await execa("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", place], {
    cwd: built,
    env: { NODE_OPTIONS: "" },
  });
  [packed] = Object.values(JSON.parse(stdout)) as [typeof packed];
  const installed = join(place, "node_modules/prediction-markets-embed");
  await mkdir(installed, { recursive: true });
  await execa("tar", ["-xzf", join(place, packed.filename), "-C", installed, "--strip-components=1"]);
});
afterAll(async () => {
  await stage?.close();
  await rm(place, { recursive: true, force: true });
});

/** A page's own program, bundled as a publisher would. */
async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: place, loader: "tsx" },
    nodePaths: [join(ROOT, "node_modules")],
    bundle: true,
    write: false,
    format: "iife",
    define: {
      "process.env.NODE_ENV": '"development"',
      __VUE_OPTIONS_API__: "false",
      __VUE_PROD_DEVTOOLS__: "false",
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
    },
  });
  return outputFiles[0]?.text ?? "";
}

test("holds modules and types for three exports and nothing else, needs no other package, and passes publint and attw", async () => {
  const names = packed.files.map(({ path }) => path.replace(/chunk-\w+/, "chunk"));
  const modules = ["index", "react", "vue"].flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]);
  expect(names.sort()).toEqual(
    ["README.md", "package.json", "dist/chunk.js", "dist/protocol.d.ts", "dist/types.d.ts", ...modules].sort(),
  );
  const manifest = JSON.parse(await readFile(join(ROOT, "src/embed/host/package/package.json"), "utf8"));
  expect(manifest).not.toHaveProperty("dependencies");
  expect(manifest).not.toHaveProperty("scripts");
  const bytes = new Uint8Array(await readFile(join(place, packed.filename)));
  expect((await publint({ pack: { tarball: bytes.buffer }, strict: true })).messages).toEqual([]);
  const result = await checkPackage(createPackageFromTarballData(bytes));
  const problems = "problems" in result ? result.problems : [];
  // It is for browsers and bundlers, which have no `require` and read `exports`.
  expect(problems.filter(({ kind }) => kind !== "CJSResolvesToESM" && kind !== "NoResolution")).toEqual([]);
});

describe("in a browser", () => {
  const frameworks = {
    React: `
      import { StrictMode, createElement, createRef } from "react";
      import { createRoot } from "react-dom/client";
      import { PredictionMarket } from "prediction-markets-embed/react";
      const root = createRoot(place);
      const ref = createRef();
      window.show = (props) => root.render(createElement(StrictMode, null, createElement(PredictionMarket, { ...props, ref,
        onEvent: ({ name }) => heard.push(name), onAction: ({ name }) => heard.push("action " + name) })));
      window.setTheme = (theme) => ref.current.setTheme(theme);
      window.leave = () => root.unmount();`,
    Vue: `
      import { createApp, h, ref, shallowRef } from "vue";
      import { PredictionMarket } from "prediction-markets-embed/vue";
      const props = shallowRef(null);
      const handle = ref();
      const app = createApp({ setup: () => () => props.value && h(PredictionMarket, { ...props.value, ref: handle,
        onEvent: ({ name }) => heard.push(name), onAction: ({ name }) => heard.push("action " + name) }) });
      app.mount(place);
      window.show = (next) => { props.value = next; };
      window.setTheme = (theme) => handle.value.setTheme(theme);
      window.leave = () => app.unmount();`,
  };

  test.each(Object.entries(frameworks))(
    "the component of %s follows its props and ends with it",
    async (_, program) => {
      const { page, complaints, close } = await openPage(stage.browser);
      await page.goto(stage.hostUrl({ count: 0 }));
      await page.evaluate(
        "window.heard = []; window.place = document.body.appendChild(document.createElement('div')); 0",
      );
      await page.evaluate(await bundle(program));
      const show = (props: object) =>
        page.evaluate(`show(${JSON.stringify({ origin: stage.tenant.url, theme: "light", ...props })})`);
      const frame = page.frameLocator("iframe");
      const heading = (name: string) => frame.getByRole("heading", { name: `Will ${name} come true?` });
      await show({ marketId: "mkt_a" });
      await heading("mkt_a").waitFor();
      await page.evaluate("window.iframe = document.querySelector('iframe'); 0");
      await show({ marketId: "mkt_b", height: 333 });
      await heading("mkt_b").waitFor();
      await page.evaluate("setTheme('dark')");
      await expect.poll(() => page.frames()[1]?.locator("html").getAttribute("data-theme")).toBe("dark");
      expect(
        await page.evaluate(
          "[document.querySelectorAll('iframe').length, document.querySelector('iframe') === iframe]",
        ),
      ).toEqual([1, true]);
      expect(await page.locator("iframe").evaluate((one) => one.clientHeight)).toBe(333);
      await frame
        .getByRole("button", { name: /Sign in/ })
        .first()
        .click();
      await expect.poll(() => page.evaluate("heard.slice(-2)")).toEqual(["signin", "action signin"]);
      await page.evaluate("leave()");
      expect(await page.locator("iframe").count()).toBe(0);
      expect(complaints).toEqual([]);
      await close();
    },
  );
});
