import { z } from "zod";
import { Name, text } from "../../contract/scalars.ts";

const Rule = z.strictObject({
  name: Name.meta({ description: "Unique; refusals and --accept-rule name it." }),
  expr: text(2000).meta({
    description: "An expression in CEL that is true where everything is fine.",
    examples: ["feeBps <= 300", "worstCaseLoss < 0.2 * treasury"],
  }),
  effect: z
    .enum(["deny", "warn", "approve"])
    .default("deny")
    .meta({ description: "Where it is false: deny refuses, warn says so, approve asks a person." }),
  message: text(500).optional().meta({ description: "What is said where it is false; the expression unless given." }),
});

/** What the operator demands of the tenant's own file and of every plan. */
export const RulesSection = z.array(Rule).max(100).default([]);

export type Rule = z.output<typeof Rule>;
