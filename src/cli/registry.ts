import type { CommandModule } from "./command.ts";

/** A first word of the command line. Its module is loaded only when the line holds the word. */
export type Noun = readonly [name: string, summary: string, load: () => Promise<CommandModule>];

/** Every command, in the order of the help text. A new one is a line here and a module. */
export const NOUNS: readonly Noun[] = [
  ["init", "write the files of a new tenant", () => import("./config/init.ts")],
  ["demo", "a tenant with markets, money and a server, to look around", () => import("./serve/demo.ts")],
  ["validate", "check tenant files", () => import("./config/validate.ts")],
  ["test", "run the cases beside a tenant file, without a database", () => import("./commands/test.ts")],
  ["render", "a tenant's configuration as a whole, each value with its origin", () => import("./config/render.ts")],
  [
    "schema",
    "JSON Schema of the files, OpenAPI of the service",
    async () => (await import("./config/render.ts")).schema,
  ],
  [
    "explain",
    "what a key of a file, an error code, an audit type, an event or a metric means",
    () => import("./config/explain.ts"),
  ],
  ["plan", "what an apply would do", () => import("./config/plan.ts")],
  ["apply", "bring a tenant to what its file says", () => import("./config/apply.ts")],
  ["drift", "what was changed live since the last apply", () => import("./config/drift.ts")],
  ["pull", "the tenant file with the live values", () => import("./config/pull.ts")],
  ["freeze", "block apply and rollback until a time", () => import("./config/freeze.ts")],
  ["history", "the applies of a tenant", () => import("./config/history.ts")],
  ["rollback", "go back to an earlier apply", () => import("./config/rollback.ts")],
  [
    "fleet",
    "change the tenants of a directory wave by wave, as fleet.yaml orders them",
    () => import("./fleet/fleet.ts"),
  ],
  ["serve", "serve a tenant over HTTP", () => import("./serve/serve.ts")],
  [
    "up",
    "serve every tenant of a directory, each in a process of its own or all in one",
    () => import("./serve/up.ts"),
  ],
  ["logs", "what serving processes answered, and what went wrong", () => import("./serve/logs.ts")],
  ["deploy", "files for systemd, Compose, Kubernetes and Patroni", () => import("./deploy/deploy.ts")],
  ["tenant", "the tenants of this directory", () => import("./config/tenant.ts")],
  ["key", "the API keys of a tenant", () => import("./key/key.ts")],
  ["policy", "the limits that a tenant trades under", () => import("./config/policy.ts")],
  ["market", "create, suspend, settle and look at markets", () => import("./market/market.ts")],
  ["trade", "quote, and trade on behalf of a user", () => import("./commands/trade.ts")],
  ["position", "what a user holds", async () => (await import("./commands/trade.ts")).positionList],
  ["user", "users, their standing and their tokens", () => import("./commands/user.ts")],
  ["suitability", "a user's suitability assessment", () => import("./commands/suitability.ts")],
  ["funding", "withdrawals, and credits by hand", () => import("./commands/funding.ts")],
  ["report", "volume, revenue, traders and funding", () => import("./commands/report.ts")],
  ["risk", "what each market that is not settled may cost", async () => (await import("./commands/exposure.ts")).risk],
  ["hedge", "open hedge tags by symbol", async () => (await import("./commands/exposure.ts")).hedge],
  ["audit", "the audit log and its verification", () => import("./audit/audit.ts")],
  ["story", "a market's life in one scroll, as the audit log tells it", () => import("./audit/story.ts")],
  ["replay", "the state after any audit entry, from the log alone", () => import("./audit/replay.ts")],
  ["reconcile", "check the whole ledger", () => import("./commands/reconcile.ts")],
  ["oracle", "feeds, and the markets that they settle", () => import("./commands/oracle.ts")],
  ["webhook", "send, sign and check webhooks, and see those that went out", () => import("./webhook/webhook.ts")],
  ["embed", "the widget on other people's pages", () => import("./embed/embed.ts")],
  ["db", "the embedded database", () => import("./database/db.ts")],
  ["doctor", "check that everything is in place, and say what to do", () => import("./commands/doctor.ts")],
  [
    "health",
    "whether the tenant's server answers and reaches its database",
    async () => (await import("./commands/status.ts")).health,
  ],
  ["status", "who serves each tenant, and how it stands", () => import("./commands/status.ts")],
  ["inbox", "all that waits for a person, over all tenants", () => import("./commands/inbox.ts")],
  ["why", "explain a refused request, or a trade", () => import("./why/why.ts")],
  ["docs", "all documents in a browser, with a search", () => import("./serve/docs.ts")],
  ["completion", "completion of commands for your shell", () => import("./completion/completion.ts")],
  ["help", "explain a command or a topic", () => import("./commands/help.ts")],
  ["version", "print version and commit", async () => (await import("./commands/help.ts")).version],
];

/** The first words of commands as `pmctl --help` groups them, in the order of an operator's days. */
const GROUPS: readonly (readonly [heading: string, nouns: string])[] = [
  ["Begin:", "init demo doctor status inbox"],
  [
    "Configuration:",
    "validate render schema explain test plan apply drift pull freeze history rollback fleet tenant key policy",
  ],
  ["Serving:", "serve up deploy health logs embed"],
  ["Markets:", "market trade position oracle"],
  ["People and money:", "user suitability funding"],
  ["Reports:", "report risk hedge"],
  ["The record:", "audit story why replay reconcile webhook db"],
  ["The command line:", "docs completion help version"],
];

/** The heading under which a first word stands; undefined for one that no group names. */
export function helpGroupOf(noun: string): string | undefined {
  return GROUPS.find(([, nouns]) => nouns.split(" ").includes(noun))?.[0];
}

export const HELP_GROUPS = GROUPS.map(([heading]) => heading);
