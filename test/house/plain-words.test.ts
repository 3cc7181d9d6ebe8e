import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Phrases that slow a reader. CONTRIBUTING.md lists what to write in their place. */
const SLOW =
  /\b(?:tells? of|stands? in(?! for)|a second one|of which|by the word of|by the [a-z]+'s word|not to be had|(?<!")nobody|somebody|whoever|none other)\b/i;

/** Phrases of earlier texts that readers had to read twice. */
const PUZZLES = [
  "a backup whose key is lost is none",
  "the one that goes",
  "by the kernel's word",
  "a user's JWT besides",
  "tells what happens as it happens",
  "what no anchor knows of",
  "is what editors complete from",
  "How what runs until it is stopped ends",
  "Limits of nothing",
  "Answers between the lines",
  "What of a hedge is active",
  "By what are tokens refused that verify",
  "take no apply",
  "users by id: all, or those of a standing",
  "what may be completed, a value a line",
  "There is a key of the name",
  "several ids begin so",
  "came out otherwise than",
  "are not in the log any more",
  "Who asks is known, and may not",
  "Refusals, of several the first",
  "Sold again at once",
  "after one was not to be had",
  "has nothing to say beside",
  "Its value is nowhere",
  "is as good as none",
].map((phrase) => phrase.toLowerCase());

/** What precedes the title of a test. */
const TITLE = /(?:\b(?:test|describe)(?:\.\w+)*|[\])])\(\s*$/;

/** The most words of a sentence. */
const MAX_WORDS = 40;

interface Piece {
  file: string;
  line: number;
  text: string;
}

function filesOf(...patterns: string[]): { file: string; text: string }[] {
  return globSync(patterns, { cwd: ROOT })
    .sort()
    .map((file) => ({ file, text: readFileSync(ROOT + file, "utf8") }));
}

const lineAt = (text: string, index: number) => text.slice(0, index).split("\n").length;

const COMMENTS_AND_LITERALS = /\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n)+|\/\/ .*|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/gm;

const isComment = (text: string) => text.startsWith("/") || text.trimStart().startsWith("//");

/** Splits a document into paragraphs, items of lists and cells of tables, without its blocks of code. */
function paragraphs(file: string, text: string): Piece[] {
  const prose = text.replace(/```[\s\S]*?```|<!--[\s\S]*?-->/g, (code) => code.replace(/[^\n]/g, ""));
  return [...prose.matchAll(/(?:[^\n|]|\n(?!\s*(?:\n|[-*#] |\d+\. )))+/g)].map((found) => ({
    file,
    line: lineAt(text, found.index),
    text: found[0],
  }));
}

/** The comments of a source file and its literals, such as messages and help. Of tests, the titles only: the rest is data. */
function pieces(file: string, text: string): Piece[] {
  const found: Piece[] = [];
  for (const match of text.matchAll(COMMENTS_AND_LITERALS)) {
    const comment = isComment(match[0]);
    // A literal that holds markup, styles or a query is code.
    if (!comment && /[{;]\n|<\w+|\bfrom \w+\n|\bselect /.test(match[0].replace(/\$\{[^}]*\}/g, "x"))) continue;
    if (!comment && file.startsWith("test/") && !TITLE.test(text.slice(0, match.index).slice(-40))) continue;
    // An indented line of a comment is an example.
    const prose = match[0].replace(/^\s*\* {5,}.*/gm, "").replace(/^\s*(?:\/\*\*?|\*\/?|\/\/)/gm, "");
    found.push({ file, line: lineAt(text, match.index), text: comment ? prose.replace(/@\w+/g, "\n\n") : match[0] });
  }
  return found;
}

function sentences(text: string): string[] {
  return text
    .replace(/`[^`]*`(?:,\s+`[^`]*`)*/g, "x")
    .replace(/\]\([^)]*\)/g, "]")
    .split(/\n\s*\n|(?<=[.!?:;]["”)*]?)\s+|\n\s*(?:[-*]|\d+\.) /);
}

/** Names in backticks are code: `nobody` is a user of every Unix. */
const slowPhrase = (text: string) => SLOW.exec(text.replace(/\\?`[\w.]+\\?`/g, "x").replace(/\s+/g, " "));

const place = ({ file, line }: Piece) => `${file}:${line}`;

const documents = filesOf("*.md", "docs/**/*.md", "templates/**/*.md", "test/*/README.md").flatMap(({ file, text }) =>
  paragraphs(file, text),
);
const sources = filesOf("src/**/*.{ts,tsx}", "bin/**/*.js", "test/**/*.{ts,tsx}").flatMap(({ file, text }) =>
  pieces(file, text),
);

test("no sentence of documents, help, messages, comments and titles of tests has more than 40 words", () => {
  const long = [...documents, ...sources].flatMap((piece) =>
    sentences(piece.text)
      .filter((sentence) => sentence.split(/\s+/).length > MAX_WORDS)
      .map((sentence) => `${place(piece)} ${sentence.trim().slice(0, 80)}`),
  );
  expect(long).toEqual([]);
});

test("documents, help, messages, comments and titles of tests have no phrase that slows a reader", () => {
  const slow = [...documents, ...sources].flatMap((piece) => {
    const found = slowPhrase(piece.text);
    return found === null || found[0] === "" ? [] : [`${place(piece)} ${found[0]}`];
  });
  expect(slow).toEqual([]);
});

test("documents, help, messages, comments and titles of tests have none of the phrases that readers had to read twice", () => {
  const found = [...documents, ...sources].flatMap((piece) => {
    const text = piece.text.replace(/\s+/g, " ").toLowerCase();
    return PUZZLES.filter((phrase) => text.includes(phrase)).map((phrase) => `${place(piece)} ${phrase}`);
  });
  expect(found).toEqual([]);
});

/** A word of our code, where it names the class of what is thrown. Outside it, people read of errors. */
const REFUSAL = /(?<![\w./#-])refusals?(?!\w|[./#-]\w)/i;

/** Text without what programs read: names in backticks, values, markup, targets of links. */
const forPeople = (text: string) => text.replace(/\\?`[^`]*`|\$\{[^}]*\}|<[^<>]*>|\]\([^)]*\)/g, " ");

test("documents speak of errors, not of refusals", () => {
  const found = documents
    // The reference is generated from texts of the program.
    .filter(({ file }) => file !== "CHANGELOG.md" && !file.startsWith("docs/reference/"))
    .filter(({ text }) => REFUSAL.test(forPeople(text)));
  expect(found.map(place)).toEqual([]);
});
