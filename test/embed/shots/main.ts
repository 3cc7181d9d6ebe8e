/**
 * Takes a picture of every state of the widget, in every theme: `npm run embed:shots [-- --out DIR --only WORD]`.
 *
 * It serves a tenant with a past, opens a publisher's page in Chromium, brings the widget into each state (scenes.ts) and takes
 * it in dark and light; some scenes also in other looks (looks.ts). `index.html` in the folder shows them all. Nothing is
 * compared: it is for eyes. Without `--out` the folder is test/output/shots, which git does not know.
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { OUTPUT } from "../../support/browser.ts";

const { values } = parseArgs({ options: { out: { type: "string" }, only: { type: "string" } } });
const out = values.out === undefined ? join(OUTPUT, "shots") : resolve(process.env.INIT_CWD ?? "", values.out);

const { exitCode } = await execa(
  "npx",
  ["vitest", "run", "--config", join(import.meta.dirname, "vitest.config.ts"), "take"],
  { env: { SHOTS_OUT: out, SHOTS_ONLY: values.only ?? "" }, stdio: "inherit", reject: false },
);
process.stdout.write(`${join(out, "index.html")}\n`);
process.exitCode = exitCode ?? 1;
