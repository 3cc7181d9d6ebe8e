import { useDesk } from "../../desk.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { option, pmctl } from "../../terminal-line.ts";

/** Blocks applies and rollbacks for a time, or lets them through again. */
export function FreezeActions({ isFrozen }: { isFrozen: boolean }) {
  const { tenant } = useDesk().session;
  return (
    <p class="ways">
      <Action of={freezing(tenant)} />
      <Action of={{ ...lifting(tenant), unfit: isFrozen ? undefined : "The configuration is not frozen." }} />
    </p>
  );
}

const freezing = (tenant: string): ActionOf<void> => ({
  label: "Freeze",
  thing: "the configuration",
  scope: "config",
  fields: [{ name: "until", label: "Until", kind: "time", hint: "At most 30 days from now" }],
  explain: () => <p>Applies and rollbacks are refused until then. Live changes of limits go on.</p>,
  run: (api, _shown, { until = "" }, reason) => api.freezeConfig({ until: utcOf(until), reason }),
  line: ({ until = "" }, reason) =>
    pmctl(tenant, "freeze", ...option("until", until && utcOf(until)), ...option("reason", reason)),
  done: () => "The configuration is frozen.",
});

const lifting = (tenant: string): ActionOf<void> => ({
  label: "Lift the freeze",
  thing: "the configuration",
  scope: "config",
  explain: () => <p>Applies and rollbacks are possible again.</p>,
  run: (api) => api.unfreezeConfig({}),
  line: (_values, reason) => pmctl(tenant, "freeze", "--off", ...option("reason", reason)),
  done: () => "The configuration is no longer frozen.",
});

/** An input of a time has the operator's zone. */
const utcOf = (local: string): string => new Date(local).toISOString();
