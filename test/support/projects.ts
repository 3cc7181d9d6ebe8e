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
  ...["cli", "embed", "oracle"],
  ...["services", "server", "ledger", "postgres", "outgoing", "queries", "client", "providers", "deploy"],
];

/** Test files of shared folders that change their process all the same, so each has one of its own. */
export const OWN_FILES = [
  ...["config-doors", "engine", "external", "file-reads", "heap", "init-prompts", "password", "rolling-upgrade"],
  ...["door", "set-back-log", "show-page", "stream-hub", "upgrade"],
];

/**
 * What takes long and changes seldom: kills in a loop, standbys that go away, an upgrade and every rotation under load,
 * thousands of hostile connections, a database elsewhere and in unusual places, a log that was set back, packages as their
 * users install them, and long days of an operator by either door, over a fleet and on a terminal. CI runs it after `npm test`,
 * `npm run test:all` beside all else, and `npx vitest run` with its name. `docs/design/testing.md` says what keeps each promise.
 */
export const RARE = [
  ...["crash/**/*", "rotation/**/*", "siege/**/*", "ledger/standby", "cli/rolling-upgrade", "cli/set-back-log"],
  ...["cli/up-shared-crowded", "postgres/external", "postgres/embedded-places", "embed/embed-package"],
  ...["server/held-locks", "services/read-restart", "outgoing/delivery-together", "deploy/deployed-processes"],
  ...["cli/both-doors", "cli/config-doors", "cli/fleet", "cli/tenant-file-address", "tour/golden-screens"],
].map((name) => `test/${name}.test.ts`);
