import { type Command, InvalidArgumentError } from "commander";
import { normalRange } from "../../domain/access/networks.ts";
import { isScope, normalScopes, noScope, type Scope } from "../../domain/access/scopes.ts";
import { Fault } from "../../domain/fault.ts";
import { identifier, timeSpan } from "../input/parsers.ts";

export interface KeyName {
  name?: string;
}

/** A key is named by the argument or by `--name`. */
export function nameOptions(command: Command, description: string): Command {
  return command
    .argument("[name]", description, identifier)
    .option("--name <name>", "its name, instead of the argument", identifier);
}

/** @throws Fault USAGE when there is no name, or two */
export function keyName(argument: string | undefined, { name }: KeyName): string {
  if (argument !== undefined && name !== undefined && argument !== name)
    throw new Fault("USAGE", `Which key? The argument says ${argument}, and --name says ${name}`);
  const named = argument ?? name;
  if (named === undefined) throw new Fault("USAGE", "Which key? Name it with --name");
  return named;
}

/** `read,settle`; each is one of the known scopes. */
export function scopeList(value: string): Scope[] {
  const words = value.split(",").map((word) => word.trim());
  const scopes = words.filter(isScope);
  const wrong = words.find((word) => !isScope(word));
  if (wrong !== undefined) throw new InvalidArgumentError(`${JSON.stringify(wrong)} ${noScope(wrong)}`);
  return normalScopes(scopes);
}

/** Adds one network to those that were named before. */
export function networks(value: string, before: readonly string[] = []): string[] {
  const range = normalRange(value);
  if (range === undefined)
    throw new InvalidArgumentError("It must be an address range such as 10.0.0.0/8 or fd00::/8.");
  return [...before, range];
}

/** Whole seconds; `0` ends the old value at once. */
export function overlap(value: string): number {
  return /^0[smhd]?$/.test(value) ? 0 : timeSpan(value) / 1000;
}
