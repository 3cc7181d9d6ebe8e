import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";

/** The variable by which the set-up tells where the files of a cluster lie that was started once and stopped. */
export const FRESH_CLUSTER = "PMCTL_TEST_FRESH_CLUSTER";

/** Gives an operator's directory the files of a cluster, so that its first start need not create them. */
export async function placeFreshCluster(directory: string): Promise<void> {
  const files = process.env[FRESH_CLUSTER];
  if (files === undefined) throw new Error("The set-up of the tests keeps the files of a fresh cluster");
  const [root, home] = [join(directory, ".pmctl"), join(directory, ".pmctl", "postgres")];
  await mkdir(home, { recursive: true });
  // Its server runs as another user when the caller is root, and passes through.
  for (const each of [root, home]) await chmod(each, process.geteuid?.() === 0 ? 0o711 : 0o700);
  await writeFile(join(root, ".gitignore"), "*\n");
  await execa("cp", ["-a", files, join(home, "data")]);
}
