import type { Command } from "commander";
import type { TenantSession } from "../app/tenant/session.ts";
import { readPages } from "../client/pages.ts";
import type { Api, OperationId, Operations, Page, WireInput, WireResult } from "../contract/operations.ts";
import { type CommandContext, type CommandModule, type Host, type Io, withSession } from "./command.ts";
import { NOT_CONFIRMED } from "./errors.ts";
import { knownUser } from "./input/names.ts";
import { DEFAULT_LIMIT, limitOption } from "./input/paging.ts";
import { askReason, declined, mustAsk } from "./input/prompts.ts";
import type { View } from "./output/output.ts";
import type { Prints } from "./output/prints.ts";
import type { Column, Field } from "./output/table.ts";

/** How the words of a line become the call of an operation. */
interface Call<Id extends OperationId, Options extends object> {
  /** The verb; undefined where the noun itself is the command. */
  name?: string;
  /** The description in the help; the registry has it for a noun. */
  summary?: string;
  /** Adds the command's arguments and options. */
  takes?: (command: Command) => unknown;
  operation: Id;
  /** Refuses a command line before the tenant is opened. */
  check?: (context: CommandContext<Options>) => void;
  /** The change that needs a reason, as the subject of a sentence; a terminal asks for a missing reason. */
  reasonFor?: string;
  /** The operation's input, for which the operator may choose among the tenant's objects; empty unless given. */
  input?: (
    context: CommandContext<Options>,
    api: Api,
    session: TenantSession,
  ) => WireInput<Id> | Promise<WireInput<Id>>;
  /** The user on whose behalf the operation is called; the operator stays the actor on record. */
  onBehalfOf?: (options: Options, args: readonly string[]) => string | undefined;
  /** Refuses a user of {@link onBehalfOf} whom the tenant has never seen. */
  ofKnownUser?: true;
  /** The question before the operation is called; `--yes` answers it in advance. */
  asks?: (input: WireInput<Id>, api: Api, io: Io) => Promise<string>;
}

/** How an answer is printed: as a record of its fields, as a table of its rows, or as a view made from it. */
type Shown<Answer, Row extends object> =
  | { fields: (answer: Answer) => readonly Field[]; picture?: Picture<Answer> }
  | {
      /** The rows of an answer; the answer itself unless given. */
      rows?: (answer: Answer) => readonly Row[];
      columns: readonly Column<Row>[];
      /** The text in place of an empty table. */
      empty: string;
      picture?: Picture<Answer>;
    }
  | { view: (answer: Answer, api: Api, io: Io) => View<Answer, Row> | Promise<View<Answer, Row>> };

type Picture<Answer> = (answer: Answer, width: number) => string;

/** A command that calls an operation and prints its answer. */
type Definition<Id extends OperationId, Options extends object, Row extends object> = Call<Id, Options> &
  Shown<WireResult<Id>, Row> & {
    /** Gets an answer that takes several calls. */
    call?: (input: WireInput<Id>, api: Api, io: Io) => Promise<WireResult<Id>>;
    /** The names for `--fields`, where they are not those of the whole answer. */
    prints?: Prints;
    /** Runs after printing: a note on stderr, or a Fault that sets the exit code. */
    after?: (answer: WireResult<Id>, io: Io, api: Api) => void | Promise<void>;
  };

/** The two halves of a command: `register` parses the line, `run` needs neither commander nor a terminal. */
interface DefinedCommand<Id extends OperationId> {
  register(noun: Command, host: Host): void;
  /** @param ask whether the command's question is still to be answered */
  run(input: WireInput<Id>, api: Api, io: Io, ask?: boolean): Promise<void>;
}

type ItemOf<Answer> = Answer extends readonly (infer Item extends object)[] ? Item : never;

export function defineCommand<
  Id extends OperationId,
  Options extends object,
  Row extends object = ItemOf<WireResult<Id>>,
>(definition: Definition<Id, Options, Row>): DefinedCommand<Id> {
  const { operation, call = (input, api) => api[operation](input), prints = { operation }, after } = definition;
  return tied(definition, prints, async (input, api, io) => {
    const answer = await call(input, api, io);
    await io.output.print(answer, await viewOf(definition, answer, api, io));
    await after?.(answer, io, api);
  });
}

type PagedId = { [Id in OperationId]: Operations[Id] extends { paged: true } ? Id : never }[OperationId];
type PagedItem<Id extends PagedId> = WireResult<Id> extends Page<readonly (infer Item extends object)[]> ? Item : never;

/** Prints the items of a paged operation as one list, up to `--limit`. */
export function defineList<Id extends PagedId, Options extends object>(
  definition: Call<Id, Options & { limit?: number }> & Shown<readonly PagedItem<Id>[], PagedItem<Id>>,
): DefinedCommand<Id> {
  const { operation, takes, input = () => ({}) as WireInput<Id> } = definition;
  const call: typeof definition = {
    ...definition,
    takes: (command) => {
      takes?.(command);
      command.addOption(limitOption());
    },
    input: async (context, api, session) => ({
      ...(await input(context, api, session)),
      limit: context.options.limit,
    }),
  };
  return tied(call, { operation }, async (given, api, io) => {
    const { limit = DEFAULT_LIMIT, ...filter } = given as WireInput<Id> & { limit?: number };
    const { items, nextCursor } = await readPages(
      limit,
      (page) => api[operation]({ ...filter, ...page } as WireInput<Id>) as unknown as Promise<Page<PagedItem<Id>[]>>,
    );
    await io.output.print(items, await viewOf<readonly PagedItem<Id>[], PagedItem<Id>>(definition, items, api, io));
    if (nextCursor !== null) io.output.note(`There are more than these ${items.length}: raise --limit.`);
  });
}

/** Ties a command of the line to its work. */
function tied<Id extends OperationId, Options extends object>(
  { name, summary, takes, check, reasonFor, input, onBehalfOf, ofKnownUser, asks }: Call<Id, Options>,
  prints: Prints,
  work: (input: WireInput<Id>, api: Api, io: Io) => Promise<void>,
): DefinedCommand<Id> {
  async function run(given: WireInput<Id>, api: Api, io: Io, ask = false): Promise<void> {
    if (ask && asks && !(await io.prompts.confirm(await asks(given, api, io)))) throw declined();
    await work(given, api, io);
  }

  function register(noun: Command, host: Host): void {
    const command = name === undefined ? noun : noun.command(name);
    if (summary !== undefined) command.description(summary);
    takes?.(command);
    const told: Prints = asks ? { ...prints, ends: { 3: NOT_CONFIRMED, ...prints.ends } } : prints;
    host.add<Options>(command, told, async (given) => {
      check?.(given);
      const { args, io } = given;
      const reason = reasonFor && (await askReason(given.options, io.prompts, reasonFor));
      const options = reason ? { ...given.options, reason } : given.options;
      const context = { ...given, options };
      const ask = asks !== undefined && mustAsk(options, io.prompts);
      return withSession(options, io, async (session) => {
        const user = onBehalfOf?.(options, args);
        if (ofKnownUser && user !== undefined) await knownUser(user, session.api());
        const api = session.api(user);
        return run((await input?.(context, api, session)) ?? ({} as WireInput<Id>), api, io, ask);
      });
    });
  }

  return { register, run };
}

async function viewOf<Answer extends object, Row extends object>(
  shown: Shown<Answer, Row>,
  answer: Answer,
  api: Api,
  io: Io,
): Promise<View<Answer, Row>> {
  if ("view" in shown) return shown.view(answer, api, io);
  if ("fields" in shown) return { kind: "record", ...shown };
  return { kind: "list", rows: (rows) => rows as readonly Row[], ...shown };
}

/** The module of a noun with these verbs, in the order of its help. */
export function verbs(...commands: readonly CommandModule[]): CommandModule["register"] {
  return (noun, host) => {
    for (const command of commands) command.register(noun, host);
  };
}
