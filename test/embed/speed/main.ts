/**
 * Measures how soon the widget shows its contents: `npm run embed:speed`. The aims: within 150 ms of the frame's start here, within
 * 900 ms at a quarter of the processor and 1.6 Mbit/s, where no task is longer than 50 ms. Times say little on a busy machine, so
 * the load stands beside them, and no test holds them; `weight.test.ts` holds the bytes and requests.
 */
import { join } from "node:path";
import { execa } from "execa";

const config = join(import.meta.dirname, "../shots/vitest.config.ts");
const { exitCode } = await execa("npx", ["vitest", "run", "--config", config, "measure"], {
  stdio: "inherit",
  reject: false,
});
process.exitCode = exitCode ?? 1;
