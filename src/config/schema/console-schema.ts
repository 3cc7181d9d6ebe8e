import { z } from "zod";
import { text } from "../../contract/scalars.ts";
import { DAY_MS, SECOND_MS } from "../../domain/time/units.ts";
import { duration, listOf, Origin, SecretReference } from "./scalars.ts";

export const Port = z.number().int().min(0).max(65_535);

export const Tls = z.strictObject({
  cert: text(1024).meta({
    description:
      "File with the certificate and its chain in PEM, relative to the tenant's folder; the server loads a renewed one while it runs.",
    examples: ["server.pem"],
  }),
  key: SecretReference.describe("Reference to the certificate's private key in PEM."),
});

const LONGEST_MS = 30 * DAY_MS;
const Limit = duration(LONGEST_MS).refine((ms) => ms >= SECOND_MS, {
  error: "must be at least 1s",
  params: { code: "OUT_OF_RANGE" },
});

const Session = z.strictObject({
  idle: Limit.prefault("1800s").describe("Time after the last request of a person."),
  absolute: Limit.prefault("28800s").describe("Time after signing in."),
});

const ConsoleSettings = z.strictObject({
  host: text(255)
    .optional()
    .describe("Address of a listener of its own; by default the console is on the operations listener."),
  port: Port.optional().describe("Port of a listener of its own; 0 takes any free one."),
  origins: listOf(Origin, 20).meta({
    description: "Origins under which people open it; the loopback names of the listener always count.",
    examples: [["https://console.acme.example"]],
  }),
  tls: Tls.optional().describe("The certificate of a listener of its own; by default that of server.tls."),
  session: Session.prefault({}).describe("When a session ends by itself."),
});

/** The operator's console; `false` turns it off. */
export const ConsoleSection = z
  .union([z.literal(false), ConsoleSettings], {
    error: ({ input }) =>
      typeof input === "object" && input !== null
        ? undefined
        : "must be false, or { host, port, origins, tls, session }",
  })
  .prefault({})
  .describe("The operator's console, a page for the browser; false turns it off.");

/** The port of a listener of its own where the file states only a host. */
export const CONSOLE_PORT = 9465;

export type ConsoleConfig = z.output<typeof ConsoleSettings>;

/** Where a console of its own listens; undefined where the operations listener serves it. */
export function ownListener({ host, port }: ConsoleConfig): { host: string; port: number } | undefined {
  if (host === undefined && port === undefined) return undefined;
  return { host: host ?? "127.0.0.1", port: port ?? CONSOLE_PORT };
}
