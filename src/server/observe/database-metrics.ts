import { Counter, Gauge, type Registry } from "prom-client";
import type { DatabaseState } from "../../domain/durability.ts";

/** Where the figures of the database come from. */
export interface DatabaseSource {
  /** Null while the database is away. */
  read(): Promise<Pick<DatabaseState, "synchronousStandbys" | "standbys"> | null>;
  connections(): number;
  /** As `read` last found. */
  failovers(): number;
}

/** Registers the figures of the database, which are read when the metrics are asked for. */
export function registerDatabase(registry: Registry, { read, connections, failovers }: DatabaseSource): void {
  const registers = [registry];
  new Gauge({
    name: "pmctl_database_connections",
    help: "Connections of this server to its database, those included that it left and the database has not ended.",
    registers,
    collect() {
      this.set(connections());
    },
  });
  new Counter({
    name: "pmctl_database_failovers_total",
    help: "How often another database server was made the primary, as far as this server has seen.",
    registers,
    async collect() {
      await read();
      this.reset();
      this.inc(failovers());
    },
  });
  new Gauge({
    name: "pmctl_database_synchronous_standbys",
    help: "Standbys that each commit waits for and that are there; 0 while the database is away.",
    registers,
    async collect() {
      this.set((await read())?.synchronousStandbys ?? 0);
    },
  });
  new Gauge({
    name: "pmctl_replication_lag_bytes",
    help: "Bytes of the database's log that a standby has not on its disk yet.",
    labelNames: ["standby"],
    registers,
    async collect() {
      this.reset();
      for (const { name, lagBytes } of (await read())?.standbys ?? [])
        if (lagBytes !== null) this.set({ standby: name }, lagBytes);
    },
  });
}
