import { Argument, type Command } from "commander";
import type { Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
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
    async ({ args, io }) => runCompletion(args[0] as Shell, await host.wholeProgram(), io),
  );
}

export async function runCompletion(shell: Shell, program: Command, { output }: Io): Promise<ExitCode> {
  await output.print({ shell, script: completionScript(shell, completedCommands(program)) }, view);
  return EXIT.ok;
}
