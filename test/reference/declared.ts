import { Command } from "commander";
import type { Prints } from "../../src/cli/output/prints.ts";
import { NOUNS } from "../../src/cli/registry.ts";

/** A command of the program, and what it declares that it prints; null where it prints no data. */
export interface Declared {
  path: string[];
  command: Command;
  prints: Prints | null;
}

/** Every command that does something, in the order of the help. */
export async function declaredCommands(): Promise<Declared[]> {
  const program = new Command("pmctl");
  const added = new Map<Command, Prints | null>();
  const host = {
    add: (command: Command, prints: Prints | null) => void added.set(command, prints),
    wholeProgram: () => Promise.resolve(program),
  };
  for (const [name, summary, load] of NOUNS) (await load()).register(program.command(name).description(summary), host);
  const walk = (command: Command, path: string[]): Declared[] => {
    const prints = added.get(command);
    return [
      ...(prints === undefined ? [] : [{ path, command, prints }]),
      ...command.commands.flatMap((child) => walk(child, [...path, child.name()])),
    ];
  };
  return walk(program, []);
}
