import { type Command, InvalidArgumentError, Option } from "commander";
import { parseSelector, type Selector, SelectorError } from "../../config/selection/selector.ts";
import type { Globals } from "../command.ts";

/** Options of a command that takes several tenants. */
export interface SelectorOptions {
  selector?: Selector;
}

/** May be repeated: a tenant must match all selectors. */
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

/** Whether a line may mean several tenants, by its options alone. */
function asksSeveral({ tenant, selector, all }: Pick<Globals, "tenant" | "selector" | "all">): boolean {
  return selector !== undefined || all === true || (tenant !== undefined && /[,*?]/.test(tenant));
}

/** Whether the command runs once for each tenant that its line may mean. */
export function asksEach(command: Command, options: Parameters<typeof asksSeveral>[0]): boolean {
  return asksSeveral(options) && !choosesItself(command);
}

/** The options of a line whose command {@link asksEach}; undefined for any other. */
export function eachOptions(command: Command): object | undefined {
  const named = namedTenant(command);
  const options = { ...command.optsWithGlobals<Globals>(), ...(named !== undefined && { tenant: named }) };
  return asksEach(command, options) ? options : undefined;
}

/** Commands that take tenants as arguments, or order them, choose among the tenants of the line by themselves. */
function choosesItself({ registeredArguments, options }: Command): boolean {
  return (
    registeredArguments.some((each) => each.name() === "tenants") || options.some(({ long }) => long === "--selector")
  );
}

/** The tenant that a line names as its argument, like `--tenant`. The tenant of `init` does not exist yet. */
export function namedTenant(command: Command): string | undefined {
  const [first] = command.registeredArguments;
  return first?.name() === "tenant" && command.name() !== "init" ? command.args[0] : undefined;
}

/** Names and patterns of a line; an argument may list several, separated by commas. */
export function namesIn(names: readonly string[]): string[] {
  return names.flatMap((name) => name.split(",").filter((part) => part !== ""));
}

/** Adds the argument and the option of a command that looks at many tenants and changes none. */
export function takesTenantsToLookAt(command: Command): Command {
  return command
    .argument("[tenants...]", "tenants to look at (default: all of the directory); * and ? match")
    .addOption(selectorOption());
}
