/** Folders whose tests need no database, no process and no variable of their own: they share processes, and one set of modules. */
export const PURE_FOLDERS = ["domain", "contract", "engine", "replay", "plan", "config", "house", "bench", "locales"];

/**
 * Folders whose tests use the database and share processes and modules too: a test changes no variable, directory or module
 * of its process, and puts clocks back. Starting a process and loading the modules takes more CPU than most of these files.
 * They run in this order, those with the longest files first.
 */
export const SHARED_FOLDERS = [
  ...["cli", "embed", "oracle"],
  ...["services", "server", "ledger", "rotation", "postgres", "outgoing", "queries", "client", "providers", "deploy"],
];

/** Test files of shared folders that change their process all the same, so each has one of its own. */
export const OWN_FILES = [
  ...["config-doors", "engine", "external", "file-reads", "heap", "init-prompts", "password", "rolling-upgrade"],
  ...["door", "set-back-log", "show-page", "stream-hub", "upgrade"],
];
