import { CONFIGURATION } from "./configuration.ts";
import { MARKETS } from "./markets.ts";
import { PEOPLE } from "./people.ts";
import { RECORD } from "./record.ts";

/** A line of the shell that calls pmctl, without the program's name. */
export interface Example {
  line: string;
  /** An explanation where the line alone does not say enough. */
  comment: string | undefined;
}

/** The most verbs of a noun with an example in its help. */
const MOST_OF_A_NOUN = 6;

/** All examples of the help, each for the command that it runs. A test runs them in this order on one tenant. */
export const EXAMPLES: readonly Example[] = [CONFIGURATION, MARKETS, PEOPLE, RECORD].flatMap(parseExamples);

/** A `#` line explains the next one, and a `\` at a line's end continues it. */
function parseExamples(text: string): Example[] {
  let comment: string | undefined;
  return text.split(/(?<!\\)\n/).flatMap((line) => {
    if (line === "") return [];
    if (line.startsWith("# ")) {
      comment = line;
      return [];
    }
    const example = { line, comment };
    comment = undefined;
    return [example];
  });
}

/**
 * The examples of a command; of a noun also the first example of each of its verbs.
 * @param path the command's words; empty for the program itself
 */
export function examplesOf(path: string, verbs: readonly string[]): readonly Example[] {
  const below = EXAMPLES.filter(({ line }) => runs(line, path));
  const paths = verbs.map((verb) => `${path} ${verb}`.trim());
  const byVerb = Map.groupBy(below, ({ line }) => paths.find((verb) => runs(line, verb)));
  const first = new Set(paths.map((verb) => byVerb.get(verb)?.[0]));
  const ofVerbs = below.filter((example) => first.has(example)).slice(0, MOST_OF_A_NOUN);
  const shown = [...(byVerb.get(undefined) ?? []), ...ofVerbs];
  // A noun with a single verb shows that verb's examples.
  return shown.length < 2 ? below.slice(0, 2) : shown;
}

function runs(line: string, path: string): boolean {
  return path === "" || line === path || line.startsWith(`${path} `);
}

/** The end of a command's help. */
export function examplesHelp(path: string, verbs: readonly string[]): string {
  const lines = examplesOf(path, verbs).flatMap(({ line, comment }) => [
    ...(comment === undefined ? [] : [`  ${comment}`]),
    `  $ pmctl ${line}`,
  ]);
  return `\nExamples:\n${lines.join("\n")}`;
}
