import { Argument, type Command } from "commander";
import type { Host } from "../command.ts";
import type { View } from "../output/output.ts";

/** A document for other programs: JSON unless another format is asked for. */
const view: View<object, object> = { kind: "text", text: (document) => JSON.stringify(document, null, 2) };

const DOCUMENTS = ["tenant", "market", "operator", "fleet", "case", "openapi"];

export function register(noun: Command, host: Host): void {
  host.add(
    noun
      .addArgument(new Argument("<what>", "of which file, or of the HTTP service").choices(DOCUMENTS))
      .description(
        "JSON Schema (draft-07) of tenant files, market files, test cases and the operator's pmctl.yaml and fleet.yaml, or the OpenAPI document of the service",
      ),
    { names: "$schema type properties required title description definitions openapi info paths components" },
    async ({ args: [what], io }) => {
      const { schemaDocument } = await import("../../app/schema-documents.ts");
      return io.output.print(await schemaDocument(what), view);
    },
  );
}
