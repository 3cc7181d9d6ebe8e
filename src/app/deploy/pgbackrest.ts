import type { RenderedFile } from "./deployment.ts";

/** The name of the database cluster in pgBackRest's repository. */
export const STANZA = "pmctl";
/** Of Debian's and PostgreSQL's own packages. */
export const DATA_DIRECTORY = "/var/lib/postgresql/18/main";
export const BIN_DIRECTORY = "/usr/lib/postgresql/18/bin";

/** Settings with which PostgreSQL hands each piece of its log to the repository. */
export const ARCHIVING = {
  archive_mode: "on",
  archive_command: `pgbackrest --stanza=${STANZA} archive-push %p`,
  // A quiet database loses no more than a minute with its machine.
  archive_timeout: "60s",
} as const;

/** Backups and archive for a recovery to any moment of the last two full backups. */
export function pgbackrestFile(): RenderedFile {
  const text = `# Goes to /etc/pgbackrest/pgbackrest.conf on the machine of PostgreSQL. Variables go before what stands here:
# PGBACKREST_REPO1_TYPE=s3, PGBACKREST_REPO1_CIPHER_TYPE=aes-256-cbc, PGBACKREST_REPO1_CIPHER_PASS, and so on.
[global]
repo1-path=/var/lib/pgbackrest
repo1-retention-full=2
repo1-bundle=y
compress-type=zst
process-max=2
start-fast=y
delta=y
archive-async=y
spool-path=/var/spool/pgbackrest
log-level-console=warn

[global:archive-push]
compress-level=3

[${STANZA}]
pg1-path=${DATA_DIRECTORY}
pg1-port=5432
`;
  return { path: "pgbackrest.conf", text };
}
