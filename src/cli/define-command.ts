import type { Command } from "commander";
import type { Session } from "../app/tenant/session.ts";
import type { Api, OperationId, WireInput, WireResult } from "../contract/operations.ts";
import { type CommandContext, type Host, type Io, withSession } from "./command.ts";
import { declined, mustAsk } from "./input/prompts.ts";
import type { Prints } from "./output/fields.ts";
import type { View } from "./output/output.ts";

/** A command that calls one operation and prints its answer. */
interface Definition<Id extends OperationId, Options extends object, Row extends object> {
  /** The verb; without one the noun itself is the command. */
  name?: string;
  /** What the help says; the registry says it for a noun. */
  summary?: string;
  /** Adds the command's arguments and options. */
  takes?: (command: Command) => unknown;
  operation: Id;
  /** Refuses a command line before the tenant is opened. */
  check?: (context: CommandContext<Options>) => void;
  /** The operation's input, which the operator may have to choose from what the tenant has. */
  input: (context: CommandContext<Options>, api: Api, session: Session) => WireInput<Id> | Promise<WireInput<Id>>;
  /** The user on whose behalf the operation is called; the operator stays the actor on record. */
  onBehalfOf?: (options: Options) => string | undefined;
  /** The question that a yes answers before the operation is called; `--yes` answers it in advance. */
  asks?: (input: WireInput<Id>, api: Api) => Promise<string>;
  view: View<WireResult<Id>, Row>;
  /** What `--fields` may name, where that is not the whole answer. */
  prints?: Prints;
  /** Runs after printing: a note on stderr, or a Fault that sets the exit code. */
  after?: (answer: WireResult<Id>, io: Io) => void;
}

/** The two halves of a command: one for the command line, one that needs neither commander nor a terminal. */
interface DefinedCommand<Id extends OperationId> {
  register(noun: Command, host: Host): void;
  /** @param ask whether the command's question is still to be answered */
  run(input: WireInput<Id>, api: Api, io: Io, ask?: boolean): Promise<void>;
}

export function defineCommand<Id extends OperationId, Options extends object, Row extends object>(
  definition: Definition<Id, Options, Row>,
): DefinedCommand<Id> {
  const { name, summary, takes, operation, check, input, onBehalfOf, asks, view, after } = definition;

  async function run(given: WireInput<Id>, api: Api, io: Io, ask = false): Promise<void> {
    if (ask && asks && !(await io.prompts.confirm(await asks(given, api)))) throw declined();
    const answer = await api[operation](given);
    await io.output.print(answer, view);
    after?.(answer, io);
  }

  function register(noun: Command, host: Host): void {
    const command = name === undefined ? noun : noun.command(name);
    if (summary !== undefined) command.description(summary);
    takes?.(command);
    host.add<Options>(command, definition.prints ?? { operation }, async (context) => {
      check?.(context);
      const { options, io } = context;
      const ask = asks !== undefined && mustAsk(options, io.prompts);
      return withSession(options, io, async (session) => {
        const api = session.api(onBehalfOf?.(options));
        return run(await input(context, api, session), api, io, ask);
      });
    });
  }

  return { register, run };
}
