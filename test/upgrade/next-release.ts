import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Lays out these sources with one migration more, as the release after this one.
 * @returns its command line's main file
 */
export async function layOutNext(directory: string, migration: { name: string; text: string }): Promise<string> {
  await mkdir(directory);
  for (const name of ["src", "migrations", "package.json"])
    await cp(join(ROOT, name), join(directory, name), { recursive: true });
  await writeFile(join(directory, "migrations", migration.name), migration.text);
  for (const name of ["node_modules", "dist", "templates"]) await symlink(join(ROOT, name), join(directory, name));
  return join(directory, "src/cli/main.ts");
}
