/** An unusable pattern; the message says why. */
export class Unusable extends Error {}

/** The limit for a pattern including everything that its braces expand to. */
const MOST_CHARACTERS = 1000;

/** A step that matches any number of items. */
const STAR = Symbol("star");
type Step<Item> = typeof STAR | ((item: Item) => boolean);

/** Whether a text has wildcards; otherwise it is the name of one file. */
export function isWild(pattern: string): boolean {
  return /[*?[{]|[!+@]\(/.test(pattern);
}

/**
 * A function that tells whether a relative path matches a pattern: `*` and `?` within a name, `**` for folders,
 * `[a-z]`, `[!a-z]` and `{a,b}`. Names that begin with a dot match only a dot. The time is at most proportional to the
 * product of both lengths, because a pattern may come with a stranger's pull request.
 *
 * @throws Unusable for a pattern that means something else in a shell, or expands to too many patterns
 */
export function matcher(pattern: string): (path: string) => boolean {
  if (/[!?+*@]\(/.test(pattern)) throw new Unusable("has parentheses: only *, **, ?, [a-z] and {a,b} are wildcards");
  const choices = alternatives(pattern).map((each) => each.split("/").map(partStep));
  return (path) => {
    const parts = path.split("/");
    return choices.some((steps) => fits(steps, parts, (part) => !part.startsWith(".")));
  };
}

/** Expands `{a,b}`, the innermost braces first. */
function alternatives(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  let characters = 0;
  for (let text = open.pop(); text !== undefined; text = open.pop()) {
    characters += text.length;
    if (characters > MOST_CHARACTERS) throw new Unusable("expands to too many patterns: list the files one by one");
    const end = text.indexOf("}");
    const start = text.lastIndexOf("{", end === -1 ? undefined : end);
    if (start === -1 && end === -1) {
      done.push(text);
      continue;
    }
    const choices = text.slice(start + 1, end).split(",");
    if (start === -1 || end === -1 || choices.length === 1) throw new Unusable("needs braces around a list, as {a,b}");
    for (const choice of choices) open.push(text.slice(0, start) + choice + text.slice(end + 1));
  }
  return done;
}

function partStep(part: string): Step<string> {
  if (part === "**") return STAR;
  const steps = characterSteps(part);
  // A shorter name cannot match, and needs no search.
  const least = steps.filter((step) => step !== STAR).length;
  return (name) => {
    if (name.startsWith(".") && !part.startsWith(".")) return false;
    const characters = [...name];
    return characters.length >= least && fits(steps, characters);
  };
}

function characterSteps(part: string): Step<string>[] {
  const steps: Step<string>[] = [];
  const characters = [...part];
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index];
    // A class has at least one character, so a bracket right after its beginning belongs to it.
    const inner = characters[index + 1] === "!" || characters[index + 1] === "^" ? index + 2 : index + 1;
    const end = character === "[" ? characters.indexOf("]", inner + 1) : -1;
    if (end !== -1) {
      const isNot = inner === index + 2;
      const holds = classOf(characters.slice(inner, end));
      steps.push((each) => holds(each) !== isNot);
      index = end;
    } else if (character === "*") {
      if (steps.at(-1) !== STAR) steps.push(STAR);
    } else if (character === "?") steps.push(() => true);
    else steps.push((each) => each === character);
  }
  return steps;
}

function classOf(characters: readonly string[]): (character: string) => boolean {
  const ranges: [from: string, to: string][] = [];
  for (let index = 0; index < characters.length; index++) {
    const from = characters[index] ?? "";
    const to = characters[index + 1] === "-" ? characters[index + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) index += 2;
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to);
}

/**
 * Whether steps match items from the first to the last. Only the last star is retried with more items: anything that an
 * earlier star could match, the last one can match as well.
 *
 * @param mayPass what a star may match
 */
function fits<Item>(steps: readonly Step<Item>[], items: readonly Item[], mayPass = (_: Item) => true): boolean {
  let step = 0;
  let star = -1;
  let taken = 0;
  for (let index = 0; index < items.length; ) {
    const item = items[index] as Item;
    const wanted = steps[step];
    if (wanted === STAR) {
      star = step;
      taken = index;
      step += 1;
    } else if (wanted?.(item)) {
      step += 1;
      index += 1;
    } else if (star !== -1 && mayPass(items[taken] as Item)) {
      taken += 1;
      index = taken;
      step = star + 1;
    } else return false;
  }
  return steps.slice(step).every((rest) => rest === STAR);
}
