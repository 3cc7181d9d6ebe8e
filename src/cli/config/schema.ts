import { Argument, type Command } from "commander";
import type { CommandContext, Host } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { View } from "../output/output.ts";

/** A document for other programs: JSON unless another format is asked for. */
const view: View<object, object> = { kind: "text", text: (document) => JSON.stringify(document, null, 2) };

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .addArgument(
        new Argument("<what>", "of which file, or of the HTTP service").choices([
          "tenant",
          "market",
          "operator",
          "openapi",
        ]),
      )
      .description(
        "JSON Schema (draft-07) of tenant files, market files and the operator's pmctl.yaml, or the OpenAPI document of the service",
      ),
    { names: "$schema type properties required title description definitions openapi info paths components" },
    runSchema,
  );
}

export async function runSchema({ args: [what], io }: Pick<CommandContext<object>, "args" | "io">): Promise<ExitCode> {
  await io.output.print(await documentOf(what), view);
  return EXIT.ok;
}

async function documentOf(what: string | undefined): Promise<object> {
  if (what === "openapi") return (await import("../../server/openapi/openapi.ts")).openApiDocument();
  const { marketJsonSchema, operatorJsonSchema, tenantJsonSchema } = await import("../../config/schema/json-schema.ts");
  if (what === "operator") return operatorJsonSchema();
  return what === "market" ? marketJsonSchema() : tenantJsonSchema();
}
