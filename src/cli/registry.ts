import type { CommandModule } from "./command.ts";

/** A first word of the command line. Its module is loaded only when the line holds the word. */
export interface Noun {
  name: string;
  summary: string;
  load: () => Promise<CommandModule>;
}

/** Every command, in the order of the help text. A new one is a line here and a module in `commands/`. */
export const NOUNS: readonly Noun[] = [
  { name: "init", summary: "write the files of a new tenant", load: () => import("./commands/init.ts") },
  {
    name: "demo",
    summary: "a tenant with markets, money and a server, to look around",
    load: () => import("./commands/demo.ts"),
  },
  { name: "validate", summary: "check tenant files", load: () => import("./commands/validate.ts") },
  {
    name: "render",
    summary: "a tenant's configuration as a whole, each value with its origin",
    load: () => import("./commands/render.ts"),
  },
  {
    name: "schema",
    summary: "JSON Schema of the files, OpenAPI of the service",
    load: () => import("./commands/schema.ts"),
  },
  { name: "plan", summary: "what an apply would do", load: () => import("./commands/plan.ts") },
  { name: "apply", summary: "bring a tenant to what its file says", load: () => import("./commands/apply.ts") },
  { name: "drift", summary: "what was changed live since the last apply", load: () => import("./commands/drift.ts") },
  { name: "pull", summary: "the tenant file with the live values", load: () => import("./commands/pull.ts") },
  { name: "history", summary: "the applies of a tenant", load: () => import("./commands/history.ts") },
  { name: "rollback", summary: "go back to an earlier apply", load: () => import("./commands/rollback.ts") },
  { name: "serve", summary: "serve a tenant over HTTP", load: () => import("./commands/serve.ts") },
  {
    name: "up",
    summary: "serve every tenant of a directory, each in a process of its own",
    load: () => import("./commands/up.ts"),
  },
  { name: "tenant", summary: "the tenants of this directory", load: () => import("./commands/tenant.ts") },
  { name: "key", summary: "the API keys of a tenant", load: () => import("./commands/key.ts") },
  { name: "policy", summary: "the limits that a tenant trades under", load: () => import("./commands/policy.ts") },
  {
    name: "market",
    summary: "create, suspend, settle and look at markets",
    load: () => import("./commands/market.ts"),
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
  { name: "audit", summary: "the audit log and its verification", load: () => import("./commands/audit.ts") },
  { name: "reconcile", summary: "check the whole ledger", load: () => import("./commands/reconcile.ts") },
  { name: "oracle", summary: "feeds, and the markets that they settle", load: () => import("./commands/oracle.ts") },
  {
    name: "webhook",
    summary: "send, sign and check webhooks, and see those that went out",
    load: () => import("./commands/webhook.ts"),
  },
  { name: "embed", summary: "the widget on other people's pages", load: () => import("./commands/embed.ts") },
  { name: "db", summary: "the embedded database", load: () => import("./commands/db.ts") },
  {
    name: "doctor",
    summary: "check that everything is in place, and say what to do",
    load: () => import("./commands/doctor.ts"),
  },
  { name: "why", summary: "explain a refused request, or a trade", load: () => import("./commands/why.ts") },
  {
    name: "completion",
    summary: "completion of commands for your shell",
    load: () => import("./commands/completion.ts"),
  },
  { name: "help", summary: "explain a command or a topic", load: () => import("./commands/help.ts") },
  { name: "version", summary: "print the version", load: () => import("./commands/version.ts") },
];
