import { isErrno, SECRET_WARNING } from "../config/environment.ts";
import { EXIT, type ExitCode } from "./errors.ts";
import { Interrupts } from "./input/interrupts.ts";
import { sanitizeText } from "./output/text-width.ts";

/** Runs the process's command line, flushes its output, and exits with the command's code despite open handles. */
export async function run(): Promise<never> {
  const streams = [process.stdout, process.stderr];
  let failed = false;
  for (const stream of streams)
    stream.on("error", (error) => {
      // A reader such as `head` may close the pipe: that is no failure, but a full disk is.
      if (!isErrno(error) || error.code !== "EPIPE") failed = true;
    });
  showWarnings(process.argv.includes("--quiet"));
  const code = await runLine(process.argv.slice(2));
  await Promise.all(streams.map(flushed));
  process.exit(code === EXIT.ok && failed ? EXIT.unexpected : code);
}

/** Prints completion values without loading the program. */
async function runLine(argv: readonly string[]): Promise<ExitCode> {
  if (argv[0] === "completion") {
    const { printValues, valuesLine } = await import("./completion/values.ts");
    const asked = valuesLine(argv);
    if (asked) {
      await printValues(asked);
      return EXIT.ok;
    }
  }
  const { main } = await import("./program.ts");
  return main(argv, process, new Interrupts(process));
}

/** Prints pmctl's own warnings once each; all others go to Node's own listeners. */
function showWarnings(quiet: boolean): void {
  const usual = process.listeners("warning");
  const said = new Set<string>();
  process.removeAllListeners("warning").on("warning", (warning) => {
    if (warning.name !== SECRET_WARNING) for (const listener of usual) listener(warning);
    else if (!quiet && !said.has(warning.message)) {
      said.add(warning.message);
      process.stderr.write(`pmctl: warning: ${sanitizeText(warning.message)}\n`);
    }
  });
}

/** Resolves once everything written so far is out, or can never be. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.write("", () => resolve());
  });
}

if (import.meta.main) await run();
