import type { CommandModule } from "./command.ts";

/** A first word of the command line. Its module is loaded only when the line holds the word. */
export interface Noun {
  name: string;
  summary: string;
  load: () => Promise<CommandModule>;
}

/** Every command, in the order of the help text. A new one is a line here and a module in `commands/`. */
export const NOUNS: readonly Noun[] = [
  { name: "init", summary: "write the files of a new tenant", load: () => import("./config/init.ts") },
  {
    name: "demo",
    summary: "a tenant with markets, money and a server, to look around",
    load: () => import("./serve/demo.ts"),
  },
  { name: "validate", summary: "check tenant files", load: () => import("./config/validate.ts") },
  {
    name: "render",
    summary: "a tenant's configuration as a whole, each value with its origin",
    load: () => import("./config/render.ts"),
  },
  {
    name: "schema",
    summary: "JSON Schema of the files, OpenAPI of the service",
    load: () => import("./config/schema.ts"),
  },
  { name: "plan", summary: "what an apply would do", load: () => import("./config/plan.ts") },
  { name: "apply", summary: "bring a tenant to what its file says", load: () => import("./config/apply.ts") },
  { name: "drift", summary: "what was changed live since the last apply", load: () => import("./config/drift.ts") },
  { name: "pull", summary: "the tenant file with the live values", load: () => import("./config/pull.ts") },
  { name: "history", summary: "the applies of a tenant", load: () => import("./config/history.ts") },
  { name: "rollback", summary: "go back to an earlier apply", load: () => import("./config/rollback.ts") },
  { name: "serve", summary: "serve a tenant over HTTP", load: () => import("./serve/serve.ts") },
  {
    name: "up",
    summary: "serve every tenant of a directory, each in a process of its own",
    load: () => import("./serve/up.ts"),
  },
  { name: "tenant", summary: "the tenants of this directory", load: () => import("./config/tenant.ts") },
  { name: "key", summary: "the API keys of a tenant", load: () => import("./key/key.ts") },
  { name: "policy", summary: "the limits that a tenant trades under", load: () => import("./config/policy.ts") },
  {
    name: "market",
    summary: "create, suspend, settle and look at markets",
    load: () => import("./market/market.ts"),
  },
  { name: "trade", summary: "quote, and trade on behalf of a user", load: () => import("./commands/trade.ts") },
  { name: "position", summary: "what a user holds", load: () => import("./commands/position.ts") },
  { name: "user", summary: "users, their standing and their tokens", load: () => import("./commands/user.ts") },
  {
    name: "suitability",
    summary: "a user's suitability assessment",
    load: () => import("./commands/suitability.ts"),
  },
  { name: "funding", summary: "withdrawals, and credits by hand", load: () => import("./commands/funding.ts") },
  { name: "report", summary: "volume, revenue, traders and funding", load: () => import("./commands/report.ts") },
  { name: "risk", summary: "what each open market may cost", load: () => import("./commands/risk.ts") },
  { name: "hedge", summary: "open hedge tags by symbol", load: () => import("./commands/hedge.ts") },
  { name: "audit", summary: "the audit log and its verification", load: () => import("./audit/audit.ts") },
  { name: "reconcile", summary: "check the whole ledger", load: () => import("./commands/reconcile.ts") },
  { name: "oracle", summary: "feeds, and the markets that they settle", load: () => import("./commands/oracle.ts") },
  {
    name: "webhook",
    summary: "send, sign and check webhooks, and see those that went out",
    load: () => import("./webhook/webhook.ts"),
  },
  { name: "embed", summary: "the widget on other people's pages", load: () => import("./embed/embed.ts") },
  { name: "db", summary: "the embedded database", load: () => import("./database/db.ts") },
  {
    name: "doctor",
    summary: "check that everything is in place, and say what to do",
    load: () => import("./commands/doctor.ts"),
  },
  { name: "why", summary: "explain a refused request, or a trade", load: () => import("./why/why.ts") },
  {
    name: "completion",
    summary: "completion of commands for your shell",
    load: () => import("./completion/completion.ts"),
  },
  { name: "help", summary: "explain a command or a topic", load: () => import("./commands/help.ts") },
  { name: "version", summary: "print the version", load: () => import("./commands/version.ts") },
];
