import { Argument, type Command } from "commander";
import type { CommandContext, Host } from "../command.ts";
import { withSession } from "../command.ts";
import type { View } from "../output/output.ts";
import { completedCommands, completionScript, SHELLS, type Shell } from "./shells.ts";
import { VALUE_KINDS, type ValueKind, valuesOf } from "./values.ts";

interface Completion {
  shell: Shell;
  script: string;
}

const view: View<Completion, Completion> = { kind: "text", text: ({ script }) => script };

const valuesView: View<{ values: string[] }, { values: string[] }> = {
  kind: "text",
  text: ({ values }) => values.join("\n"),
};

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .addArgument(new Argument("<shell>", "your shell").choices(SHELLS))
      .description(
        "print a script that completes commands, options and values; in bash: source <(pmctl completion bash)",
      ),
    { names: "shell script", ends: {} },
    async ({ args, io }) => {
      const shell = args[0] as Shell;
      const script = completionScript(shell, completedCommands(await host.wholeProgram()));
      return io.output.print({ shell, script }, view);
    },
  );
  host.add<{ refresh?: boolean }>(
    noun
      .command("values")
      .description("print completion values, one a line, from answers of the last minute; starts nothing")
      .addArgument(new Argument("<kind>", "the kind of values").choices(VALUE_KINDS))
      .argument("[prefix]", "the beginning of the values", "")
      .option("--refresh", "read the tenant's values again first, if its server or database answers"),
    { names: "values", ends: {} },
    runValues,
  );
}

async function runValues({ options, args, io }: CommandContext<{ refresh?: boolean }>): Promise<void> {
  const [kind, prefix = ""] = args;
  if (options.refresh) await refresh({ options, io });
  const { directory, tenant } = options;
  const values = await valuesOf({ kind: kind as ValueKind, prefix, directory, tenant });
  if (values.length > 0) await io.output.print({ values }, valuesView);
}

/** Reads the tenant's values where a server or database answers. Starts no database, and fails silently. */
async function refresh({ options, io }: Pick<CommandContext<object>, "options" | "io">): Promise<void> {
  const [{ databaseRuns }, { readOperatorTenant }, { refreshValues }, { SeenValues }] = await Promise.all([
    import("../../app/database/tenant-cluster.ts"),
    import("../../app/tenant/operator-tenant.ts"),
    import("../../app/tenant/remember-values.ts"),
    import("../../app/tenant/seen-values.ts"),
  ]);
  try {
    const { id, directory, config } = readOperatorTenant(options.tenant);
    const via = options.via === "auto" && !(await databaseRuns({ directory, config })) ? "http" : options.via;
    await withSession({ ...options, via }, io, (session) =>
      refreshValues(session.api(), new SeenValues(directory, id)),
    );
  } catch {
    // Without an answer, or without a secret that the tenant file refers to, there is nothing to complete.
  }
}
