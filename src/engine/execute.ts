import { COMMANDS, type Command, type Results } from "./commands.ts";
import { Draft, type Reader } from "./draft.ts";

/** A command's result and everything that must be committed for the result to be true. */
export interface Decision {
  result: Results[Command["type"]];
  draft: Draft;
}

/**
 * Decides one command. Pure: it reads `state`, never changes it, and knows the time only as `now`.
 * @param now milliseconds since the epoch, by the database's clock.
 * @throws Fault when the command is refused; then there is nothing to commit.
 */
export function execute<T extends Command["type"]>(state: Reader, command: Command<T>, now: number): Decision {
  const draft = new Draft(state);
  return { result: COMMANDS[command.type].decide(draft, command, now), draft };
}
