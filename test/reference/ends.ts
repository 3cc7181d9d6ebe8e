import { EXIT_MEANINGS } from "../../src/cli/errors.ts";
import { isRead, type Prints } from "../../src/cli/output/prints.ts";
import { operations } from "../../src/contract/operations.ts";
import { type FaultCode, faultFacts } from "../../src/domain/fault.ts";
import { refusalsOf } from "../../src/server/openapi/openapi-refusals.ts";
import { declaredCommands } from "./declared.ts";

/** What any command may end with. */
export const USUAL = [0, 1, 6, 130];

/** What every command that asks a tenant may end with besides. */
export const ASKING = [4, 5, 9];

/** Of people and providers at the API, never of operators. */
const NEVER_HERE: readonly FaultCode[] = ["USER_REQUIRED", "ORIGIN_FORBIDDEN", "SIGNATURE_INVALID"];

/** How one command may end, beside {@link USUAL}: the error codes that lead there, or the case in words. */
export interface End {
  exit: number;
  codes: FaultCode[];
  when: string | undefined;
}

/** How a command may end, from the refusals of its operation and from what it declares. */
export function endsOf(prints: Prints | null): End[] {
  const codes = prints && "operation" in prints ? codesOf(prints) : [];
  const several = prints && isEach(prints) ? { 10: EXIT_MEANINGS[10] } : {};
  const words: Record<string, string | undefined> = { ...several, ...prints?.ends };
  const exits = new Set([...codes.map((each) => faultFacts(each).exit), ...Object.keys(words).map(Number)]);
  return [...exits]
    .filter((exit) => !USUAL.includes(exit) || words[exit] !== undefined)
    .toSorted((one, other) => one - other)
    .map((exit) => ({ exit, codes: codes.filter((each) => faultFacts(each).exit === exit), when: words[exit] }));
}

function codesOf(prints: Extract<Prints, { operation: unknown }>): FaultCode[] {
  return [...new Set(refusalsOf(operations[prints.operation]))].filter((each) => !NEVER_HERE.includes(each));
}

/** Whether one line may ask several tenants. */
function isEach(prints: Prints): boolean {
  return typeof prints.each === "function" || isRead(prints, {});
}

/** Every exit code that the reference states of each command, by the command's words. */
export async function statedExits(): Promise<Map<string, readonly number[]>> {
  const stated = (await declaredCommands()).map(({ path, prints }) => {
    const asks = prints === null ? ASKING : [];
    return [path.join(" "), [...USUAL, ...asks, ...endsOf(prints).map(({ exit }) => exit)]] as const;
  });
  return new Map(stated);
}
