// Copies the fonts of the pictures of markets to dist/fonts/: five files of packages that hold thirty.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const FILES = {
  "fonts-latin": ["NotoSans-Regular.ttf", "NotoSans-SemiBold.ttf"],
  "fonts-arabic": ["NotoNaskhArabic-Regular.ttf", "NotoNaskhArabic-Bold.ttf"],
  "fonts-jp": ["NotoSansJP-Medium.otf"],
};

/** Found by name: see `src/server/pages/market/picture/fonts.ts`. */
export function copyFonts(root) {
  const place = new URL("dist/fonts/", root);
  mkdirSync(place, { recursive: true });
  const licenses = Object.entries(FILES).map(([name, files]) => {
    const source = new URL(`node_modules/@embedpdf/${name}/`, root);
    for (const file of files) copyFileSync(new URL(`fonts/${file}`, source), new URL(file, place));
    return `${files.join(", ")}\n\n${readFileSync(new URL("LICENSE", source), "utf8")}`;
  });
  writeFileSync(new URL("LICENSES.txt", place), licenses.join("\n"));
}
