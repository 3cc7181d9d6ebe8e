import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** While nothing is released, the upgrade begins from the newest commit without this migration and those after it. */
const UNRELEASED_FROM = "0004_ends.sql";

/** A Git command's output; nothing if it fails, as outside a checkout. */
async function git(...args: string[]): Promise<string> {
  return (await execa("git", args, { cwd: ROOT, reject: false })).stdout.trim();
}

/** The newest release, by its tag `v…`, or the commit that stands for it; undefined in a checkout without its history. */
export async function previousRelease(): Promise<string | undefined> {
  const tag = await git("describe", "--tags", "--abbrev=0", "--match", "v*");
  return tag || (await commitBefore(UNRELEASED_FROM));
}

/**
 * The newest commit of the main line that has exactly the migrations before this one, each as it is here. One whose migrations
 * were edited later does not qualify: its databases belong to a different build.
 */
async function commitBefore(migration: string): Promise<string | undefined> {
  const migrationsOf = (commit: string) => git("ls-tree", commit, "migrations/");
  const lines = (await migrationsOf("HEAD")).split("\n");
  const wanted = lines.filter((line) => line.slice(line.indexOf("migrations/")) < `migrations/${migration}`).join("\n");
  const changes = await git("log", "--first-parent", "--format=%H", "--", "migrations");
  for (const change of changes.split("\n").filter(Boolean))
    if ((await migrationsOf(`${change}^`)) === wanted) return git("rev-parse", "--short=12", `${change}^`);
  return undefined;
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
  // Its pages are bundled by a build, and an upgrade of the database does not need them. The name of its build is its own.
  await mkdir(join(directory, "dist"));
  for (const name of await readdir(join(ROOT, "dist")))
    if (name !== "commit") await symlink(join(ROOT, "dist", name), join(directory, "dist", name));
  await writeFile(join(directory, "dist/commit"), await git("rev-parse", "--short=12", `${commit}^{commit}`));
  return join(directory, "src/cli/main.ts");
}

/** The names of this checkout's migrations that the sources laid out there lack. */
export async function migrationsSince(directory: string): Promise<string[]> {
  const namesIn = async (root: string) =>
    (await readdir(join(root, "migrations"))).filter((name) => /^\d{4}_/.test(name));
  const before = await namesIn(directory);
  for (const name of before)
    if (
      (await readFile(join(ROOT, "migrations", name), "utf8")) !==
      (await readFile(join(directory, "migrations", name), "utf8"))
    )
      throw new Error(`Migration ${name} was edited since: a database of that commit belongs to a different build`);
  return (await namesIn(ROOT)).filter((name) => !before.includes(name)).sort();
}
