import { Fault } from "../../domain/fault.ts";
import { defineCommand } from "../define-command.ts";

export const health = defineCommand({
  operation: "getHealth",
  input: () => ({}),
  view: {
    kind: "record",
    fields: ({ ok, db, service, uptimeSec }) => [
      ["healthy", ok ? "yes" : "no"],
      ["database", db ? "answers" : "does not answer"],
      ["service", service],
      ["up for", `${uptimeSec} s`],
    ],
  },
  after: ({ ok }) => {
    if (!ok) throw new Fault("DATABASE_UNAVAILABLE", "The database does not answer");
  },
});

export const { register } = health;
