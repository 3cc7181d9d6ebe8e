import type { Key } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { Fault } from "../../domain/fault.ts";
import { Interrupted } from "../errors.ts";
import { sanitizeLine, sanitizeText } from "../output/text-width.ts";

/** Questions to the operator; tests answer in place of a person. */
export interface Prompts {
  /** Whether there is a terminal to ask on, and asking is allowed. */
  readonly available: boolean;
  /** A yes or no; the default is no. */
  confirm(question: string): Promise<boolean>;
  /** A line of text, asked again until `problem` accepts it; an empty answer means `fallback`. */
  ask(question: string, options: AskOptions): Promise<string>;
  choose<Value extends string>(question: string, choices: readonly Choice<Value>[], first: Value): Promise<Value>;
  /** Waits until the operator has typed exactly this text. */
  type(question: string, expected: string): Promise<void>;
  /** One choice of many, found by typing. @param find returns the choices for the text typed so far */
  search(question: string, find: (term: string) => readonly Choice[]): Promise<string>;
}

interface AskOptions {
  fallback?: string | undefined;
  /** The problem of an answer; undefined for a good one. */
  problem: (answer: string) => string | undefined;
}

export interface Choice<Value extends string = string> {
  value: Value;
  name: string;
  /** Shown while the choice is selected. */
  description?: string;
}

interface PromptOptions {
  stdin: Readable & { isTTY?: boolean | undefined };
  stderr: Writable & { isTTY?: boolean | undefined };
  /** False with `--no-input` and on build servers. */
  allowed: boolean;
}

/** Asks on stderr, so that stdout stays data, and only when both stderr and stdin are terminals. */
export function terminalPrompts({ stdin, stderr, allowed }: PromptOptions): Prompts {
  const streams = { input: stdin, output: stderr };
  return {
    available: allowed && Boolean(stdin.isTTY) && Boolean(stderr.isTTY),

    async confirm(question) {
      const { confirm } = await import("@clack/prompts");
      return answered(
        await withPlainKeys(stdin, () => confirm({ message: sanitizeText(question), initialValue: false, ...streams })),
      );
    },

    async ask(question, { fallback, problem }) {
      const { text } = await import("@clack/prompts");
      const validate = (typed: string | undefined) => problem(typed?.trim() || (fallback ?? ""));
      // Without defaultValue an accepted placeholder is shown as an empty answer.
      const shown = fallback === undefined ? {} : { placeholder: fallback, defaultValue: fallback };
      const typed = answered(await text({ message: sanitizeText(question), ...shown, validate, ...streams }));
      return typed?.trim() || (fallback ?? "");
    },

    async choose(question, choices, first) {
      const { select } = await import("@clack/prompts");
      const options = choices.map(({ value, name }) => ({ value: value as string, label: sanitizeLine(name) }));
      const settings = { message: sanitizeText(question), options, initialValue: first as string, ...streams };
      const chosen = answered(await withPlainKeys(stdin, () => select(settings)));
      return chosen as typeof first;
    },

    async type(question, expected) {
      const { text } = await import("@clack/prompts");
      const matches = (typed: string | undefined) =>
        typed?.trim() === expected ? undefined : `Type exactly: ${expected} (or press Ctrl-C)`;
      answered(await text({ message: sanitizeText(question), validate: matches, ...streams }));
    },

    async search(question, find) {
      const { search } = await import("@inquirer/prompts");
      const source = (term: string | undefined) =>
        find(term?.trim() ?? "").map(({ value, name, description }) => ({
          value,
          name: sanitizeLine(name),
          ...(description === undefined ? {} : { description: sanitizeLine(description) }),
        }));
      return search({ message: sanitizeText(question), source, pageSize: 10 }, streams).catch((error: unknown) => {
        throw error instanceof Error && error.name === "ExitPromptError" ? new Interrupted() : error;
      });
    },
  };
}

const PLAIN_KEYS = ["up", "down", "left", "right", "space", "return"];

/**
 * Lets only arrows, space and Enter move an answer. The library reads a key's name alone: it takes Ctrl-L, which
 * redraws the screen elsewhere, for vi's `l`, an arrow. A line feed, such as an Enter typed before the question
 * appeared, turns a no into a yes. Escape, Ctrl-C, y and n are recognised by their bytes.
 */
async function withPlainKeys<Answer>(stdin: Readable, ask: () => Promise<Answer>): Promise<Answer> {
  const forgetName = (_: string | undefined, key: Key) => {
    if (key.name === "escape") return;
    if (key.ctrl || key.meta || !PLAIN_KEYS.includes(key.name ?? "")) delete key.name;
  };
  // Listens before the library, which receives the same key afterwards.
  stdin.on("keypress", forgetName);
  try {
    return await ask();
  } finally {
    stdin.off("keypress", forgetName);
  }
}

/** The error of a command whose operator said no. */
export function declined(): Fault {
  return new Fault("REFUSED", "Not confirmed: nothing was done");
}

/** The library returns a symbol for Ctrl-C. */
function answered<T>(answer: T): Exclude<T, symbol> {
  if (typeof answer === "symbol") throw new Interrupted();
  return answer as Exclude<T, symbol>;
}

/**
 * Whether a command still has to ask.
 * @param what needs the confirmation, as the subject of a sentence
 * @throws Fault USAGE when it has to ask and there is no terminal
 */
export function mustAsk(options: { yes?: boolean | undefined }, prompts: Prompts, what = "This"): boolean {
  if (options.yes) return false;
  if (prompts.available) return true;
  throw new Fault("USAGE", `${what} needs a confirmation, and there is no terminal to ask on: add --yes`);
}

/**
 * The operator's reason, for changes that need an explanation later.
 * @param what needs the reason, as the subject of a sentence
 * @throws Fault USAGE without a reason
 */
export function requireReason({ reason }: { reason?: string | undefined }, what: string): string {
  if (reason === undefined || reason.trim() === "")
    throw new Fault("USAGE", `${what} needs a reason in the audit log: add --reason`);
  return reason;
}

/**
 * The reason from the line, or from the operator on a terminal.
 * @param what needs the reason, as the subject of a sentence
 * @throws Fault USAGE when the line gives none and there is no terminal, or `--yes` forbids questions
 */
export async function askReason(
  options: { reason?: string | undefined; yes?: boolean | undefined },
  prompts: Prompts,
  what: string,
): Promise<string> {
  if (options.reason !== undefined || options.yes || !prompts.available) return requireReason(options, what);
  return prompts.ask(`${what} needs a reason in the audit log`, {
    problem: (answer) => (answer === "" ? "Type the reason" : undefined),
  });
}
