// Keeps the loader of a release for a year and longer: pages name it by its hash, and go on doing so. Run with each release.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const place = new URL("src/embed/host/releases/", root);
const loader = readFileSync(new URL("dist/assets/embed.js", root));
const { version } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
const file = `embed-${createHash("sha384").update(loader).digest("hex").slice(0, 16)}.js`;
const list = new URL("releases.json", place);
const releases = JSON.parse(readFileSync(list, "utf8"));

if (releases.some((each) => each.file === file)) console.log(`${file} is kept already`);
else {
  const entry = { file, version, released: new Date().toISOString().slice(0, 10) };
  writeFileSync(new URL(file, place), loader);
  writeFileSync(list, `[\n${[...releases, entry].map((each) => `  ${JSON.stringify(each)}`).join(",\n")}\n]\n`);
  console.log(`${file} is kept from ${entry.released} on: commit src/embed/host/releases`);
}
