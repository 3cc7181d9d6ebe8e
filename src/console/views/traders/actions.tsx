import type { WireResult } from "../../../contract/operations.ts";
import type { Terms } from "../../../domain/policy/approvals.ts";
import { isolated } from "../../../domain/text.ts";
import { useDesk } from "../../desk.ts";
import { exactUsd } from "../../format.ts";
import { Action, type ActionOf } from "../../parts/action.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Sentence } from "../../parts/time.tsx";
import { Usd } from "../../parts/usd.tsx";
import { Refused } from "../../refused.ts";
import { option, pmctl, pmctlAbout } from "../../terminal-line.ts";
import { Proposes, termsOfMoney } from "../proposals/proposes.tsx";

type User = WireResult<"getUser">;

/** What an operator can do about a trader. */
export function TraderActions({ of: { userId: id, state } }: { of: User }) {
  const { tenant } = useDesk().session;
  const isRestricted = state === "restricted";
  const standing = (
    label: "Restrict" | "Release",
    { operation, effect, unfit }: Pick<ActionOf<User>, "unfit"> & { operation: StateChange; effect: string },
  ): ActionOf<User> => ({
    label,
    thing: id,
    about: { userId: id },
    scope: "users",
    unfit,
    preview: (api) => api.getUser({ id }),
    explain: (shown) => (
      <>
        <p>{effect}</p>
        {shown && <Money of={shown} />}
      </>
    ),
    run: (api) => api[operation]({ id }),
    line: (_, reason) => pmctlAbout(tenant, id, "user", label.toLowerCase(), ...option("reason", reason)),
    done: (result) => `${isolated(id)} is ${(result as WireResult<StateChange>).state}.`,
  });
  const credit: ActionOf<User & { terms: Terms | null }> = {
    label: "Credit",
    thing: id,
    about: { userId: id },
    scope: "funds",
    fields: [{ name: "amount", label: "Amount in USD", kind: "number" }],
    preview: async (api, { amount }) => {
      const usd = Number(amount);
      if (!(usd > 0) || toMicro(usd) !== usd)
        throw new Refused("BAD_REQUEST", "It will be refused: a credit is above 0, with at most six decimals");
      const [user, policy, terms] = await Promise.all([
        api.getUser({ id }),
        api.getPolicy({}),
        termsOfMoney(api, "credit", usd),
      ]);
      const { maxCreditUsd: most } = policy;
      if (usd > most)
        throw new Refused(
          "LIMIT_REACHED",
          `It will be refused: a credit is at most ${exactUsd(most)} (policy.maxCreditUsd)`,
        );
      return { ...user, terms };
    },
    explain: (shown, { amount }) =>
      shown ? (
        <>
          <Proposes terms={shown.terms} meanwhile="nothing is credited until then" />
          <p>
            The wallet holds <Usd of={shown.balanceUsd} /> and will hold{" "}
            <Usd of={toMicro(shown.balanceUsd + Number(amount))} />. The money comes from outside the ledger, and the
            log names you and the reason.
          </p>
          <Money of={shown} />
        </>
      ) : (
        <p>State the amount: the wallet's balance before and after is shown here.</p>
      ),
    run: (api, shown, { amount }, reason) =>
      api.creditWallet({ id, amount: Number(amount), reason, expectBalanceUsd: shown?.balanceUsd }),
    line: ({ amount }, reason, shown) =>
      pmctl(
        ...[tenant, "funding", "credit", "--user", id, ...option("amount", amount)],
        ...[...option("expect-balance", shown?.balanceUsd), ...option("reason", reason)],
      ),
    done: (result) => {
      const { amount, balanceUsd, proposalId } = result as WireResult<"creditWallet"> & { proposalId?: string };
      return proposalId === undefined
        ? `Credited ${exactUsd(amount)} to ${isolated(id)}: the wallet holds ${exactUsd(balanceUsd)}.`
        : `Proposed as ${proposalId}: another person must approve the credit to ${isolated(id)}.`;
    },
  };
  return (
    <p class="ways">
      <Action
        of={standing("Restrict", {
          operation: "restrictUser",
          effect:
            "Trading and new withdrawals stop at once. A withdrawal that waits already is still paid if an operator approves it. Positions and money stay as they are.",
          unfit: isRestricted ? "The trader is restricted already." : undefined,
        })}
      />
      <Action
        of={standing("Release", {
          operation: "releaseUser",
          effect: "The restriction ends. Identity check, place and assessment count as before.",
          unfit: isRestricted ? undefined : "The trader is not restricted.",
        })}
      />
      <Action of={credit} />
    </p>
  );
}

type StateChange = "restrictUser" | "releaseUser";

/** Without the noise of adding two numbers of at most six decimals. */
const toMicro = (dollars: number): number => Math.round(dollars * 1e6) / 1e6;

/** What speaks against paying a trader's money out. */
export function Cautions({ of }: { of: readonly string[] }) {
  return of.map((text) => (
    <p key={text} class="warn">
      <strong>
        <Sentence of={text} />.
      </strong>
    </p>
  ));
}

/** A trader's money, as dialogs show it. */
export function Money({ of }: { of: User }) {
  return (
    <Facts
      of={[
        ["Standing", of.state],
        ["Balance", <Usd key="balance" of={of.balanceUsd} />],
        ["Open positions cost", <Usd key="exposure" of={of.exposureUsd} />],
        ["Pending withdrawals", <Usd key="pending" of={of.pendingWithdrawalsUsd} />],
        ["Owes", <Usd key="owed" of={of.owedUsd} />],
      ]}
    />
  );
}
