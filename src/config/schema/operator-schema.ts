import { z } from "zod";
import { text } from "../../contract/scalars.ts";
import { listOf, TenantId } from "./scalars.ts";

const EnvPattern = z
  .string()
  .regex(
    /^[A-Z_][A-Z0-9_]{0,127}\*?$/,
    "must be the name of an environment variable, in capitals, with an optional final *",
  )
  .meta({ description: "Name of a variable; a final * matches any rest.", writeOnly: true });

const HOST =
  "must be a host such as prices.acme.example, *.feeds.example, prices.acme.example:8443 or db.acme.example:5432?sslmode=require, in lower case";

/** A name or an IPv4 address; `*.` matches one label. An IPv6 address is in brackets. */
const Destination = z
  .string()
  .max(300)
  .regex(
    /^((\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?(\?sslmode=(disable|allow|prefer|require|verify-ca|verify-full))?$/,
    HOST,
  )
  .describe(
    "Host, with a port unless it is 443; *. matches one label. A database's certificate is checked with verify-full, or at least with the stated sslmode.",
  );

const SecretName = z
  .string()
  .max(1100)
  .regex(/^(env [A-Z_][A-Z0-9_]*|(file|sops) .+)$/, "must be env NAME, file PATH or sops PATH, as in the tenant file");

const SecretGrants = z.strictObject({
  env: listOf(EnvPattern, 1000).describe(
    "Variables that tenant files may refer to, besides those with their tenant's prefix.",
  ),
  files: listOf(text(1024), 100).describe(
    "Folders with files that tenant files may refer to, besides the tenant's own; relative to this file.",
  ),
  destinations: z
    .record(SecretName, z.array(Destination).max(100))
    .default({})
    .describe(
      "Hosts to which a secret may be sent: by price sources, in a database's address, and by commands if only a tenant file states the server. By env NAME, file PATH or sops PATH.",
    ),
});
export type SecretGrants = z.output<typeof SecretGrants>;

/** The operator's own file, `pmctl.yaml` beside `tenants/`. It grants what no tenant file can grant itself. */
export const OperatorFileSchema = z
  .strictObject({
    version: z.literal(1).describe("Version of the file format."),
    programs: z
      .strictObject({
        sops: text(1024)
          .regex(/^\//, "must be an absolute path")
          .optional()
          .meta({
            description: "Absolute path of the program that decrypts SOPS files; it then needs no --allow-exec.",
            examples: ["/usr/local/bin/sops"],
          }),
        env: listOf(
          z.string().regex(/^[A-Z_][A-Z0-9_]{0,127}$/, "must be the name of an environment variable, in capitals"),
          100,
        ).describe(
          "Environment variables that programs of secrets and anchors get, besides the usual ones and their tenant's.",
        ),
      })
      .prefault({})
      .describe("Programs that tenant files may run."),
    secrets: SecretGrants.prefault({}).describe("Permissions of all tenant files for secrets."),
    tenants: z.record(TenantId, SecretGrants).default({}).describe("Further permissions of one tenant, by its id."),
  })
  .meta({ title: "pmctl operator's file", description: "What tenant files may refer to, and where secrets may go." });

export type OperatorFile = z.output<typeof OperatorFileSchema>;
