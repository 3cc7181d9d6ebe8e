/** Folders whose tests need no database, no process and no variable of their own: they share processes, and one set of modules. */
export const PURE_FOLDERS = ["domain", "contract", "engine", "plan", "config", "house", "bench"];

/**
 * Folders whose tests use the database and share processes and modules too: a test changes no variable, directory or module
 * of its process, and puts clocks back. Starting a process and loading the modules takes more CPU than most of these files.
 */
export const SHARED_FOLDERS = ["client", "ledger", "outgoing", "providers", "queries", "server", "services"];
