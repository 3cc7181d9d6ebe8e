import { COMMANDS, type Command, type Results } from "./commands.ts";
import { Draft, type Reader } from "./draft.ts";

/** A command's result and everything that must be committed for the result to be true. */
export interface Decision {
  result: Results[Command["type"]];
  draft: Draft;
}

/**
 * Decides one command. Pure: it reads `state`, never changes it, and knows the time only as it is given.
 * @param now milliseconds since the epoch, by the database's clock: what is decided depends on it alone.
 * @param ts milliseconds since the epoch, at which the audit entries will be dated: `now`, or later if the clock stepped back.
 * @throws Fault when the command is refused; then there is nothing to commit.
 */
export function execute<T extends Command["type"]>(
  state: Reader,
  command: Command<T>,
  now: number,
  ts: number,
): Decision {
  const draft = new Draft(state, ts);
  return { result: COMMANDS[command.type].decide(draft, command, now), draft };
}
