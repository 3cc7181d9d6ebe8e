import { Argument, type Command } from "commander";
import type { Host } from "../command.ts";
import type { View } from "../output/output.ts";
import { completionScript, SHELLS, type Shell } from "./shells.ts";
import { completedCommands } from "./tree.ts";

interface Completion {
  shell: Shell;
  script: string;
}

const view: View<Completion, Completion> = { kind: "text", text: ({ script }) => script };

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .addArgument(new Argument("<shell>", "your shell").choices(SHELLS))
      .description(
        "print a script that completes commands, options and tenants; in bash: source <(pmctl completion bash)",
      ),
    { names: "shell script" },
    async ({ args, io }) => {
      const shell = args[0] as Shell;
      const script = completionScript(shell, completedCommands(await host.wholeProgram()));
      return io.output.print({ shell, script }, view);
    },
  );
}
