import { readFileSync } from "node:fs";

/** package.json is three folders up from `src/cli/input` and from `dist/cli/input`. */
export function packageVersion(): string {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
