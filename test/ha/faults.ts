import { rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import type { Cluster, EtcdMember, Whole } from "./cluster.ts";
import { type DatabaseNode, SYNCHRONOUS } from "./node.ts";
import { signal, until } from "./processes.ts";

/** What a fault meets: the cluster, whole, and who is what. */
export interface Scene extends Whole {
  cluster: Cluster;
}

/** Breaks something and, where that does not mend itself, mends it. */
export interface Fault {
  name: string;
  /** Why it cannot be made here; undefined where it can. */
  impossible?: (cluster: Cluster) => string | undefined;
  /**
   * Resolves with the moment (`performance.now`) at which the primary, promoted or with its standby back, acknowledged a
   * commit that is on both nodes.
   */
  run(scene: Scene): Promise<number>;
}

const RECOVERY_WAIT_MS = 60_000;
/** Long enough for waits of servers to run out, and shorter than the lease of Patroni. */
const AWAY_MS = 7000;
/** How long a primary that was replaced goes on beside its successor. */
const RIVAL_MS = 3000;
/** What the database may take while its disk is being filled. */
const SPARE_BYTES = 40e6;

/**
 * Waits for a promotion, and does `mend` then. In most rounds Patroni promotes the standby; the old primary, where the standby
 * is further behind than `maximum_lag_on_failover` allows.
 */
async function promoted({ cluster, timeline }: Scene, mend?: () => unknown): Promise<number> {
  const node = await until("a promotion", () => cluster.promotedSince(timeline), RECOVERY_WAIT_MS);
  const [at] = await Promise.all([commitAt(node), mend?.()]);
  return at;
}

/** When the primary acknowledges a commit that its standby has, too: just promoted it may not wait for one yet. */
async function commitAt(primary: DatabaseNode): Promise<number> {
  const commit = async () => {
    const [standby] = await primary.ask(SYNCHRONOUS);
    if (!standby) return undefined;
    // The smallest change that PostgreSQL commits as any other.
    await primary.ask("select pg_logical_emit_message(true, 'ha', '')", "postgres", RECOVERY_WAIT_MS);
    return performance.now();
  };
  return until("a commit at the primary", commit, RECOVERY_WAIT_MS);
}

async function receiverOf(standby: DatabaseNode): Promise<number> {
  return until("the standby's receiver", () => standby.receiver(), RECOVERY_WAIT_MS);
}

/** Ends every wait for the standby, again and again: what was committed on the primary alone is then visible there. */
async function cancelWaits({ primary }: Scene, ms: number): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; await delay(50))
    await primary.ask("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
}

/** Does this to half of the servers' sessions, drawn anew each time, again and again. */
async function disturb({ primary }: Scene, what: "pg_cancel_backend" | "pg_terminate_backend"): Promise<number> {
  for (const end = performance.now() + AWAY_MS; performance.now() < end; await delay(50))
    await primary.ask(
      `select ${what}(pid) from pg_stat_activity where application_name like 'pmctl%' and random() < 0.5`,
    );
  return commitAt(primary);
}

const uncut = ({ network }: Cluster) =>
  network.canCut ? undefined : "needs root and `ip` (Debian: apt-get install iproute2), for a network that can be cut";

export const FAULTS: readonly Fault[] = [
  {
    name: "primary killed",
    run: async (scene) => {
      await scene.primary.crashPostgres();
      return promoted(scene);
    },
  },
  {
    name: "primary's machine killed",
    run: async (scene) => {
      await scene.primary.end();
      return promoted(scene, () => scene.primary.patroni.start());
    },
  },
  {
    // The old primary goes on beside the new one, with the sessions that it has, until its Patroni is back.
    name: "Patroni killed",
    run: async (scene) => {
      await scene.primary.patroni.kill();
      return promoted(scene, () => delay(RIVAL_MS).then(() => scene.primary.patroni.start()));
    },
  },
  {
    name: "etcd's leader killed",
    run: async ({ cluster, primary }) => {
      const leader = await leaderOf(cluster);
      await leader.kill();
      const [at] = await Promise.all([commitAt(primary), delay(AWAY_MS)]);
      leader.start();
      return at;
    },
  },
  {
    // It wakes up believing that it is the primary.
    name: "primary frozen beyond its lease",
    run: async (scene) => {
      await scene.primary.pause("SIGSTOP");
      return promoted(scene, () => delay(RIVAL_MS).then(() => scene.primary.pause("SIGCONT")));
    },
  },
  {
    name: "network between the nodes cut",
    impossible: uncut,
    run: async ({ cluster: { network }, primary, standby }) => {
      const mends = [await network.part(primary.site, [standby.site.address])];
      mends.push(await network.part(standby.site, [primary.site.address]));
      await delay(AWAY_MS);
      for (const mend of mends) await mend();
      return commitAt(primary);
    },
  },
  {
    // The servers still reach it, and it takes their changes until Patroni gives up its lease.
    name: "primary cut off from etcd and standby",
    impossible: uncut,
    run: async (scene) => {
      const { network } = scene.cluster;
      const mend = await network.part(scene.primary.site, [network.etcd, scene.standby.site.address]);
      return promoted(scene, () => delay(RIVAL_MS).then(mend));
    },
  },
  {
    // Servers keep connections to it and get no more answers on them.
    name: "primary cut off",
    impossible: uncut,
    run: async (scene) => {
      const mend = await scene.cluster.network.cutOff(scene.primary.site);
      return promoted(scene, () => delay(RIVAL_MS).then(mend));
    },
  },
  { name: "sessions terminated", run: (scene) => disturb(scene, "pg_terminate_backend") },
  { name: "statements cancelled", run: (scene) => disturb(scene, "pg_cancel_backend") },
  {
    name: "receiver frozen",
    run: async ({ primary, standby }) => {
      const receiver = await receiverOf(standby);
      signal([receiver], "SIGSTOP");
      await delay(AWAY_MS);
      signal([receiver], "SIGCONT");
      return commitAt(primary);
    },
  },
  {
    name: "standby frozen",
    run: async ({ primary, standby }) => {
      await standby.pause("SIGSTOP");
      await delay(AWAY_MS);
      await standby.pause("SIGCONT");
      return commitAt(primary);
    },
  },
  {
    name: "standby's machine killed",
    run: async ({ primary, standby }) => {
      await standby.end();
      await delay(AWAY_MS);
      standby.patroni.start();
      return commitAt(primary);
    },
  },
  {
    name: "waits cancelled",
    run: async (scene) => {
      const receiver = await receiverOf(scene.standby);
      signal([receiver], "SIGSTOP");
      await cancelWaits(scene, AWAY_MS);
      signal([receiver], "SIGCONT");
      return commitAt(scene.primary);
    },
  },
  {
    // What was committed during the cancelled waits is lost with the primary: the receiver is killed with it unread.
    name: "waits cancelled and primary killed",
    run: async (scene) => {
      const receiver = await receiverOf(scene.standby);
      signal([receiver], "SIGSTOP");
      await cancelWaits(scene, AWAY_MS / 2);
      await scene.primary.crashPostgres();
      signal([receiver], "SIGKILL");
      return promoted(scene);
    },
  },
  {
    name: "switchover",
    run: async (scene) => {
      const { primary, standby } = scene;
      const answer = await fetch(`${primary.restUrl}/switchover`, {
        method: "POST",
        body: JSON.stringify({ leader: primary.name, candidate: standby.name }),
      });
      if (!answer.ok) throw new Error(`Patroni refused the switchover: ${await answer.text()}`);
      return promoted(scene);
    },
  },
  {
    name: "standby's disk full",
    impossible: ({ canFill }) =>
      canFill ? undefined : "needs root, for a file system of each node's own that can be filled",
    run: async ({ primary, standby }) => {
      const ballast = join(standby.directory, "ballast");
      const { bavail, bsize } = await statfs(standby.directory);
      await execa("fallocate", ["-l", String(bavail * bsize - SPARE_BYTES), ballast]);
      // The rest while the database takes of it as well, so this ends for want of room.
      const rest = ["if=/dev/zero", `of=${ballast}`, "oflag=append", "conv=notrunc", "bs=4k"];
      await execa("dd", rest, { reject: false });
      // New files of the log are what there is no room for; those that are there already are used up.
      for (let file = 0; file < 12; file++) {
        await primary.ask("select pg_switch_wal()");
        await delay(AWAY_MS / 12);
      }
      await rm(ballast);
      return commitAt(primary);
    },
  },
];

async function leaderOf({ etcd }: Cluster): Promise<EtcdMember> {
  const statuses = await Promise.all(
    etcd.map(async (member) => {
      const answer = await fetch(`${member.clientUrl}/v3/maintenance/status`, {
        method: "POST",
        body: "{}",
      });
      const { header, leader } = (await answer.json()) as { header: { member_id: string }; leader: string };
      return header.member_id === leader;
    }),
  );
  const leader = etcd[statuses.indexOf(true)];
  if (!leader) throw new Error("etcd has no leader");
  return leader;
}
