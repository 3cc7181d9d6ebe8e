import type { CommandContext } from "../command.ts";
import { defineList } from "../define-command.ts";
import { orDash, time } from "../output/cells.ts";

export const auditRefusals = defineList({
  name: "refusals",
  summary:
    "list the rejected requests that the running server remembers, newest first; pmctl why explains each by its request id",
  takes: (command) => command.option("--code <code>", "only requests rejected with this Error-Code"),
  operation: "listRefusals",
  input: ({ options: { code } }: CommandContext<{ code?: string; limit?: number }>) => ({ code }),
  columns: [
    { title: "TIME", cell: ({ ts }) => time(ts, { seconds: true }), whole: true },
    { title: "CODE", cell: ({ code }) => code, whole: true },
    { title: "OPERATION", cell: ({ operation }) => operation, optional: true },
    { title: "ACTOR", cell: ({ actor }) => actor },
    { title: "MARKET", cell: ({ marketId }) => orDash(marketId), optional: true },
    { title: "REQUEST", cell: ({ requestId }) => requestId, whole: true, identifies: true },
  ],
  empty: "The server remembers no rejected request; without a server none is known.",
});
