/**
 * A thread that draws: untrusted text meets the renderer here, which is WebAssembly and so sees no memory, no file and no
 * socket but what it is handed, and a picture costs the thread that answers requests nothing.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parentPort } from "node:worker_threads";
import { initWasm, Resvg } from "@resvg/resvg-wasm";
import { Fonts } from "./fonts.ts";
import { type Drawing, svgOf } from "./svg.ts";

const wasm = createRequire(import.meta.url).resolve("@resvg/resvg-wasm/index_bg.wasm");
const ready = initWasm(readFileSync(wasm));
const fonts = new Fonts();

parentPort?.on("message", async (drawing: Drawing) => {
  await ready;
  const { question, odds, closing, name, axis } = drawing;
  const fontBuffers = fonts.dataFor([question, odds.text, odds.label, closing, name, ...axis.labels]);
  const picture = new Resvg(svgOf(drawing, fonts), { font: { fontBuffers, defaultFontFamily: "Noto Sans" } });
  const image = picture.render();
  const png = image.asPng();
  image.free();
  picture.free();
  parentPort?.postMessage(png);
});
