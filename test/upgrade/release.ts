import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** The newest release, by its tag `v…`; undefined where nothing was released yet. */
export async function previousRelease(): Promise<string | undefined> {
  const described = await execa("git", ["describe", "--tags", "--abbrev=0", "--match", "v*"], {
    cwd: ROOT,
    reject: false,
  });
  return described.stdout.trim() || undefined;
}

/**
 * Lays out a commit's sources, which Node.js runs as they are, on this checkout's dependencies.
 * @returns its command line's main file
 */
export async function layOut(commit: string, directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const tarball = await execa("git", ["archive", commit, "src", "migrations", "templates", "package.json"], {
    cwd: ROOT,
    encoding: "buffer",
  });
  await execa("tar", ["-x", "-C", directory], { input: tarball.stdout });
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"));
  // Its pages are bundled by a build; what they hold is no part of an upgrade of the database.
  await symlink(join(ROOT, "dist"), join(directory, "dist"));
  return join(directory, "src/cli/main.ts");
}
