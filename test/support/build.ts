import { fileURLToPath } from "node:url";
import { execa } from "execa";

const ROOT = new URL("../../", import.meta.url);

/**
 * Builds anew where the sources have changed since: tests read the build too, as the program that is installed, what browsers
 * load, and the pages of `/docs`.
 */
export async function renewBuild(): Promise<void> {
  const { isBuildCurrent } = (await import(new URL("bin/fingerprint.js", ROOT).href)) as {
    isBuildCurrent(root: URL): boolean;
  };
  if (!isBuildCurrent(ROOT))
    await execa(process.execPath, ["bin/build.js"], { cwd: fileURLToPath(ROOT), stdout: "inherit" });
}
