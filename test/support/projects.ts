/** Folders whose tests need no database, no process and no variable of their own: they share processes, and one set of modules. */
export const PURE_FOLDERS = [
  "domain",
  "contract",
  "engine",
  "replay",
  "plan",
  "config",
  "house",
  "bench",
  "locales",
  "reference",
];

/**
 * Folders whose tests use the database and share processes and modules too: a test changes no variable, directory or module
 * of its process, and puts clocks back. Starting a process and loading the modules takes more CPU than most of these files.
 * They run in this order, those with the longest files first.
 */
export const SHARED_FOLDERS = [
  ...["cli", "embed", "console", "oracle"],
  ...["services", "server", "ledger", "postgres", "outgoing", "queries", "client", "providers", "deploy"],
];

/** Test files of shared folders that change their process all the same, so each has one of its own. */
export const OWN_FILES = [
  ...["config-doors", "engine", "external", "file-reads", "heap", "init-prompts", "password", "rolling-upgrade"],
  ...["door", "set-back-log", "show-page", "stream-hub", "upgrade"],
];

/**
 * Tests that take long and whose subject changes seldom. CI runs them after `npm test`, `npm run test:all` runs them with
 * all others, and `npx vitest run` runs them when named. `docs/design/testing.md` lists them, and for each the test in
 * `npm test` that keeps its promise.
 */
export const RARE = [
  ...["crash/**/*", "rotation/**/*", "siege/**/*", "ledger/standby", "cli/rolling-upgrade", "cli/set-back-log"],
  ...["cli/up-shared-crowded", "postgres/external", "postgres/embedded-places", "embed/embed-package"],
  ...["server/held-locks", "services/read-restart", "outgoing/delivery-together", "deploy/deployed-processes"],
  ...["cli/both-doors", "cli/config-doors", "cli/fleet", "cli/tenant-file-address", "tour/golden-screens"],
  ...["cli/file-reads", "cli/show-page"],
].map(testFile);

/** The same, of files that share processes and modules as {@link SHARED_FOLDERS} do. */
export const RARE_SHARED = [
  ...["cli/restore-trust", "cli/restore-leaked", "cli/db-backup", "cli/backup-encryption", "cli/accept-finding"],
  ...["cli/config-as-code", "cli/tenant-lifecycle", "cli/rollback", "cli/imported-markets", "cli/keys-of-markets"],
  ...["cli/several-tenants", "cli/secret-sources", "cli/config-addresses"],
  ...["cli/process", "cli/up", "cli/up-shared", "cli/https", "cli/impostor", "cli/admin-hosts", "cli/demo-serving"],
  ...["cli/logs", "cli/status", "cli/webhook-process", "cli/early-signals", "oracle/serve"],
  ...["cli/examples", "cli/runbook", "server/guide-samples", "server/docs-browser", "embed/publisher-docs"],
  ...["embed/playground", "embed/refusal-messages", "embed/moving", "embed/lists", "embed/shared-stream"],
  ...["embed/reach", "embed/layout-shift", "embed/kept-loaders", "server/pages/pages-browser"],
  ...["postgres/embedded", "postgres/embedded-access", "postgres/database-tls", "services/one-moment"],
  ...["services/audit/schemes", "services/audit/schemes-beside-the-log"],
  ...["config/init-ci", "config/gitlab-reports", "config/literal-secrets", "house/package"],
].map(testFile);

function testFile(name: string): string {
  return `test/${name}.test.ts`;
}
