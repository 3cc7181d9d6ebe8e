import type { Action, Io } from "../../../src/cli/command.ts";
import { type ExitCode, Interrupted } from "../../../src/cli/errors.ts";
import type { Prompts } from "../../../src/cli/input/prompts.ts";
import { Output } from "../../../src/cli/output/output.ts";
import type { Sink } from "../../../src/cli/output/pager.ts";
import type { Format } from "../../../src/cli/output/serialise.ts";

/** A stream that remembers. */
export interface Buffered extends Sink {
  text: string;
}

export interface TestIo extends Io {
  stdout: Buffered;
  stderr: Buffered;
  /** What was asked, in order. */
  questions: string[];
}

export interface TestIoOptions {
  format?: Format;
  fields?: string[];
  quiet?: boolean;
  color?: boolean;
  debug?: boolean;
  /** A terminal of this width on stdout and stderr. */
  terminal?: number;
  /** A person's answers; without them there is no person at the terminal. `null` is Ctrl-C. */
  answers?: (boolean | string | null)[];
}

/** What a command sees of the world, with a person who answers as told. */
export function testIo(options: TestIoOptions = {}): TestIo {
  const { format, fields, quiet, color, debug, terminal, answers } = options;
  const [stdout, stderr] = [buffered(terminal), buffered(terminal)];
  const questions: string[] = [];
  const answer = (question: string) => {
    questions.push(question);
    const given = answers?.shift();
    if (given === null || given === undefined) throw new Interrupted();
    return given;
  };
  const prompts: Prompts = {
    available: answers !== undefined,
    confirm: async (question) => answer(question) === true,
    ask: async (question, { fallback, problem }) => {
      const given = String(answer(question)) || (fallback ?? "");
      const found = problem(given);
      if (found !== undefined) throw new Error(found);
      return given;
    },
    choose: async (question, choices) => {
      const given = answer(question);
      const chosen = choices.find(({ value }) => value === given);
      if (!chosen) throw new Error(`${given} is not among the choices of: ${question}`);
      return chosen.value;
    },
    type: async (question, expected) => {
      if (answer(question) !== expected) throw new Interrupted();
    },
    search: async (question, find) => {
      const [first] = find(String(answer(question)));
      if (!first) throw new Interrupted();
      return first.value;
    },
  };
  const output = new Output({ stdout, stderr, format, fields, quiet, color, debug });
  return { output, prompts, stdout, stderr, questions };
}

function buffered(columns: number | undefined): Buffered {
  const sink: Buffered = {
    text: "",
    write(text: string, done?: () => void) {
      sink.text += text;
      done?.();
    },
  };
  return columns === undefined ? sink : Object.assign(sink, { isTTY: true, columns });
}

/** What a command came to: what it printed, and how it ended, as the process would show it. */
export interface Ending {
  exit: ExitCode;
  stdout: string;
  stderr: string;
}

export async function end(io: TestIo, run: () => ReturnType<Action<object>>): Promise<Ending> {
  const exit = await run().catch((error: unknown) => io.output.fail(error));
  return { exit: typeof exit === "number" ? exit : 0, stdout: io.stdout.text, stderr: io.stderr.text };
}

/** The run half of a command. */
export type Run = (io: TestIo) => Promise<void>;

/** A command as scripts run it, with JSON asked for: `data` is what it printed, or the error that it ended with. */
export async function runJson(
  run: Run,
  options: TestIoOptions = {},
): Promise<Ending & { data: Record<string, unknown> }> {
  const io = testIo({ format: "json", ...options });
  const ending = await end(io, () => run(io));
  const text = ending.stdout === "" ? ending.stderr : ending.stdout;
  return { ...ending, data: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : {} };
}
