import { type Command, InvalidArgumentError, Option } from "commander";
import { parseSelector, type Selector, SelectorError } from "../../config/selection/selector.ts";
import type { Globals } from "../command.ts";

/** Options of a command that takes several tenants. */
export interface SelectorOptions {
  selector?: Selector;
}

/** Given again, all of its selectors must hold. */
export const selectorOption = () =>
  new Option("-l, --selector <labels>", "only tenants with these labels, such as region=eu,tier!=gold").argParser(
    (text: string, before: Selector = []) => [...before, ...selectorIn(text)],
  );

function selectorIn(text: string): Selector {
  try {
    return parseSelector(text);
  } catch (error) {
    if (error instanceof SelectorError) throw new InvalidArgumentError(`At ${error.message}.`);
    throw error;
  }
}

/** Whether a line may mean several tenants, by how it names them, however many there are. */
function asksSeveral({ tenant, selector, all }: Pick<Globals, "tenant" | "selector" | "all">): boolean {
  return selector !== undefined || all === true || (tenant !== undefined && /[,*?]/.test(tenant));
}

/** Whether the command runs once for each of the tenants that its line may mean. */
export function asksEach(command: Command, options: Parameters<typeof asksSeveral>[0]): boolean {
  return asksSeveral(options) && !choosesItself(command);
}

/** The options of a line whose command {@link asksEach}; undefined for another. */
export function eachOptions(command: Command): object | undefined {
  const named = namedTenant(command);
  const options = { ...command.optsWithGlobals<Globals>(), ...(named !== undefined && { tenant: named }) };
  return asksEach(command, options) ? options : undefined;
}

/** Commands that name tenants in their arguments, or order them, choose among those that the line means by themselves. */
function choosesItself({ registeredArguments, options }: Command): boolean {
  return (
    registeredArguments.some((each) => each.name() === "tenants") || options.some(({ long }) => long === "--selector")
  );
}

/** The tenant that a line names as its argument, as `--tenant` would; that of `init` is not there yet. */
export function namedTenant(command: Command): string | undefined {
  const [first] = command.registeredArguments;
  return first?.name() === "tenant" && command.name() !== "init" ? command.args[0] : undefined;
}

/** Names and patterns of a line; each argument may list several with commas between. */
export function namesIn(names: readonly string[]): string[] {
  return names.flatMap((name) => name.split(",").filter((part) => part !== ""));
}

/** Puts the argument and the option on a command that looks at many tenants, and changes none. */
export function takesTenantsToLookAt(command: Command): Command {
  return command
    .argument("[tenants...]", "tenants to look at; all of the directory unless given; * and ? match")
    .addOption(selectorOption());
}
