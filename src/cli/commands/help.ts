import type { Command } from "commander";
import { Fault } from "../../domain/fault.ts";
import type { Host, Io } from "../command.ts";
import { exitLine, TOPICS, topicList } from "../output/help-topics.ts";
import type { View } from "../output/output.ts";

interface Page {
  /** A topic, or the words of a command. */
  topic: string;
  text: string;
}

const view: View<Page, Page> = { kind: "text", text: ({ text }) => text };

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .argument("[words...]", `a command such as \`market settle\`, or one of: ${Object.keys(TOPICS).join(", ")}`)
      .description("explain a command or a topic"),
    { names: "topic text" },
    ({ args, io }) => runHelp({ words: args }, noun.parent ?? noun, io),
  );
}

/** @throws Fault NOT_FOUND for what is neither a topic nor a command */
export async function runHelp(
  { words }: { words: readonly string[] },
  program: Command,
  { output }: Io,
): Promise<void> {
  const topic = words.join(" ");
  const text = TOPICS[topic]?.text() ?? findCommand(program, words).helpInformation();
  const below = topic === "" ? topicList() : topic in TOPICS ? "" : exitLine();
  await output.print({ topic, text: text + below }, view);
}

function findCommand(program: Command, words: readonly string[]): Command {
  return words.reduce((command, word) => {
    const found = command.commands.find((each) => each.name() === word);
    if (found) return found;
    const names = [...command.commands.map((each) => each.name()), ...(command === program ? Object.keys(TOPICS) : [])];
    throw new Fault("NOT_FOUND", `There is no help on ${JSON.stringify(word)}; there is on: ${names.join(", ")}`);
  }, program);
}
