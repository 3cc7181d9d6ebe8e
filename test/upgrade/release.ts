import { mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { readMigrations } from "../../src/postgres/migrate.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * The commit that stands for the release before: the newest tag `v…`, else the newest one of the main line with fewer migrations than
 * this checkout, each as it is here. One whose migrations were edited later is no release: its databases belong to another build.
 * @throws Error in a checkout without its history
 */
export async function previousRelease(): Promise<string> {
  const git = async (...args: string[]) => (await execa("git", args, { cwd: ROOT, reject: false })).stdout.trim();
  const tag = await git("describe", "--tags", "--abbrev=0", "--match", "v*");
  if (tag) return tag;
  const migrationsOf = async (commit: string) => (await git("ls-tree", commit, "migrations/")).split("\n");
  const present = await migrationsOf("HEAD");
  const changes = await git("log", "--first-parent", "--format=%H", "--", "migrations");
  for (const change of changes.split("\n")) {
    const before = await migrationsOf(`${change}^`);
    if (before.length < present.length && before.every((migration) => present.includes(migration)))
      return git("rev-parse", "--short=12", `${change}^`);
  }
  throw new Error("The history holds no commit with fewer migrations");
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

/** The names of this checkout's migrations that the sources laid out there do not have. */
export async function migrationsSince(directory: string): Promise<string[]> {
  const before = new Set(await readdir(join(directory, "migrations")));
  return (await readMigrations()).map(({ name }) => name).filter((name) => !before.has(name));
}
