import { cp, mkdtemp, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";

const ROOT = new URL("../../", import.meta.url).pathname;

/** What a copy does not need: the history, what the build writes anew, and the packages, which it has by a link. */
const LEFT_OUT = [".git", "dist", "node_modules"];

/** Copies the project into a new directory in `place`. A build reads documents and tenants too, so there is no list of what is needed. */
export async function copyOfProduct(place = "/tmp"): Promise<string> {
  const directory = await mkdtemp(join(place, "pmctl-fault-"));
  for (const name of await readdir(ROOT))
    if (!LEFT_OUT.includes(name)) await cp(join(ROOT, name), join(directory, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"));
  return directory;
}
