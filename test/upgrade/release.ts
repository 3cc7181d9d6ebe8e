import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * The commit that stands for the release before: the newest tag `v…`, else the last commit before the newest migration.
 * @throws ExecaError in a checkout without its history
 */
export async function previousRelease(): Promise<string> {
  const git = async (...args: string[]) => (await execa("git", args, { cwd: ROOT, reject: false })).stdout.trim();
  const tag = await git("describe", "--tags", "--abbrev=0", "--match", "v*");
  if (tag) return tag;
  const brought = await git("log", "--diff-filter=A", "-1", "--format=%H", "--", "migrations");
  return (await execa("git", ["rev-parse", "--short=12", `${brought}^`], { cwd: ROOT })).stdout;
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
