import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
// CommonJS, whose exports Node does not know by name.
import xterm from "@xterm/headless";

const ROWS = 120;
/** A command that takes longer hangs. */
const PATIENCE_MS = 60_000;

/** What a person types once what was shown matches, once for each; `$1` is what they copy from there. */
export type Answers = readonly (readonly [shown: RegExp, keys: string])[];

export interface Surroundings {
  /** The directory of the operator. */
  cwd: string;
  columns: number;
  env: Record<string, string>;
  answers: Answers;
}

/** A line of the shell on a pseudo-terminal of its own, by util-linux's `script`, and the screen that a person sees. */
export class TerminalRun {
  readonly #child: ChildProcess;
  readonly #screen: xterm.Terminal;
  readonly #ended: Promise<unknown>;
  #seen = "";
  #answers: Answers;
  #changed = () => {};

  constructor(line: string, { cwd, columns, env, answers }: Surroundings) {
    this.#answers = answers;
    this.#screen = new xterm.Terminal({ cols: columns, rows: ROWS, allowProposedApi: true });
    const onTerminal = `stty rows ${ROWS} cols ${columns}\n${line}`;
    // `script` keeps a record of what it shows, beside the operator's own files.
    this.#child = spawn("script", ["-qfec", onTerminal, join(cwd, ".pmctl", "typescript")], {
      cwd,
      env: { ...env, TERM: "xterm-256color", SHELL: "/bin/bash" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#ended = once(this.#child, "close").catch((cause: unknown) => {
      throw new Error("A terminal needs util-linux's `script` on the PATH", { cause });
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#show(text));
  }

  /** Resolves to the screen once the command has ended. */
  async end(): Promise<string> {
    await this.#inTime(this.#ended);
    return this.#text();
  }

  /** Resolves to the screen once it shows a text. */
  async until(text: string): Promise<string> {
    const shown = new Promise<void>((resolve) => {
      this.#changed = () => {
        if (this.#seen.includes(text)) resolve();
      };
      this.#changed();
    });
    await this.#inTime(Promise.race([shown, this.#ended]));
    return this.#text();
  }

  /** Presses Ctrl-C, and resolves to what the screen shows from there on once the command has ended. */
  async interrupt(): Promise<string> {
    this.#child.stdin?.write("\u0003");
    const screen = await this.end();
    return screen.slice(screen.lastIndexOf("^C"));
  }

  #show(text: string): void {
    this.#seen += text;
    this.#screen.write(text);
    for (const answer of this.#answers) this.#answer(...answer);
    this.#changed();
  }

  #answer(shown: RegExp, keys: string): void {
    const [found] = shown.exec(this.#seen) ?? [];
    if (found === undefined) return;
    this.#answers = this.#answers.filter(([other]) => other !== shown);
    this.#child.stdin?.write(found.replace(shown, keys));
  }

  async #text(): Promise<string> {
    await new Promise<void>((resolve) => this.#screen.write("", resolve));
    const { active } = this.#screen.buffer;
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "");
    return lines.join("\n").trimEnd();
  }

  async #inTime(done: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(async () => {
        // Its terminal goes with it, and what runs there is told so.
        this.#child.kill("SIGKILL");
        reject(new Error(`The command did not get on. Its screen:\n${await this.#text()}`));
      }, PATIENCE_MS);
    });
    await Promise.race([done, late]).finally(() => clearTimeout(timer));
  }
}
