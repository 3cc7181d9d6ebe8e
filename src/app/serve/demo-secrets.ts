import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEMO_ENVIRONMENT } from "../../config/environment.ts";
import { freshSecrets } from "../../config/init.ts";
import { createRoot } from "../../postgres/embedded/home.ts";

/**
 * Makes up the secrets that the demo's tenant file refers to, at the first call. They are kept for this user alone, so
 * that a later run can verify what this one writes, and other commands of the directory find the demo's keys.
 */
export async function ensureDemoSecrets(directory: string): Promise<void> {
  const file = join(directory, DEMO_ENVIRONMENT);
  if (existsSync(file)) return;
  await createRoot(join(directory, ".pmctl"));
  const lines = Object.entries(freshSecrets("demo")).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(file, lines.join(""), { mode: 0o600, flag: "wx" });
}
