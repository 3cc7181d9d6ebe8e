// Keeps the loader of a release: pages name it by its hash for a year and longer. Run with each tag, and commit the file.
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";

const root = new URL("../", import.meta.url);
const { loader } = JSON.parse(readFileSync(new URL("dist/assets/entries.json", root), "utf8"));
const file = `templates/loaders/${loader}`;
mkdirSync(new URL("templates/loaders/", root), { recursive: true });
copyFileSync(new URL(`dist/assets/parts/${loader}`, root), new URL(file, root));
console.log(file);
