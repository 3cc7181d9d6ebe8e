import { readFileSync } from "node:fs";

/** The package is two folders up from `src/config` and from `dist/config`. */
const ROOT = new URL("../../", import.meta.url);

/** The version of this pmctl. */
export interface PackageVersion {
  version: string;
  /** The commit of the build, twelve hexadecimal digits; `unknown` for a build outside a Git checkout. */
  commit: string;
}

/** Reads the version from `package.json` and the commit from the build. */
export function packageVersion(): PackageVersion {
  const { version } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8")) as { version: string };
  return { version, commit: builtFrom() };
}

/** `0.1.0 (3f538a8c9b21)` */
export function versionLine({ version, commit }: PackageVersion): string {
  return `${version} (${commit})`;
}

function builtFrom(): string {
  try {
    return readFileSync(new URL("dist/commit", ROOT), "utf8");
  } catch {
    // The sources were never built.
    return "unknown";
  }
}
