import { type Command, InvalidArgumentError } from "commander";
import { INBOX_KINDS, type InboxItem, type InboxKind, type InboxState } from "../../client/inbox/item.ts";
import { openWorkspace } from "../../config/workspace.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import type { CommandContext, Host, Io } from "../command.ts";
import { EXIT, type ExitCode, READS_FILES } from "../errors.ts";
import { timeSpan } from "../input/parsers.ts";
import { type SelectorOptions, takesTenantsToLookAt } from "../input/selector-option.ts";
import { readEach, tenantsMeant } from "../input/tenants.ts";
import { cents } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";

interface InboxCommandOptions extends SelectorOptions {
  within?: number;
  kind?: InboxKind[];
}

const DEFAULT_WITHIN_MS = 14 * DAY_MS;

/** The exit code alone is enough for a cron job. */
const EXITS: Readonly<Record<InboxState, ExitCode>> = {
  integrity: EXIT.integrity,
  unreachable: EXIT.unreachable,
  "partly unreachable": EXIT.partly,
  waiting: 3,
  clear: EXIT.ok,
};

const MARKS = { info: "", warn: "WARN", critical: "CRITICAL" } as const;

function view(now: number): View<readonly InboxItem[], InboxItem> {
  return {
    kind: "list",
    rows: (items) => items,
    columns: [
      { title: "WHAT", cell: ({ title }) => title, least: 35, wraps: true },
      { title: "KIND", cell: ({ kind }) => kind, whole: true },
      { title: "USD", cell: ({ amountUsd }) => (amountUsd === null ? "-" : cents(amountUsd)), align: "right" },
      instantColumn("DUE", ({ dueAt }) => dueAt, { now }),
      instantColumn("SINCE", ({ since }) => since, { now }),
      { title: "TENANT", cell: ({ tenant }) => tenant, whole: true },
      { title: "LEVEL", cell: ({ severity }) => MARKS[severity], optional: true },
      { title: "ID", cell: ({ id }) => id, optional: true },
    ],
    empty: "Nothing waits for a person.",
  };
}

export function register(noun: Command, host: Host): void {
  host.add<InboxCommandOptions>(
    takesTenantsToLookAt(noun)
      .option("--within <span>", "include what ends within this time (default: 14d)", timeSpan)
      .option("--kind <kind>", `only this kind, of ${INBOX_KINDS.join(", ")}; may be given again`, addKind)
      .description(
        "list what waits for a person, most urgent first; exit code 8 when a log or ledger does not hold, 9 or 10 when all or some tenants cannot be reached, 3 when something waits for a person (notes, without a level, do not). Changes and starts nothing; on a terminal, Enter acts on an item",
      ),
    {
      names: "tenant kind severity id title amountUsd since dueAt commands",
      ends: {
        ...READS_FILES,
        3: "something waits for a person; notes alone, which have no level, end with 0",
        8: "a log or ledger does not hold",
        9: "no tenant can be reached",
        10: "some tenants cannot be reached",
      },
    },
    runInbox,
  );
}

/** Shows the inbox. On a terminal the operator acts on one item after the other, until they leave. */
async function runInbox(context: CommandContext<InboxCommandOptions>): Promise<ExitCode> {
  const { options, io } = context;
  const [{ lookAtTenant }, { compareItems, stateOf }] = await Promise.all([
    import("../../app/checks/look.ts"),
    import("../../client/inbox/item.ts"),
  ]);
  const workspace = openWorkspace();
  const tenants = tenantsMeant(workspace, context, "all");
  const { within: withinMs = DEFAULT_WITHIN_MS, kind: kinds = INBOX_KINDS, via, url, key } = options;
  const acts = options.output === undefined && io.prompts.available && !options.yes;
  for (;;) {
    const found = await readEach(tenants, async (tenant) => {
      const note = (message: string): void => io.output.note(tenants.length > 1 ? `${tenant}: ${message}` : message);
      return (await lookAtTenant(workspace.directory, tenant, { withinMs, kinds, via, url, key }, note)).items;
    });
    const items = found.flat().toSorted(compareItems);
    await io.output.print(items, view(wallClockMs()));
    const line = acts ? await chooseCommand(items, io) : undefined;
    if (line === undefined) return EXITS[stateOf(items, tenants.length)];
    await carryOut(line, workspace.directory);
  }
}

const LEAVE = "leave";

/** The command line that the operator chooses for an item; undefined to leave. */
export async function chooseCommand(
  items: readonly InboxItem[],
  { prompts }: Pick<Io, "prompts">,
): Promise<string | undefined> {
  const [first] = items;
  if (!first) return undefined;
  const leave = { value: LEAVE, name: "Leave" };
  const shown = items.map(({ tenant, kind, title }, index) => ({
    value: String(index),
    name: `${tenant} ${kind}: ${title}`,
  }));
  const item = items[Number(await prompts.choose("Act on", [...shown, leave], "0"))];
  const [command = LEAVE] = item?.commands ?? [];
  if (!item || command === LEAVE) return undefined;
  const lines = item.commands.map((line) => ({ value: line, name: line }));
  const line = await prompts.choose(item.title, [...lines, leave], command);
  return line === LEAVE ? undefined : line;
}

/** Runs a command line of this program in a process of its own, on the same terminal, and reports how it ends. */
async function carryOut(line: string, directory: string): Promise<void> {
  const { execa } = await import("execa");
  const [, ...words] = line.split(" ");
  const { argv, execPath, execArgv } = process;
  await execa(execPath, [...execArgv, ...argv.slice(1, 2), ...words, "-C", directory], {
    stdio: "inherit",
    reject: false,
  });
}

/** @throws InvalidArgumentError for an unknown kind */
function addKind(text: string, before: readonly InboxKind[] = []): InboxKind[] {
  const kind = INBOX_KINDS.find((each) => each === text);
  if (!kind) throw new InvalidArgumentError(`It must be one of ${INBOX_KINDS.join(", ")}.`);
  return [...before, kind];
}
