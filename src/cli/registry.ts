import type { CommandModule } from "./command.ts";

/** A first word of the command line. Its module is loaded only when the line contains the word. */
export type Noun = readonly [name: string, summary: string, load: () => Promise<CommandModule>];

/** Every command, in the order of the help. A new command takes a line here and a module. */
export const NOUNS: readonly Noun[] = [
  ["init", "write the files of a new tenant", () => import("./config/init.ts")],
  ["demo", "run a tenant with markets, money and a server, to look around", () => import("./serve/demo.ts")],
  ["validate", "check tenant files", () => import("./config/validate.ts")],
  ["test", "run the cases beside a tenant file, without a database", () => import("./commands/test.ts")],
  ["render", "print a tenant's whole configuration, each value with its origin", () => import("./config/render.ts")],
  [
    "schema",
    "print JSON Schema of the files, or OpenAPI of the service",
    async () => (await import("./config/render.ts")).schema,
  ],
  [
    "explain",
    "explain a key of a file, an error code, an audit type, an event or a metric",
    () => import("./config/explain.ts"),
  ],
  ["plan", "show what an apply would do", () => import("./config/plan.ts")],
  ["apply", "bring a tenant to the state of its files", () => import("./config/apply.ts")],
  ["approve", "agree to a saved plan whose apply needs several actors", () => import("./config/approve.ts")],
  ["drift", "list what was changed live since the last apply", () => import("./config/drift.ts")],
  ["pull", "print the tenant file with the live values", () => import("./config/pull.ts")],
  ["freeze", "block apply and rollback until a time", () => import("./config/freeze.ts")],
  ["history", "list the applies of a tenant", () => import("./config/history.ts")],
  ["rollback", "go back to an earlier apply", () => import("./config/rollback.ts")],
  [
    "fleet",
    "plan and apply the tenants of a directory wave by wave, in the order of fleet.yaml",
    () => import("./fleet/fleet.ts"),
  ],
  ["serve", "serve a tenant over HTTP", () => import("./serve/serve.ts")],
  ["up", "serve every tenant of a directory, each in its own process or all in one", () => import("./serve/up.ts")],
  ["console", "show where operators work in a browser, and open it", () => import("./serve/console.ts")],
  ["logs", "print what serving processes answered, and what went wrong", () => import("./serve/logs.ts")],
  ["deploy", "write files for systemd, Compose, Kubernetes and Patroni", () => import("./deploy/deploy.ts")],
  ["tenant", "list the tenants of this directory, and show their files", () => import("./config/tenant.ts")],
  ["key", "list, create, rotate and revoke a tenant's API keys", () => import("./key/key.ts")],
  ["policy", "show and change a tenant's limits", () => import("./config/policy.ts")],
  ["market", "create, suspend, settle and look at markets", () => import("./market/market.ts")],
  ["trade", "quote, buy and sell on behalf of a user", () => import("./commands/trade.ts")],
  ["position", "list what a user holds", async () => (await import("./commands/trade.ts")).positionList],
  ["user", "list, restrict and look at users, and issue their tokens", () => import("./commands/user.ts")],
  ["suitability", "show and submit a user's suitability assessment", () => import("./commands/suitability.ts")],
  ["funding", "decide on withdrawals, and credit by hand", () => import("./commands/funding.ts")],
  ["proposal", "decide on what waits for other actors or for its time", () => import("./commands/proposal.ts")],
  ["report", "report volume, revenue, traders and funding", () => import("./commands/report.ts")],
  ["risk", "show what each unsettled market may cost", async () => (await import("./commands/exposure.ts")).risk],
  ["hedge", "list open hedge tags by symbol", async () => (await import("./commands/exposure.ts")).hedge],
  ["audit", "read, verify and export the audit log", () => import("./audit/audit.ts")],
  ["story", "show a market's life from the audit log", () => import("./audit/story.ts")],
  ["replay", "rebuild the state after any audit entry from the log alone", () => import("./audit/replay.ts")],
  ["reconcile", "check the whole ledger", () => import("./commands/reconcile.ts")],
  ["oracle", "check feeds, and settle the markets that wait for them", () => import("./commands/oracle.ts")],
  ["webhook", "send, sign and check webhooks, and follow those that go out", () => import("./webhook/webhook.ts")],
  ["embed", "put the widget on a page", () => import("./embed/embed.ts")],
  ["db", "start, back up, restore and migrate the database", () => import("./database/db.ts")],
  ["doctor", "check that everything is in place, and say what to do", () => import("./commands/doctor.ts")],
  [
    "health",
    "check whether the tenant's server answers and reaches its database",
    async () => (await import("./commands/status.ts")).health,
  ],
  ["status", "show who serves each tenant, and its state", () => import("./commands/status.ts")],
  ["inbox", "list what waits for a person, over all tenants", () => import("./commands/inbox.ts")],
  ["why", "explain a refused request, or a trade", () => import("./why/why.ts")],
  ["docs", "open all documents in a browser, with a search", () => import("./serve/docs.ts")],
  ["completion", "print completion of commands for your shell", () => import("./completion/completion.ts")],
  ["help", "explain a command or a topic", () => import("./commands/help.ts")],
  ["version", "print version and commit", async () => (await import("./commands/help.ts")).version],
];

/** The nouns as `pmctl --help` groups them, in the order in which an operator needs them. */
const GROUPS: readonly (readonly [heading: string, nouns: string])[] = [
  ["Begin:", "init demo doctor status inbox"],
  [
    "Configuration:",
    "validate render schema explain test plan approve apply drift pull freeze history rollback fleet tenant key policy",
  ],
  ["Serving:", "serve up console deploy health logs embed"],
  ["Markets:", "market trade position oracle"],
  ["People and money:", "user suitability funding proposal"],
  ["Reports:", "report risk hedge"],
  ["The record:", "audit story why replay reconcile webhook db"],
  ["The command line:", "docs completion help version"],
];

/** The heading of a noun; undefined where no group names it. */
export function helpGroupOf(noun: string): string | undefined {
  return GROUPS.find(([, nouns]) => nouns.split(" ").includes(noun))?.[0];
}

export const HELP_GROUPS = GROUPS.map(([heading]) => heading);
