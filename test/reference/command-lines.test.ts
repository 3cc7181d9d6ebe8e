import { globSync, readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { completeProgram } from "../../src/cli/program.ts";
import { FAULT_CODES, faultFacts } from "../../src/domain/fault.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const program = await completeProgram();
const flagsOf = (command: Command) => command.options.flatMap(({ long, short }) => [long, short]);
const known = (command: Command) => [...flagsOf(program), ...flagsOf(command), "--help", "-h"];

/** A global option before the command, with its value. */
const GLOBAL = new RegExp(
  ` (?:${program.options.flatMap(({ long, short, required }) => [long, short].filter(Boolean).map((flag) => (required ? `${flag} \\S+` : flag))).join("|")})(?=\\s|$)`,
  "g",
);

function wordsOf(call: string): string[] {
  return call
    .replaceAll(/'[^']*'|"[^"]*"|\$\(.*/g, "TEXT")
    .replaceAll(GLOBAL, "")
    .replaceAll(/<[a-z ]+>/g, "TEXT")
    .replace(/ {3,}.*/, "")
    .split(/\s+/)
    .slice(1);
}

/** The option that a command requires and a call lacks. */
function lackingIn(call: string): string | undefined {
  const words = wordsOf(call);
  const [noun, verb] = words;
  const found = program.commands.find((each) => each.name() === noun);
  const command = found?.commands.find((each) => each.name() === verb) ?? found;
  return command?.options.find(({ mandatory, long }) => mandatory && !words.includes(long ?? ""))?.long;
}

/** What is wrong with a call of `pmctl`, as far as its words tell; undefined for one that is right. */
function problemOf(call: string): string | undefined {
  const words = wordsOf(call);
  let command = program;
  for (const word of words) {
    const verb = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
    if (verb) command = verb;
    else if (/^[a-z]/.test(word) && command.commands.length > 0 && command.registeredArguments.length === 0)
      return `there is no command ${word}`;
    else break;
  }
  const wrong = words.find(
    (word) => /^--?[a-z]/.test(word) && !known(command).includes(word.replace(/[=,.;)].*$/, "")),
  );
  return wrong ? `there is no option ${wrong}` : surplusOf(command, words);
}

/** A word behind those that the command takes, or a tenant in the place of a file; values of options count as none. */
function surplusOf(command: Command, words: readonly string[]): string | undefined {
  const takes = command.registeredArguments;
  if (command.commands.length > 0 || takes.some(({ variadic }) => variadic)) return undefined;
  const valued = [...program.options, ...command.options].filter(({ required }) => required);
  const flags = valued.flatMap(({ long, short }) => [long, short]);
  const end = words.findIndex((word) => /^(?:\d?[<>].*|\[.*|&|)$/.test(word));
  const given = words
    .slice(0, end < 0 ? words.length : end)
    .filter((word, at) => !word.startsWith("-") && (at === 0 || !flags.includes(words[at - 1])))
    .slice(command.parent === program ? 1 : 2);
  const surplus = given[takes.length];
  if (surplus) return `${surplus} is one word too many`;
  const tenant = given.find((word, at) => takes[at]?.name() === "file" && /^[a-z]+$/.test(word));
  return tenant && `${tenant} is no file`;
}

/** The calls that a page names in its text and in its blocks, each on a line of its own. */
function callsOf(text: string): string[] {
  const blocks = [...text.matchAll(/^( *)```[^\n]*\n([\s\S]*?)^\1```$/gm)].map(([, , lines = ""]) => lines);
  const inline = [...text.matchAll(/`(pmctl [^`\n]+)`/g)].map(([, call = ""]) => call);
  const lines = [...blocks, ...inline].flatMap((block) => block.replaceAll("\\\n", " ").split("\n"));
  const parts = lines.flatMap((line) =>
    line
      .trim()
      .replace(/^(?:\$ |npx )*/, "")
      .split(/ && |\s+# | \| |; /),
  );
  return parts.filter((part) => part.startsWith("pmctl ")).flatMap(eachVerb);
}

/** `pmctl db backup|restore` stands for two calls. */
function eachVerb(call: string): string[] {
  const [verbs = ""] = / [a-z]+(?:\|[a-z]+)+(?=\s|$)/.exec(call) ?? [];
  return verbs === ""
    ? [call]
    : verbs
        .trim()
        .split("|")
        .map((verb) => call.replace(verbs, ` ${verb}`));
}

const documents = globSync(["*.md", "docs/**/*.md"], { cwd: ROOT }).toSorted();

test("every call of pmctl that a document names has a command and options that there are", () => {
  const calls = documents.flatMap((file) => callsOf(readFileSync(ROOT + file, "utf8")).map((call) => ({ file, call })));
  expect(calls.length).toBeGreaterThan(400);
  const wrong = calls.flatMap(({ file, call }) => {
    const problem = problemOf(call);
    return problem === undefined ? [] : [`${file}: ${call}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});

test("every next step of an error code is a command that there is", () => {
  const steps = FAULT_CODES.flatMap((code) => faultFacts(code).next?.split("; ") ?? []);
  expect(steps.flatMap((step) => problemOf(step) ?? [])).toEqual([]);
});

/** Calls within the texts that the sources print, with a word in place of each value. */
function offeredIn(source: string): string[] {
  const texts = [...source.matchAll(/`[^`\n]*pmctl [^`\n]*`/g)].map(([text]) => text.replaceAll(/\$\{[^}]*\}/g, "x"));
  return texts.flatMap((text) => text.match(/pmctl(?: [a-z][\w-]*| --?[a-z][\w-]*| [\w=.|]+)+/g) ?? []);
}

test("no command that a check or the inbox offers lacks a required option or has an unknown one, a choice or a word to replace", () => {
  const sources = globSync(["src/app/checks/*.ts", "src/client/inbox/*.ts"], { cwd: ROOT }).map((file) =>
    readFileSync(ROOT + file, "utf8"),
  );
  const offered = sources.flatMap(offeredIn);
  expect(offered.length).toBeGreaterThan(25);
  const wrong = offered.filter(
    (call) =>
      problemOf(call)?.startsWith("there is no option") ||
      lackingIn(call) !== undefined ||
      // A reason is the operator's own: the command asks for it.
      /\|| [A-Z]{3,}|=[A-Z]{3,}|--reason/.test(call),
  );
  expect(wrong).toEqual([]);
  expect(lackingIn("pmctl market settle mkt_1 -t acme")).toBe("--outcome");
});

test("a word or an option that there is not is found", () => {
  expect(problemOf("pmctl market pay mkt_1")).toBe("there is no command pay");
  expect(problemOf("pmctl reconcil")).toBe("there is no command reconcil");
  expect(problemOf("pmctl apply acme --force")).toBe("there is no option --force");
  expect(problemOf("pmctl db status acme")).toBe("acme is one word too many");
  expect(problemOf("pmctl audit verify acme --anchor FILE")).toBe("acme is one word too many");
  expect(problemOf("pmctl db backup acme")).toBe("acme is no file");
  expect(problemOf("pmctl db status -t acme")).toBeUndefined();
  expect(problemOf("pmctl -t acme market settle mkt_1 --outcome yes")).toBeUndefined();
});
