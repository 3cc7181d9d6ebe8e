import { useDesk, type ViewProps } from "../../desk.ts";
import { ended } from "../../format.ts";
import { useLive } from "../../live/use-live.ts";
import { Facts } from "../../parts/facts.tsx";
import { EntryLink } from "../../parts/links.tsx";
import { Time } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { View } from "../../parts/view.tsx";
import { pmctlAbout } from "../../terminal-line.ts";
import { Standing } from "../traders.tsx";
import { TraderActions } from "./actions.tsx";
import { Gates } from "./gates.tsx";
import { OwnDeliveries, OwnWithdrawals } from "./own-lists.tsx";
import { PeriodResult } from "./period.tsx";
import { Positions } from "./positions.tsx";
import { Statement } from "./statement.tsx";

/** One trader: standing, gates, money, positions, and what the log says. */
export function TraderView({ id, query }: ViewProps) {
  const { tenant } = useDesk().session;
  const live = useLive(async (api) => {
    const [user, eligibility] = await Promise.all([api.getUser({ id }), api.getUserEligibility({ id })]);
    return { user, eligibility };
  }, id);
  return (
    <View name={id} live={live} line={pmctlAbout(tenant, id, "user", "show")}>
      {({ user, eligibility }) => (
        <>
          <TraderActions of={user} />
          <Facts
            of={[
              ["Standing", <Standing key="standing" of={user.state} />],
              ["Identity check", <Standing key="kyc" of={user.kyc} />],
              ["Place", <bdi key="place">{user.jurisdiction ?? "—"}</bdi>],
              ["Assessment", user.suitabilityScore === null ? "—" : `Score ${user.suitabilityScore}`],
              ["Balance", <Usd key="balance" of={user.balanceUsd} />],
              ["Open positions cost", <Usd key="exposure" of={user.exposureUsd} />],
              ["Pending withdrawals", <Usd key="pending" of={user.pendingWithdrawalsUsd} />],
              ["Owes", <Usd key="owed" of={user.owedUsd} />],
              ["Since", <Time key="since" at={user.createdAt} />],
              ["Sessions ended before", user.revokeBefore && <Time at={user.revokeBefore} />],
            ]}
          />
          {user.state === "restricted" && <Restricted id={id} />}
          <Gates of={eligibility} />
          <Positions id={id} />
          <PeriodResult id={id} />
          <OwnWithdrawals id={id} />
          <Statement id={id} query={query} />
          <OwnDeliveries id={id} />
        </>
      )}
    </View>
  );
}

/** Who restricted the trader, when and why, for a key that may read the log. */
function Restricted({ id }: { id: string }) {
  const { value } = useLive((api) => api.listAudit({ userId: id, type: "user.restricted", limit: 1 }), id);
  const [entry] = value?.entries ?? [];
  if (entry?.payload.restricted !== true) return null;
  const { actor, ts, seq, payload } = entry;
  return (
    <p>
      Restricted by <bdi>{actor}</bdi>, <Time at={ts} />:{" "}
      <bdi>{ended(String(payload.reason ?? "No reason was given"))}</bdi> <EntryLink seq={seq} />
    </p>
  );
}
