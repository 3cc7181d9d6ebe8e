import { isErrno, pagerCommand, processEnvironment } from "../../config/environment.ts";
import type { Interrupts } from "../input/interrupts.ts";

/** The part of a stream that output needs; a test's buffer has it too. */
export interface Sink {
  write(text: string, done?: (error?: Error | null) => void): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  rows?: number | undefined;
}

/** Shows a text that is longer than the screen. Resolves to false when there is no pager. */
export type Pager = (text: string) => Promise<boolean>;

/**
 * The operator's pager. `less` gets `FRX` unless LESS is set: it ends by itself when everything fits, keeps colours,
 * and leaves the text on the screen.
 */
export function terminalPager(interrupts: Interrupts): Pager {
  return async (text) => {
    const command = pagerCommand();
    if (command === undefined) return false;
    const { execa, parseCommandString } = await import("execa");
    const [file = "", ...args] = parseCommandString(command);
    // While the pager runs, Ctrl-C belongs to it: it ends a search there, and must not end this process.
    const release = interrupts.hold();
    try {
      const result = await execa(file, args, {
        input: text,
        stdout: "inherit",
        stderr: "inherit",
        reject: false,
        env: { LESS: processEnvironment().LESS ?? "FRX" },
      });
      return !(isErrno(result) && (result.code === "ENOENT" || result.code === "EACCES"));
    } finally {
      release();
    }
  };
}
