import { z } from "zod";
import { Name } from "../../contract/scalars.ts";
import { HOUR_MS } from "../../domain/time/units.ts";
import { parseSelector, type Selector, SelectorError } from "../selection/selector.ts";
import { BaseUrl, duration, TenantId } from "./scalars.ts";

/** A selector in the form of `--selector`. The text is kept for messages. */
const SelectorText = z.codec(z.string().max(4096), z.custom<{ text: string; requirements: Selector }>(), {
  decode: (text, context) => {
    try {
      return { text, requirements: parseSelector(text) };
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      context.issues.push({ code: "custom", input: text, message: `is not a selector: ${error.message}` });
      return z.NEVER;
    }
  },
  encode: ({ text }) => text,
});

const TenantPattern = z.string().regex(/^[a-z0-9?*-]{1,80}$/, "must be a tenant's id, or a pattern with * and ?");

const on = z.boolean().default(true);

const Gate = z.strictObject({
  doctor: on.describe("Every check of pmctl doctor must pass."),
  reconcile: on.describe("The ledger must reconcile."),
  chain: on.describe("The audit log must verify."),
  command: z
    .array(z.string().min(1).max(1024))
    .min(1)
    .max(64)
    .optional()
    .meta({
      description:
        "A program and its arguments, run for each tenant with PMCTL_TENANT, PMCTL_WAVE and PMCTL_URL; exit code exit code 0 passes. Needs --allow-exec.",
      examples: [["/usr/local/bin/smoke-test"]],
    }),
  commandTimeout: duration(HOUR_MS).prefault("60s").describe("The timeout of the command."),
});

const Wave = z.strictObject({
  name: Name.describe("Unique among the waves."),
  select: SelectorText.optional().describe("A selector by labels of tenants, such as tier=canary."),
  tenants: z
    .array(TenantPattern)
    .min(1)
    .max(1000)
    .optional()
    .meta({
      description: "Ids of its tenants, or patterns with * and ?; with select, both must match.",
      examples: [["acme", "eu-*"]],
    }),
  parallelism: z.number().int().min(1).max(64).default(1).describe("Tenants at a time."),
  gate: Gate.prefault({}).describe("Checks after all tenants of the wave are applied."),
  onFailure: z
    .enum(["stop", "rollback"])
    .default("stop")
    .describe("After a failure: stop, or roll back each tenant of the wave."),
});

/** `fleet.yaml` beside `tenants/`: the order in which the tenants of a directory are changed. */
export const FleetFileSchema = z
  .strictObject({
    version: z.literal(1).describe("Version of the file format."),
    tenants: z
      .record(
        TenantId,
        z.strictObject({
          url: BaseUrl.meta({
            description: "Address of the tenant's server, https://. Servers of this directory need no entry.",
            examples: ["https://a.acme.example"],
          }),
        }),
      )
      .default({})
      .describe("Tenants with a server elsewhere; PMCTL_URL_<TENANT> overrides this."),
    waves: z
      .array(Wave)
      .min(1)
      .max(100)
      .describe("The waves, in order; a tenant belongs to the first that selects it."),
  })
  .meta({ title: "pmctl fleet file", description: "The waves in which the tenants of a directory are changed." });

export type FleetFile = z.output<typeof FleetFileSchema>;
