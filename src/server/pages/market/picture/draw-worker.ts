/**
 * The drawing thread. Untrusted text reaches the renderer here. The renderer is WebAssembly, so it can access no
 * memory, file or socket except its inputs. Drawing does not delay the thread that answers requests.
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
